# SPDX-License-Identifier: Apache-2.0
"""Unrelated pods: pending pods that a trial for another pod can leave out at first.

A trial schedules every pending pod, and mostly finds again that the others fit on no node. So a
trial runs without them first. A trial that fails without them would fail with them as well: a
placed pod takes room, and helps only pods with an affinity to it, a spread constraint that counts
it, the same claim, or a group in the same tree. A trial that passes is repeated with all pods. In
doubt, a pod does not count as unrelated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman import api
from steersman.api import from_label_selector
from steersman.config import PodTopologySpreadArgs
from steersman.simulation import Result, Simulation

_HARD: Final = ("DoNotSchedule", "")


def unrelated_pods(base: Simulation, result: Result, own: Iterable[str]) -> tuple[api.Pod, ...]:
    """Return the pods that trials for the `own` pods (keys) can leave out. `base` is the cluster at
    rest without changes, and `result` its result."""
    placements = result.placements.values()
    if not all(placement.is_pending for placement in placements) or result.preempted or not _is_plain(base):
        return ()
    pods = base.cluster.objects(api.Pod)
    waiting = {placement.pod: pods[placement.pod] for placement in placements if placement.pod in pods}
    helpers = [waiting.pop(key) for key in own if key in waiting]
    while helpers and waiting:
        helped = helpers.pop()
        found = [key for key, pod in waiting.items() if may_help(pod, helped)]
        helpers += (waiting.pop(key) for key in found)
    return tuple(waiting.values())


def may_help(pod: api.Pod, other: api.Pod) -> bool:
    """Return whether placing this pod might make the other pod fit; True if in doubt."""
    affinity = other.spec.affinity.pod_affinity if other.spec.affinity is not None else None
    wanted = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else ()
    selectors = [term.label_selector for term in wanted]
    selectors += (
        each.label_selector for each in other.spec.topology_spread_constraints if each.when_unsatisfiable in _HARD
    )
    if any(from_label_selector(selector).matches(pod.metadata.labels) for selector in selectors):
        return True
    if pod.metadata.namespace != other.metadata.namespace:
        return False
    are_grouped = pod.spec.scheduling_group is not None and other.spec.scheduling_group is not None
    return are_grouped or not _claims(pod).isdisjoint(_claims(other))


def _claims(pod: api.Pod) -> set[tuple[str, str]]:
    """Return the volume and device claims that the pod names and may share with others."""
    volumes = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    claims = {("volume", source.claim_name) for source in volumes if source is not None}
    names = (claim.resource_claim_name for claim in pod.spec.resource_claims)
    return claims | {("device", name) for name in names if name}


def _has_own_plugins_only(simulation: Simulation) -> bool:
    """Return whether every plugin of every profile ships with Steersman."""
    profiles = simulation.scheduler.profiles.values()
    plugins = (plugin for profile in profiles for plugin in profile.plugins.values())
    return all(type(plugin).__module__.startswith("steersman.") for plugin in plugins)


def _is_plain(simulation: Simulation) -> bool:
    """Return whether plugins are in-tree and default spread constraints reject no nodes."""
    options = simulation.internals.setup.options
    if options.extenders or not _has_own_plugins_only(simulation):
        return False
    spreads = (profile.args("PodTopologySpread", PodTopologySpreadArgs) for profile in options.configuration.profiles)
    return not any(
        constraint.when_unsatisfiable in _HARD for args in spreads for constraint in args.default_constraints
    )
