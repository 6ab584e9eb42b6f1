# SPDX-License-Identifier: Apache-2.0
"""Details of objections that depend on other nodes and objects: topology spread, affinity between
pods, volumes.

They are read from the state that the plugin's PreFilter wrote, so the numbers are those that Filter
used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Final

from steersman.api import (
    STORAGE,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    Selector,
    class_of_claim,
    quantity,
)
from steersman.framework import AffinityTerm, CycleState, NodeInfo, PodInfo, Status
from steersman.scheduler.diagnosis.amounts import amount
from steersman.scheduler.diagnosis.claim_details import ClaimDetails
from steersman.scheduler.plugins.inter_pod_affinity.filtering import (
    ERR_AFFINITY_RULES_NOT_MATCH,
    ERR_ANTI_AFFINITY_RULES_NOT_MATCH,
    FilterState,
    PairCounts,
)
from steersman.scheduler.plugins.inter_pod_affinity.plugin import FILTER_STATE_KEY
from steersman.scheduler.plugins.pod_topology_spread.constraints import SpreadConstraint
from steersman.scheduler.plugins.pod_topology_spread.filtering import SpreadCounts, least_matching
from steersman.scheduler.plugins.pod_topology_spread.plugin import PRE_FILTER_KEY
from steersman.scheduler.plugins.volume_binding.claims import PodClaims, VolumeFault
from steersman.scheduler.plugins.volume_binding.plugin import (
    VOLUMES_STATE_KEY as VOLUMES_KEY,
    CycleVolumes,
    VolumeBinding,
)
from steersman.scheduler.plugins.volume_binding.volume_finder import (
    ERR_REASON_BIND_CONFLICT,
    ERR_REASON_NOT_ENOUGH_SPACE,
    PodVolumes,
    VolumeFinder,
)
from steersman.scheduler.plugins.volume_zone import STATE_KEY as ZONES_KEY, VolumeTopologies
from steersman.scheduler.runtime.profile import Profile

_ANY: Final = "any label"


class ClusterDetails:
    """Adds details to objections to one pod, node by node."""

    def __init__(self, pod: PodInfo, profile: Profile, state: CycleState) -> None:
        self._pod = pod
        self._state = state
        self._volume_binding = profile.plugins.get(VolumeBinding.name)
        self._claims = ClaimDetails(pod, profile, state)
        #: Smallest count among the domains of a constraint, by position of the constraint.
        self._least: dict[int, int] = {}
        #: Number of pods in all domains that the affinity matches, by topology key.
        self._matching: dict[str, int] = {}

    def details_of(self, status: Status, node: NodeInfo) -> str:
        """Return the details that the plugin's reasons leave out; "" if there is nothing to add."""
        if status.plugin in ClaimDetails.BY_PLUGIN:
            return ClaimDetails.BY_PLUGIN[status.plugin](self._claims, node)
        describe = self.BY_PLUGIN.get(status.plugin)
        return describe(self, status, node) if describe is not None else ""

    # -- topology spread ---------------------------------------------------------------------------------------------

    def _spread(self, status: Status, node: NodeInfo) -> str:
        """Return the first violated constraint, in the order of `SpreadCounts.check`."""
        counted = self._state.read(PRE_FILTER_KEY, SpreadCounts)
        if counted is None:
            return ""
        for index, (constraint, counts) in enumerate(zip(counted.constraints, counted.by_value, strict=True)):
            if constraint.topology_key not in node.labels:
                return f"has no {constraint.topology_key}"
            if index not in self._least:
                self._least[index] = least_matching(counts, constraint.min_domains)
            text = self._skew(constraint, counts, node.labels[constraint.topology_key], self._least[index])
            if text:
                return text
        return ""

    def _skew(self, constraint: SpreadConstraint, counts: Mapping[str, int], domain: str, least: int) -> str:
        here = counts.get(domain, 0)
        skew = here + constraint.selector.matches(self._pod.labels) - least
        if skew <= constraint.max_skew:
            return ""
        few = f" because {len(counts)} of minDomains {constraint.min_domains} are there"
        least_text = f"{least}{few if len(counts) < constraint.min_domains else ''}"
        return (
            f"{constraint.topology_key}={domain} has {_pods(here)} with {_text(constraint.selector)}, the least is "
            f"{least_text}: the skew would be {skew}, maxSkew is {constraint.max_skew}"
        )

    # -- affinity between pods ---------------------------------------------------------------------------------------

    def _affinity(self, status: Status, node: NodeInfo) -> str:
        counted = self._state.read(FILTER_STATE_KEY, FilterState)
        if counted is None:
            return ""
        if ERR_AFFINITY_RULES_NOT_MATCH in status.reasons:
            return self._missing_affinity(counted, node)
        if ERR_ANTI_AFFINITY_RULES_NOT_MATCH in status.reasons:
            return _broken_anti_affinity(counted, node)
        return next(_objecting_terms(counted.existing_anti_affinity, node), "")

    def _missing_affinity(self, counted: FilterState, node: NodeInfo) -> str:
        """Return the first term whose domain has no matching pod."""
        for term in counted.affinity_terms:
            key = term.topology_key
            if key not in node.labels:
                return f"has no {key}"
            if not counted.affinity[key, node.labels[key]]:
                wants = " and ".join(_text(each.selector) for each in counted.affinity_terms)
                return f"wants {wants} in {key}={node.labels[key]}: no pods there, {self._anywhere(counted, key)} elsewhere"
        return ""

    def _anywhere(self, counted: FilterState, key: str) -> int:
        if key not in self._matching:
            self._matching[key] = sum(count for (other, _), count in counted.affinity.items() if other == key)
        return self._matching[key]

    # -- volumes -----------------------------------------------------------------------------------------------------

    def _volumes(self, status: Status, node: NodeInfo) -> str:
        volumes = self._state.read(VOLUMES_KEY, CycleVolumes)
        if volumes is None or not isinstance(self._volume_binding, VolumeBinding):
            return ""
        finder = self._volume_binding.finder
        try:
            details = (_unusable(finder, volumes.claims, node), _unprovidable(finder, volumes.claims, status, node))
        except VolumeFault:
            return ""
        return "; ".join(filter(None, details))

    def _zones(self, status: Status, node: NodeInfo) -> str:
        known = self._state.read(ZONES_KEY, VolumeTopologies)
        for topology in known.topologies if known is not None else ():
            if not topology.admits(node.labels):
                values = " or ".join(sorted(topology.values))
                has = _has(topology.key, node)
                return f"claim {topology.claim}: volume {topology.volume} is in {topology.key}={values}, {has}"
        return ""

    BY_PLUGIN: ClassVar[Mapping[str, Callable[[ClusterDetails, Status, NodeInfo], str]]] = {
        "PodTopologySpread": _spread,
        "InterPodAffinity": _affinity,
        "VolumeBinding": _volumes,
        "VolumeZone": _zones,
    }


STATE_READERS: Final = frozenset((*ClusterDetails.BY_PLUGIN, *ClaimDetails.BY_PLUGIN))
"""Plugins whose details need the state of the cycle."""


def _broken_anti_affinity(counted: FilterState, node: NodeInfo) -> str:
    """Return the first term that pods in the node's domain match. Terms with the same topology key
    are counted together."""
    for term in counted.anti_affinity_terms:
        key = term.topology_key
        there = counted.anti_affinity[key, node.labels[key]] if key in node.labels else 0
        if there:
            same = [other for other in counted.anti_affinity_terms if other.topology_key == key]
            return f"{key}={node.labels[key]} has {_pods(there)} with {_either(same)}"
    return ""


def _objecting_terms(counts: PairCounts, node: NodeInfo) -> Iterator[str]:
    for key, value in node.labels.items():
        terms = counts[key, value]
        if terms:
            yield f"{terms} anti-affinity term{'' if terms == 1 else 's'} of pods in {key}={value} match it"


def _unusable(finder: VolumeFinder, claims: PodClaims, node: NodeInfo) -> str:
    found = finder.unusable_of_bound(claims.bound, node.node)
    if found is None:
        return ""
    claim, volume = found
    name = f"claim {claim.metadata.name}: volume {claim.spec.volume_name}"
    return f"{name} does not exist" if volume is None else f"{name} wants {_wanted(volume, node)}"


def _wanted(volume: PersistentVolume, node: NodeInfo) -> str:
    """Return the volume's node affinity, and the node's labels for it."""
    required = volume.spec.node_affinity.required if volume.spec.node_affinity is not None else None
    terms = required.node_selector_terms if required is not None else ()
    keys = dict.fromkeys(expression.key for term in terms for expression in term.match_expressions)
    has = ", ".join(_has(key, node) for key in keys)
    return f"{' or '.join(map(term_text, terms))}, {has}"


def _unprovidable(finder: VolumeFinder, claims: PodClaims, status: Status, node: NodeInfo) -> str:
    found = PodVolumes()
    finder.find_unbound(claims, node.node, found)
    if found.refused is None:
        return ""
    asks = _asks(found.refused)
    if ERR_REASON_NOT_ENOUGH_SPACE in status.reasons:
        pools = finder.capacities.pools(class_of_claim(found.refused))
        largest = max((pool.limit for pool in pools if pool.nodes.matches(node.labels)), default=0)
        return f"{asks}, the largest volume here is {amount(STORAGE, largest)}"
    return asks if ERR_REASON_BIND_CONFLICT in status.reasons else ""


def _asks(claim: PersistentVolumeClaim) -> str:
    name = class_of_claim(claim)
    size = amount(STORAGE, quantity.value_of(claim.spec.resources.requests.get(STORAGE, 0)))
    return f"claim {claim.metadata.name} asks {size}" + (f" of class {name}" if name else "")


def term_text(term: NodeSelectorTerm) -> str:
    """Return a term of a node selector as one line."""
    parts = (*term.match_expressions, *term.match_fields)
    return " and ".join(
        f"{part.key} {part.operator} {', '.join(part.values)}" if part.values else f"{part.key} {part.operator}"
        for part in parts
    )


def _either(terms: list[AffinityTerm]) -> str:
    return " or ".join(_text(term.selector) for term in terms)


def _text(selector: Selector) -> str:
    return str(selector) or _ANY


def _pods(count: int) -> str:
    return f"{count or 'no'} pod{'' if count == 1 else 's'}"


def _has(key: str, node: NodeInfo) -> str:
    return f"has {key}={node.labels[key]}" if key in node.labels else f"has no {key}"
