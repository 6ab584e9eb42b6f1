# SPDX-License-Identifier: Apache-2.0
"""Cluster and scheduler of a golden scenario, which follow the expected outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import msgspec

from steersman import api, config
from steersman.base import Clock, Rng
from steersman.config import FeatureGates
from steersman.framework import CycleState, PodInfo, Status
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.cycle import Decision, Scheduled
from steersman.scheduler.engine import Evaluation, NodeSearch
from steersman.scheduler.plugins import VOLUMES_STATE_KEY, CycleVolumes, PodVolumes, VolumeBinding
from steersman.scheduler.runtime import Profile
from steersman.scheduler.what_if import DiscardingWriter, WhatIfScheduler, isolated_scheduler
from steersman.testing.conformance.scripted_extenders import ScriptedTransport, scripted_extenders

UNNAMED_VERSION: Final = "1.36"
"""The version of lines that name no version: their format predates the second version."""


class ScenarioWriter(DiscardingWriter):
    """A writer that records the latest ResourceClaim written by PostFilter, and bindings."""

    def __init__(self) -> None:
        self.changed_claim: api.ResourceClaim | None = None
        #: Whether the scheduler itself has bound the latest pod.
        self.has_bound = False

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        self.has_bound = True
        return None

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        self.changed_claim = change(claim)
        return self.changed_claim


class Setting(WhatIfScheduler):
    """Cluster and scheduler of one scenario. Preemption examines all nodes, from the first."""

    def __init__(
        self,
        document: Mapping[str, Any] | None,
        clock: Clock,
        rng: Rng,
        scalar: bool,
        gates: FeatureGates = config.DEFAULT_GATES,
        extenders: Mapping[str, Any] | None = None,
    ) -> None:
        """`extenders` are the scripted answers by name of extender."""
        loaded = (
            config.default_configuration(gates) if document is None else config.load(_text(document), "scenario", gates)
        )
        self.writer = ScenarioWriter()
        self.transport = ScriptedTransport(extenders or {})
        #: Background work of the latest cycle, which cannot run inside the event loop of a cycle
        #: with extenders.
        self._spawned: list[Coroutine[Any, Any, None]] = []
        options = SchedulerOptions(loaded, gates, scalar=scalar)
        called = scripted_extenders(loaded, self.transport) if extenders is not None else ()
        spawn = self._spawned.append if called else asyncio.run
        super().__init__(isolated_scheduler(options, clock, rng, writer=self.writer, spawn=spawn, extenders=called))
        self.search_all_candidates(detailed=True)

    def decide_with_extenders(self, pod: PodInfo, observer: Callable[[PodInfo, Evaluation], None]) -> Decision:
        """Run a cycle for the pod with the extenders that are interested in it, then its background
        work.

        Without extenders the cycle needs no event loop.
        """
        has_extenders = bool(self.scheduler.options.extenders)
        decision = asyncio.run(self.scheduler.decide(pod, observer)) if has_extenders else self.decide(pod, observer)
        while self._spawned:
            asyncio.run(self._spawned.pop(0))
        return decision

    def bind(self, decision: Scheduled) -> tuple[Status | None, bool]:
        """Bind a scheduled pod; return the failure, if any, and whether an extender was the
        binder."""
        self.writer.has_bound = False
        failure = asyncio.run(self.scheduler.binding.bind(decision, self.profiles[decision.profile]))
        return failure, failure is None and not self.writer.has_bound

    def drop_nomination(self, name: str) -> None:
        """Clear the nomination of a pod, if there is such a pod."""
        if (pod := self.scheduler.pods.get(name)) is not None:
            self.scheduler.queue.delete_nominated_pod_if_exists(pod)


def _text(document: Mapping[str, Any]) -> str:
    return msgspec.json.encode(document).decode()


def gates_of_line(line: Mapping[str, Any]) -> FeatureGates:
    """Return the feature gates of a line: `gates` in its `version`."""
    return FeatureGates(line.get("gates"), line.get("version", UNNAMED_VERSION))


# -- volumes -----------------------------------------------------------------------------------------------------------


def chosen_volumes(profile: Profile, pod: PodInfo, node: str) -> dict[str, Any]:
    """Return the bound and provisioned volumes of the pod's claims, in the corpus' format."""
    plugin, state = profile.plugins.get(VolumeBinding.name), CycleState()
    if not isinstance(plugin, VolumeBinding) or plugin.reserve(state, pod, node) is not None:
        return {}
    plugin.unreserve(state, pod, node)
    cycle = state.read(VOLUMES_STATE_KEY, CycleVolumes)
    volumes = cycle.by_node[node] if cycle is not None else PodVolumes()
    return {
        "volumeBindings": {b.claim.metadata.name: b.volume.metadata.name for b in volumes.bindings},
        "volumeProvisions": sorted(provision.claim.metadata.name for provision in volumes.provisions),
    }


def reserve_volumes(profile: Profile, pod: PodInfo, node: str) -> None:
    """Reserve the pod's volumes for the profile."""
    plugin = profile.plugins.get(VolumeBinding.name)
    if isinstance(plugin, VolumeBinding):
        plugin.reserve(CycleState(), pod, node)


# -- sampled search ----------------------------------------------------------------------------------------------------


_PERCENTAGE: Final = "percentageOfNodesToScore"
_MIN_PERCENTAGE: Final = 5


def with_adaptive_percentage(configuration: Mapping[str, Any], nodes: int) -> dict[str, Any]:
    """Return the configuration with kube-scheduler's percentage where none is set."""
    adaptive = max(_MIN_PERCENTAGE, 50 - nodes // 125)
    profiles = [
        {**profile, _PERCENTAGE: adaptive} if profile.get(_PERCENTAGE) == 0 else profile
        for profile in configuration.get("profiles", ())
    ]
    return {**configuration, "profiles": profiles, _PERCENTAGE: configuration.get(_PERCENTAGE) or adaptive}


def searched_document(result: Mapping[str, Any], search: NodeSearch) -> dict[str, Any]:
    """Return the parts of a result that a sampled search affects: next index and rejections."""
    visited = search.visited_names()
    document: dict[str, Any] = {"nextIndex": search.index}
    if visited is not None and "rejected" in result:
        groups = [{**group, "nodes": sorted(visited.intersection(group["nodes"]))} for group in result["rejected"]]
        document["rejected"] = [group for group in groups if group["nodes"]]
    return document
