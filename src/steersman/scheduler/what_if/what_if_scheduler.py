# SPDX-License-Identifier: Apache-2.0
"""What-if questions to a scheduler whose decisions have no effect.

    objects ─► change, delete ┐                      ┌─► Evaluation: feasible nodes, equally good nodes
    decisions ─► assume, undo ┴─► evaluate, decide ──┴─► Decision

The scheduler is an `isolated_scheduler`, which has no API server and no event loop, or that of a
simulation's fork. Decisions are those of `Scheduler`, because they are made by its cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from typing import Final

import msgspec

from steersman import api
from steersman.base import Clock, Rng, SeededRng
from steersman.framework import ApiReader, ApiWriter, Extender, PodInfo, Spawn, Status
from steersman.scheduler.assembly import Scheduler, SchedulerOptions, default_registry
from steersman.scheduler.assembly.scheduler import Preview
from steersman.scheduler.cycle import commit
from steersman.scheduler.cycle.decision import Decision, Scheduled
from steersman.scheduler.cycle.schedule_one import Observer
from steersman.scheduler.engine.evaluation import Evaluation
from steersman.scheduler.preemption import FullSearch, default_preemptions
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.what_if.discarding_writer import DiscardingWriter, discard_task

IN_TREE_PLUGINS: Final = frozenset(default_registry())


def isolated_scheduler(
    options: SchedulerOptions,
    clock: Clock,
    rng: Rng | None = None,
    reader: ApiReader | None = None,
    *,
    writer: ApiWriter | None = None,
    spawn: Spawn = discard_task,
    extenders: Sequence[Extender] = (),
) -> Scheduler:
    """Return a scheduler without I/O: by default no extenders are called, and writes and tasks are
    discarded."""
    alone = msgspec.structs.replace(options, extenders=extenders, instruments=None, postpones=False)
    return Scheduler(clock, rng or SeededRng(0), writer or DiscardingWriter(), spawn, alone, reader)


class WhatIfScheduler:
    """A scheduler to which the caller passes objects, and whose cycle it calls directly."""

    def __init__(self, scheduler: Scheduler) -> None:
        """`scheduler` must have no other driver: questions change its cache."""
        self.scheduler = scheduler
        self.profiles = scheduler.profiles
        self.cache = scheduler.cache
        self.objects = scheduler.objects
        self.cycle = scheduler.cycle
        self._in_tree_only = {
            name: IN_TREE_PLUGINS.issuperset(profile.plugins) for name, profile in scheduler.profiles.items()
        }

    def search_all_candidates(self, *, detailed: bool = False) -> None:
        """Make preemption evaluate every node from the first one on, instead of a random sample."""
        for preemption in default_preemptions(self.profiles.values()):
            preemption.evaluator.search = FullSearch()
            preemption.evaluator.detailed = detailed

    # -- the cluster -------------------------------------------------------------------------------------------------

    def change(self, obj: api.Object) -> None:
        """Add or replace an object. Raises `InputError` for an invalid one."""
        self.scheduler.ingest.changed(obj)

    def delete(self, obj: api.Object) -> None:
        self.scheduler.ingest.deleted(obj)

    def assume(self, pod: PodInfo, node: str) -> None:
        """Count the pod on the node as scheduled but not yet bound."""
        self.cache.assume(pod, node)

    def forget(self, pod: PodInfo) -> None:
        """Undo `assume`."""
        self.cache.forget(pod)

    def nominate(self, pod: api.Pod, node: str) -> None:
        """Reserve resources on the node for a pending pod, as a preemption does."""
        self.scheduler.queue.add_nominated_pod(pod, node)

    @contextmanager
    def without(self, assumed: Iterable[tuple[PodInfo, str]]) -> Iterator[None]:
        """Remove these assumed pods within a `with` block."""
        taken = list(assumed)
        for pod, _ in taken:
            self.forget(pod)
        try:
            yield
        finally:
            for pod, node in taken:
                self.assume(pod, node)

    def undo(self, decision: Scheduled) -> None:
        """Undo Reserve and assume of a decision."""
        profile = self.profiles[decision.profile]
        commit.unreserve_and_forget(self.cache, profile, decision.state, decision.pod, decision.node)

    @property
    def node_count(self) -> int:
        return self.cache.nodes.node_count

    def node_names(self) -> list[str]:
        table = self.cache.nodes
        return [table.names[row] for row in table.live_rows()]

    # -- pods --------------------------------------------------------------------------------------------------------

    def info(self, pod: api.Pod) -> PodInfo:
        """Return the pod as plugins see it."""
        return self.cache.shapes.info(self.scheduler.ingest.seen(pod))

    def profile_of(self, pod: api.Pod) -> Profile | None:
        """Return the profile that schedules the pod; None if another scheduler does."""
        return self.profiles.get(pod.scheduler_name)

    def gate(self, pod: PodInfo) -> Status | None:
        """Return the rejection by a PreEnqueue plugin; None if the pod would be queued."""
        profile = self.profiles.get(pod.scheduler_name)
        return None if profile is None else profile.gate(pod)

    def is_decided_by_cycle(self, pod: PodInfo) -> bool:
        """Return whether in-tree plugins alone schedule such pods: no extender, Permit plugin or
        claim takes part."""
        profile = self.profiles.get(pod.scheduler_name)
        if profile is None or profile.permit.for_pod(pod) or self.scheduler.options.extenders:
            return False
        return self._in_tree_only[profile.name] and not pod.shape.has_claims and not pod.spec.resource_claims

    # -- questions ---------------------------------------------------------------------------------------------------

    def evaluate(self, pod: PodInfo, *, all_nodes: bool = False) -> Evaluation:
        """Evaluate the pod against the nodes that a cycle would evaluate, or against `all_nodes`
        even if cycles sample.

        Raises CycleAborted for an internal error of a plugin. `Evaluation.best` has the equally
        good nodes.
        """
        profile = self.profiles[pod.scheduler_name]
        return self.cycle.preview_all_nodes(profile, pod) if all_nodes else self.cycle.preview(profile, pod)

    def preview(self, pod: PodInfo) -> Preview:
        """Evaluate the pod, or return why it would not be evaluated: it is gated, it has no
        profile, or a plugin has an internal error."""
        gate = self.gate(pod)
        return self.scheduler.preview_pod(pod) if gate is None else Preview(pod, None, gate.message)

    def decide(
        self,
        pod: PodInfo,
        observer: Observer | None = None,
        *,
        post_filter: bool = True,
        nodes: Iterable[str] | None = None,
    ) -> Decision:
        """Run a cycle for the pod: on success it is assumed and reserved, until `undo`. `nodes`
        restricts the candidates; `post_filter` enables PostFilter."""
        return self.cycle.schedule_one(pod, observer, post_filter=post_filter, nodes=nodes)

    def decide_all(self, pods: Iterable[PodInfo]) -> Iterator[Sequence[Decision]]:
        """Decide on pods one after the other without PostFilter; consecutive replicas of a template
        in batches, which is faster."""
        for _, run in groupby(pods, key=attrgetter("template")):
            replicas = list(run)
            while replicas:
                placed = self.cycle.schedule_replicas(replicas)
                yield placed
                replicas = replicas[len(placed) :]
                if replicas:
                    yield (self.decide(replicas.pop(0), post_filter=False),)
