# SPDX-License-Identifier: Apache-2.0
"""Finds the cause: why a pod fits on no node, as one sentence, and the groups of nodes behind it.

The input is an `Explanation` with the objections to every node, the output a `Cause`: a code for
programs, a sentence, and the nodes grouped by their decisive objection, each group with the node
that comes nearest. The nodes with the fewest objections determine the cause: a node that is
cordoned, tainted and full says little about what would help.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.scheduler.diagnosis.amounts import amount

if TYPE_CHECKING:
    from steersman.scheduler.diagnosis.explanation import Explanation, NodeExplanation, Shortage, Verdict

_MAX_EXAMPLES: Final = 3
"""Maximum number of nodes of a group that are named."""
_MAX_CLAUSES: Final = 3
"""Maximum number of groups in the sentence besides the decisive one."""
_MAX_DETAILS: Final = 4
"""Maximum number of different details of a group."""


class CauseCode(StrEnum):
    """Codes of causes, for programs and metrics."""

    FITS = "Fits"
    NO_NODES = "NoNodes"
    HELD_BACK = "HeldBack"
    ERROR = "Error"
    RESOURCES = "InsufficientResources"
    FRAGMENTATION = "Fragmentation"
    POD_LIMIT = "TooManyPods"
    CORDONED = "NodeUnschedulable"
    TAINT = "UntoleratedTaint"
    NODE_AFFINITY = "NodeAffinity"
    NODE_NAME = "NodeName"
    HOST_PORT = "HostPort"
    POD_AFFINITY = "PodAffinity"
    SPREAD = "TopologySpread"
    VOLUMES = "Volumes"
    VOLUME_LIMIT = "VolumeLimit"
    DEVICES = "Devices"
    NODE_FEATURES = "NodeFeatures"
    EXTENDER = "Extender"
    PLUGIN = "Plugin"
    POD_GROUP = "PodGroup"
    NO_PROFILE = "NoProfile"
    WAITING = "WaitingOnPermit"
    TERMINATING = "Terminating"
    NOT_ADMITTED = "NotAdmitted"
    SUSPENDED = "Suspended"


_BY_PLUGIN: Final = {
    "NodeResourcesFit": CauseCode.RESOURCES,
    "NodeUnschedulable": CauseCode.CORDONED,
    "TaintToleration": CauseCode.TAINT,
    "NodeAffinity": CauseCode.NODE_AFFINITY,
    "NodeName": CauseCode.NODE_NAME,
    "NodePorts": CauseCode.HOST_PORT,
    "InterPodAffinity": CauseCode.POD_AFFINITY,
    "PodTopologySpread": CauseCode.SPREAD,
    "VolumeBinding": CauseCode.VOLUMES,
    "VolumeZone": CauseCode.VOLUMES,
    "VolumeRestrictions": CauseCode.VOLUMES,
    "NodeVolumeLimits": CauseCode.VOLUME_LIMIT,
    "DynamicResources": CauseCode.DEVICES,
    "NodeDeclaredFeatures": CauseCode.NODE_FEATURES,
    "Extender": CauseCode.EXTENDER,
}


_RESTRICTED: Final = re.compile(r"node\(s\) didn't satisfy plugin\(s\) \[(.+)\]")
"""Reason of nodes that PreFilter excluded; it names the plugins, because several may have done so.
"""
_CHOSEN_BY_PODS: Final = frozenset(("NodeAffinity", "NodeName"))
"""Plugins that apply a pod's own choice of nodes."""


def code_of_plugin(plugin: str) -> CauseCode:
    """Return the code of an objection of this plugin; `RESOURCES` for any shortage."""
    return _BY_PLUGIN.get(plugin, CauseCode.PLUGIN)


class GroupDetail(msgspec.Struct, frozen=True, rename="camel"):
    """Detail about some nodes of a group, such as the zone of a constraint, a volume or a device."""

    text: str
    count: int


class NodeGroup(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Nodes with the same decisive plugin and reason."""

    code: CauseCode
    plugin: str
    #: The objection as a noun phrase, which reads well after "but for".
    objection: str
    count: int
    #: Names of the first few nodes.
    examples: tuple[str, ...]
    #: Smallest number of objections to a node of the group.
    objections: int
    #: The node that comes nearest, and what it lacks; "" if the nodes do not differ.
    nearest: str = ""
    #: Details in which nodes of the group differ, most frequent first.
    details: tuple[GroupDetail, ...] = ()


class Cause(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Why a pod is pending; the decisive group of nodes comes first."""

    code: CauseCode
    sentence: str
    groups: tuple[NodeGroup, ...] = ()


def cause_of(explanation: Explanation) -> Cause:
    """Return the cause of the outcome of an explanation, also for a pod that fits."""
    if explanation.outcome == "error":
        return Cause(CauseCode.ERROR, f"The scheduling cycle failed: {explanation.message}.")
    fitting = sum(node.fits for node in explanation.nodes)
    if fitting or explanation.node:
        return Cause(CauseCode.FITS, f"The pod fits on {fitting or 1} of {_nodes(len(explanation.nodes))}.")
    if explanation.outcome == "not tried":
        return Cause(CauseCode.HELD_BACK, f"The pod was not tried: {explanation.message}.")
    if not explanation.nodes:
        return Cause(CauseCode.NO_NODES, "The cluster has no nodes.")
    rejection = explanation.pre_filter.rejection
    if rejection is not None:
        code = code_of_plugin(rejection.plugin)
        return Cause(code, f"The pod fits on no node: {', '.join(rejection.reasons)} ({rejection.plugin}).")
    return _cause_from_nodes(explanation.nodes)


def _cause_from_nodes(nodes: Sequence[NodeExplanation]) -> Cause:
    ranked = _ranked(nodes)
    if not ranked:
        return Cause(CauseCode.PLUGIN, "No node was filtered.")
    groups = tuple(map(_group, ranked))
    others = list(_merged_taints(groups[1:]))
    clauses = [_decisive(groups[0], ranked[0]), *map(_other, others[:_MAX_CLAUSES])]
    rest = sum(group.count for group in others[_MAX_CLAUSES:])
    if rest:
        clauses.append(f"{_nodes(rest)} for other reasons")
    return Cause(groups[0].code, f"{'; '.join(clauses)}.", groups)


def _merged_taints(groups: Sequence[NodeGroup]) -> Iterator[NodeGroup]:
    """Yield the groups, with all groups about taints merged into one."""
    tainted = [group for group in groups if group.code is CauseCode.TAINT]
    for group in groups:
        if group.code is not CauseCode.TAINT or len(tainted) == 1:
            yield group
        elif group is tainted[0]:
            more = f"{group.objection.partition(',')[0]} and {len(tainted) - 1} others"
            yield msgspec.structs.replace(
                group,
                objection=f"{more}, which the pod does not tolerate",
                count=sum(each.count for each in tainted),
                objections=min(each.objections for each in tainted),
            )


def rejecting_groups(nodes: Sequence[NodeExplanation]) -> tuple[NodeGroup, ...]:
    """Return the nodes that reject the pod, grouped by their decisive objection, nearest first."""
    return tuple(map(_group, _ranked(nodes)))


def _ranked(nodes: Sequence[NodeExplanation]) -> list[list[NodeExplanation]]:
    by_objection: dict[tuple[str, ...], list[NodeExplanation]] = {}
    for node in nodes:
        if node.verdicts:
            by_objection.setdefault(_key(node.verdicts[0]), []).append(node)
    return sorted(by_objection.values(), key=lambda group: (*_distance(group), -len(group)))


def _key(verdict: Verdict) -> tuple[str, ...]:
    """Return the key that nodes of one group share: the missing resources, the taint, the pod's
    demand, or the reasons."""
    if verdict.shortages:
        return (verdict.plugin, *(shortage.resource for shortage in verdict.shortages))
    if verdict.plugin == "TaintToleration":
        return verdict.plugin, verdict.detail
    if verdict.plugin == "NodeAffinity":
        return verdict.plugin, _wants(verdict)
    return verdict.plugin, *verdict.reasons


def _objections(node: NodeExplanation) -> int:
    return sum(max(1, len(verdict.reasons)) for verdict in node.verdicts)


def _distance(nodes: Sequence[NodeExplanation]) -> tuple[int, bool]:
    """Return the sort key of a group: the number of objections; nodes that the pod itself excludes
    come later."""
    fewest = min(map(_objections, nodes))
    is_unwanted = nodes[0].verdicts[0].plugin in _CHOSEN_BY_PODS
    return fewest, is_unwanted and fewest > 1


def _group(nodes: Sequence[NodeExplanation]) -> NodeGroup:
    fewest = min(map(_objections, nodes))
    closest = [node for node in nodes if _objections(node) == fewest]
    first = closest[0].verdicts[0]
    details = _details(nodes)
    most_common = msgspec.structs.replace(first, detail=details[0].text) if details else first
    return NodeGroup(
        code=_code(nodes),
        plugin=first.plugin,
        objection=_objection(most_common),
        count=len(nodes),
        examples=tuple(node.node for node in closest[:_MAX_EXAMPLES]),
        objections=fewest,
        nearest=_nearest(closest),
        details=details,
    )


def _details(nodes: Sequence[NodeExplanation]) -> tuple[GroupDetail, ...]:
    """Return the details in which nodes of a group differ, unless the pod itself excludes these
    nodes."""
    if nodes[0].verdicts[0].plugin in _CHOSEN_BY_PODS:
        return ()
    counted = Counter(node.verdicts[0].detail for node in nodes if node.verdicts[0].detail)
    if len(counted) < 2:
        return ()
    return tuple(GroupDetail(text, count) for text, count in counted.most_common(_MAX_DETAILS))


def _code(nodes: Sequence[NodeExplanation]) -> CauseCode:
    verdict = nodes[0].verdicts[0]
    if not verdict.shortages:
        return code_of_plugin(_restricting(verdict) or verdict.plugin)
    if verdict.shortages[0].resource == "pods" and len(verdict.shortages) == 1:
        return CauseCode.POD_LIMIT
    if len(verdict.shortages) == 1 and _is_fragmented(_shortages(nodes, 0)):
        return CauseCode.FRAGMENTATION
    return CauseCode.RESOURCES


# -- clauses ----------------------------------------------------------------------------------------------------------


def _decisive(group: NodeGroup, nodes: Sequence[NodeExplanation]) -> str:
    """Return the first clause of the sentence, about the nearest group."""
    shortages = nodes[0].verdicts[0].shortages
    if len(shortages) == 1 and group.code is not CauseCode.POD_LIMIT:
        return _one_resource(_shortages(nodes, 0))
    nearest = f"; nearest: {group.nearest}" if group.nearest else ""
    return f"{_clause(group, _nodes(group.count))}{nearest}"


def _other(group: NodeGroup) -> str:
    return _clause(group, f"{group.count} other node{'' if group.count == 1 else 's'}")


def _clause(group: NodeGroup, nodes: str) -> str:
    """Return a clause about a group of nodes; `nodes` is its subject."""
    if group.code in (CauseCode.RESOURCES, CauseCode.FRAGMENTATION, CauseCode.POD_LIMIT):
        return f"{nodes} {'has' if group.count == 1 else 'have'} {group.objection}"
    if not group.plugin:
        return f"{nodes} {'is' if group.count == 1 else 'are'} {group.objection}"
    objection = f"{group.objection} (similar on other nodes)" if group.details else group.objection
    if group.objections == 1:
        return f"{nodes} would fit but for {objection}"
    return f"{nodes} {'is' if group.count == 1 else 'are'} ruled out by {objection}, among other things"


def _one_resource(shortages: Sequence[Shortage]) -> str:
    """Return `The pod needs 8 gpu on one node; 41 nodes have 8 or more, none has more than 6 free;
    212 nodes have none`."""
    resource, asks = shortages[0].resource, shortages[0].asks
    large = [shortage for shortage in shortages if shortage.allocatable >= asks]
    small = [shortage for shortage in shortages if 0 < shortage.allocatable < asks]
    without = len(shortages) - len(large) - len(small)
    wanted = amount(resource, asks)
    clauses = [f"The pod needs {wanted} {resource} on one node"]
    if large:
        free = max(shortage.free for shortage in large)
        have = "has" if len(large) == 1 else "have"
        clauses.append(f"{_nodes(len(large))} {have} {wanted} or more, {_free(len(large), resource, free)}")
        if _is_fragmented(shortages):
            total = sum(max(0, shortage.free) for shortage in large)
            clauses.append(f"{amount(resource, total)} are free in total, but fragmented")
    if small:
        most = amount(resource, max(shortage.allocatable for shortage in small))
        are = "is" if len(small) == 1 else "are"
        clauses.append(f"{_nodes(len(small))} {are} too small, with at most {most}")
    if without:
        clauses.append(f"{_nodes(without)} {'has' if without == 1 else 'have'} none")
    return "; ".join(clauses)


def _free(nodes: int, resource: str, most: int) -> str:
    if most <= 0:
        return "with nothing free"
    left = f"{amount(resource, most)} free"
    return f"with {left}" if nodes == 1 else f"none has more than {left}"


def _is_fragmented(shortages: Sequence[Shortage]) -> bool:
    """Return whether the free amounts of large enough nodes would suffice if they were on one
    node."""
    asks = shortages[0].asks
    free = [shortage.free for shortage in shortages if shortage.allocatable >= asks and shortage.free > 0]
    return len(free) > 1 and sum(free) >= asks


# -- objections -------------------------------------------------------------------------------------------------------


def _objection(verdict: Verdict) -> str:
    """Return an objection as a noun phrase that reads well after "but for"."""
    if verdict.shortages:
        return " and ".join(_short(shortage) for shortage in verdict.shortages)
    reasons = ", ".join(verdict.reasons) or verdict.code
    reason_text = f"{reasons} ({verdict.detail})" if verdict.detail else reasons
    match verdict.plugin:
        case "TaintToleration" if verdict.detail:
            return f"the taint {verdict.detail}, which the pod does not tolerate"
        case "NodeUnschedulable":
            return "being cordoned"
        case "NodeAffinity" if verdict.detail:
            return f"the pod's node selector or affinity, which {_wants(verdict)}"
        case "NodeName":
            return "the node name that the pod requests"
        case "" if named := _restricting(verdict):
            chosen = "the pod's node affinity names" if named == "NodeAffinity" else f"{named} leaves"
            return f"not among those that {chosen}"
        case "":
            return reason_text
        case "NodePorts" if verdict.detail:
            return f"host ports: {verdict.detail}"
        case "InterPodAffinity" | "PodTopologySpread" if verdict.detail:
            noun = "affinity between pods" if verdict.plugin == "InterPodAffinity" else "the spread constraint"
            return f"{noun}: {verdict.detail}"
        case _:
            return f"{verdict.plugin}: {reason_text}"


def _restricting(verdict: Verdict) -> str:
    """Return the plugins whose PreFilter excluded the node; "" for any other objection."""
    found = None if verdict.plugin or not verdict.reasons else _RESTRICTED.fullmatch(verdict.reasons[0])
    return "" if found is None else found[1].replace(" ", " and ")


def _short(shortage: Shortage) -> str:
    if shortage.resource == "pods":
        return "no room for one more pod"
    return f"too little {shortage.resource}"


def _wants(verdict: Verdict) -> str:
    """Return the pod's demand without what the node has instead: `wants disk=ssd`."""
    return verdict.detail.rpartition(", has ")[0] or verdict.detail


def _nearest(nodes: Sequence[NodeExplanation]) -> str:
    """Return the node that lacks least and what it lacks; "" for objections that are not about
    amounts."""
    shortages = nodes[0].verdicts[0].shortages
    if not shortages or [shortage.resource for shortage in shortages] == ["pods"]:
        return ""
    nearest = min(nodes, key=lambda node: _lack(node.verdicts[0].shortages))
    return f"{nearest.node} lacks {' and '.join(_lacks(nearest))}"


def _lack(shortages: Sequence[Shortage]) -> tuple[bool, float, float]:
    """Return the sort key of a node: nodes without a resource last, then missing share, then
    offered share."""
    missing = max((each.asks - each.free) / each.asks if each.asks else 1.0 for each in shortages)
    offered = min(each.allocatable / each.asks if each.asks else 0.0 for each in shortages)
    return offered <= 0, missing, -offered


def _lacks(node: NodeExplanation) -> Iterator[str]:
    for shortage in node.verdicts[0].shortages:
        if not shortage.allocatable:
            yield f"{shortage.resource} (asks {amount(shortage.resource, shortage.asks)}, the node has none)"
            continue
        missing, asks, free, offered = (
            amount(shortage.resource, number)
            for number in (shortage.asks - shortage.free, shortage.asks, shortage.free, shortage.allocatable)
        )
        yield f"{missing} {shortage.resource} (asks {asks}, {free} of {offered} free)"


def _shortages(nodes: Sequence[NodeExplanation], index: int) -> list[Shortage]:
    return [node.verdicts[0].shortages[index] for node in nodes]


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"
