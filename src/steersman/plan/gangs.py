# SPDX-License-Identifier: Apache-2.0
"""Filling of a fork with copies of a pod group, a few at a time, until one does not fit.

    PodGroup and its pod template ─► copies with `minCount` pods each ─► simulation ─► FilledGangs

The whole scheduler places them: queue, placements, feasibility. They do not preempt. Copies are
equal, so that after one that does not fit none does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from steersman import api
from steersman.base import InputError
from steersman.plan.answer import Part
from steersman.plan.pod_templates import PlannedPods
from steersman.simulation import GroupResult, Result, Trial

MIN_BATCH: Final = 4
MAX_BATCH: Final = 64
GATE_IS_OFF: Final = "pod groups are not scheduled: GenericWorkload is off"
GATE_HINT: Final = "use --feature-gates GenericWorkload=true (and TopologyAwareWorkloadScheduling=true) with v1.37"
WITHOUT_PREEMPTION: Final = "groups are counted without preemption"
PREEMPTION_NOTE: Final = ", pod group preemption: "
ALONE: Final = "a pod group is counted alone"

_replace = msgspec.structs.replace


class Gangs(Part, frozen=True):
    """The number of copies of a pod group that fit."""

    group: str
    #: Number of pods of each copy.
    size: int
    fits: int
    #: Key of the topology constraint; "" without one.
    topology_key: str
    #: Value of that label → copies that would be placed there.
    per_domain: dict[str, int]


class FilledGangs(msgspec.Struct, frozen=True):
    """Outcome of filling; the trial has the copies that fit, and pending ones."""

    gangs: Gangs
    #: node → pods that would be placed there.
    per_node: Counter[str]
    #: Why the next copy does not fit; "" if the search ended at the limit.
    message: str


def group_of(planned: PlannedPods) -> api.PodGroup | None:
    """Return the PodGroup in the template's file that its pods name. Raises `InputError`."""
    named = planned.pod.spec.scheduling_group
    name = None if named is None else named.pod_group_name
    if not name:
        return None
    groups = [other for other in planned.others if isinstance(other, api.PodGroup) and other.metadata.name == name]
    if not groups:
        hint = "put the PodGroup into the file of --pod"
        raise InputError("names a PodGroup that is missing", object=f"Pod {planned.name}", value=name, hint=hint)
    return groups[0]


def fill_with_gangs(trial: Trial, planned: PlannedPods, group: api.PodGroup, most: int) -> FilledGangs:
    """Add copies of the group, of at most `most` pods, until one does not fit."""
    if trial.scheduler.cache.pod_groups is None:
        raise InputError(GATE_IS_OFF, object=f"PodGroup {group.metadata.name}", hint=GATE_HINT)
    gang = group.spec.scheduling_policy.gang
    size = 1 if gang is None else gang.min_count
    fitting: list[GroupResult] = []
    batch, added, message, result = MIN_BATCH, 0, "", trial.result()
    while not message and (added + batch) * size <= max(most, MIN_BATCH * size):
        numbers = range(added, added + batch)
        result = trial.add([obj for number in numbers for obj in _copy(planned, group, number, size)]).run()
        found = [result.groups[_key(planned, group, number)] for number in numbers]
        fitting += [each for each in found if not each.is_pending]
        message = next((_reason(each) for each in found if each.is_pending), "")
        added, batch = added + batch, min(2 * batch, MAX_BATCH)
    domains = Counter(domain for each in fitting for domain in each.domains)
    key = api.topology_key(group) or ""
    gangs = Gangs(group.metadata.name, size, len(fitting), key, dict(sorted(domains.items())))
    return FilledGangs(gangs, _per_node(result, {each.group for each in fitting}, planned, group, added), message)


def _reason(group: GroupResult) -> str:
    """Return why a group is pending, without the note that copies do not preempt."""
    return (group.message or group.reason).partition(PREEMPTION_NOTE)[0]


def _per_node(result: Result, fitting: set[str], planned: PlannedPods, group: api.PodGroup, added: int) -> Counter[str]:
    counts = Counter[str]()
    prefixes = {
        f"{planned.pod.metadata.namespace}/{_pod_prefix(planned, number)}"
        for number in range(added)
        if _key(planned, group, number) in fitting
    }
    for key, placement in result.placements.items():
        if not placement.is_pending and key.rpartition("-")[0] in prefixes:
            counts[placement.node] += 1
    return counts


def _copy(planned: PlannedPods, group: api.PodGroup, number: int, size: int) -> Iterator[api.Object]:
    name = _group_name(group, number)
    metadata = api.ObjectMeta(name=name, namespace=planned.pod.metadata.namespace, labels=group.metadata.labels)
    yield api.PodGroup(metadata=metadata, spec=group.spec)
    member = api.PodSchedulingGroup(pod_group_name=name)
    spec = _replace(planned.pod.spec, scheduling_group=member, preemption_policy="Never")
    for index in range(size):
        pod = _replace(planned.pod.metadata, name=f"{_pod_prefix(planned, number)}-{index}")
        yield api.Pod(metadata=pod, spec=spec)


def _key(planned: PlannedPods, group: api.PodGroup, number: int) -> str:
    return f"{planned.pod.metadata.namespace}/{_group_name(group, number)}"


def _group_name(group: api.PodGroup, number: int) -> str:
    return f"plan-{group.metadata.name}-{number}"


def _pod_prefix(planned: PlannedPods, number: int) -> str:
    return f"{planned.pod.metadata.name}-{number}"
