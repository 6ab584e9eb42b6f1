# SPDX-License-Identifier: Apache-2.0
"""Bystanders: pods that wait in vain, whatever is changed for another pod, and that cannot help it either.

A trial tries every pod that waits. Where many wait, most of its time goes into finding out once more that the others fit
nowhere. So a trial is made without them first: what fails then fails with them as well, because a pod that is placed takes
room, and helps only pods that want to be with it, to be spread over the same topology, or to use the same claim. What passes
is tried again with everybody, and only that is shown. `Verifier` asks; in doubt nobody is a bystander.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman import api
from steersman.api.selectors import from_label_selector
from steersman.config import PodTopologySpreadArgs
from steersman.sim import Simulation
from steersman.sim.result import Result

_HARD: Final = ("DoNotSchedule", "")


def bystanders(base: Simulation, result: Result, own: Iterable[str]) -> tuple[api.Pod, ...]:
    """The pods that trials for the `own` pods, by key, can do without. `base` has come to rest without any change, and
    `result` is how it did."""
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
    """Whether the other pod could fit because this one has a node: in doubt it could."""
    affinity = other.spec.affinity.pod_affinity if other.spec.affinity is not None else None
    wanted = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else ()
    selectors = [term.label_selector for term in wanted]
    selectors += (
        each.label_selector for each in other.spec.topology_spread_constraints if each.when_unsatisfiable in _HARD
    )
    if any(from_label_selector(selector).matches(pod.metadata.labels) for selector in selectors):
        return True
    return pod.metadata.namespace == other.metadata.namespace and not _claims(pod).isdisjoint(_claims(other))


def _claims(pod: api.Pod) -> set[tuple[str, str]]:
    """The claims for volumes and devices that the pod names, which others may name as well."""
    volumes = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    claims = {("volume", source.claim_name) for source in volumes if source is not None}
    names = (claim.resource_claim_name for claim in pod.spec.resource_claims)
    return claims | {("device", name) for name in names if name}


def _is_plain(simulation: Simulation) -> bool:
    """Whether only Steersman's own plugins decide, and none of them spreads pods by default so that nodes are rejected."""
    options = simulation.setup.options
    if options.extenders or not simulation.has_own_plugins_only:
        return False
    spreads = (profile.args("PodTopologySpread", PodTopologySpreadArgs) for profile in options.configuration.profiles)
    return not any(
        constraint.when_unsatisfiable in _HARD for args in spreads for constraint in args.default_constraints
    )
