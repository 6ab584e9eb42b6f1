# SPDX-License-Identifier: Apache-2.0
"""Filling of a cluster with pods, one after the other without passage of time, until one does not
fit.

    pods ─► Fill ─┬─► scheduling cycle on the cache alone (20 µs per pod)   ─┐
                  └─► embedded store, queue, binding (200 µs per pod)       ─┴─► FillResult

`plan capacity` fills a fork, which cannot be used afterwards: pods placed by the cycle alone are in
the scheduler's cache, but not in the store. This fast path is used if the cycle alone decides: no
claims, no out-of-tree plugins, and no pods that wait for the binding of another pod. Otherwise the
whole simulation runs; property tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

import msgspec

from steersman import api
from steersman.base import InputError
from steersman.cluster.store import OverLimit, QuotaLedger, StatusError, Store, quota_ledger
from steersman.framework import PodInfo
from steersman.scheduler.assembly import BOUND
from steersman.scheduler.cycle import (
    NO_NODES_MESSAGE,
    Decision,
    Diagnosis,
    Dropped,
    Failed,
    Postponed,
    Scheduled,
    Unschedulable,
)
from steersman.scheduler.host import frozen_heap
from steersman.scheduler.runtime import Profile
from steersman.scheduler.what_if import WhatIfScheduler
from steersman.simulation.trial import Trial

TOGETHER: Final = 256
"""Maximum number of pods of one template that a cycle gets together."""

T = TypeVar("T", bound=api.Object)

_replace = msgspec.structs.replace


class NewPod(msgspec.Struct, frozen=True):
    """A pod to add, made from one of several templates; `claims` are created before it."""

    #: Number of the template; pods of one template differ only in name and claims.
    template: int
    pod: api.Pod
    claims: tuple[api.PersistentVolumeClaim, ...] = ()


class FillResult(msgspec.Struct, frozen=True):
    """The nodes of the pods in order, and why the first pod that does not fit is pending."""

    #: Template and node of every pod that fits.
    placed: Sequence[tuple[int, str]]
    #: The template of the pod that did not fit; None if all pods fit.
    refused: int | None = None
    #: The message of the scheduler, or of the API server, about that pod.
    message: str = ""
    #: Nodes by reason; empty for a reason that does not depend on nodes, such as a quota.
    reasons: dict[str, list[str]] = {}


class _Refusal(msgspec.Struct, frozen=True):
    message: str
    reasons: dict[str, list[str]]


def fill_nodes(trial: Trial, pods: Iterable[NewPod], *, through_store: bool = False) -> FillResult:
    """Place the pods in order until one does not fit.

    They are all created at the same time: none waits for another to end, and none is preempted.
    With `through_store` every pod is created in the store and taken from the queue.
    """
    trial.internals.prepare_forks()
    run = _Fill(trial)
    with frozen_heap():
        for template, some in _runs(pods):
            refusal = run.place(some, through_store=through_store)
            if refusal is not None:
                return FillResult(run.placed, template, refusal.message, refusal.reasons)
    return FillResult(run.placed)


def show_owner(trial: Trial, owner: api.Object) -> None:
    """Show the scheduler the owner of the added pods, whose selector spreads them by default.

    Controllers do not see the owner and create no pods for it.
    """
    trial.scheduler.ingest.changed(owner)


def _runs(pods: Iterable[NewPod]) -> Iterator[tuple[int, list[NewPod]]]:
    """Yield runs of at most `TOGETHER` consecutive pods of one template."""
    some: list[NewPod] = []
    for pod in pods:
        if some and (pod.template != some[0].template or len(some) == TOGETHER):
            yield some[0].template, some
            some = []
        some.append(pod)
    if some:
        yield some[0].template, some


class _Fill:
    """A single filling of a cluster."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._scheduler = trial.scheduler
        self._store: Store = trial.cluster
        self.placed: list[tuple[int, str]] = []
        self._what_if = WhatIfScheduler(trial.scheduler)
        #: The first pod of each template after admission; None if pods must be stored.
        self._prototypes: dict[int, api.Pod | None] = {}

    def place(self, pods: Sequence[NewPod], *, through_store: bool) -> _Refusal | None:
        """Place pods of one template; return the refusal of the first that does not fit."""
        first = pods[0]
        if through_store:
            self._prototypes[first.template] = None
        if first.template not in self._prototypes:
            try:
                self._prototypes[first.template] = self._prototype(first)
            except OverLimit as refusal:
                return _whole(refusal.message)
        prototype = self._prototypes[first.template]
        if prototype is None:
            refusals = (self._stored(pod) for pod in pods)
            return next((refusal for refusal in refusals if refusal is not None), None)
        return self._cached(pods, prototype)

    # -- by the cycle alone ------------------------------------------------------------------------------------------

    def _prototype(self, new: NewPod) -> api.Pod | None:
        """Return the pod after admission if the cycle alone decides on such pods. Raises
        `OverLimit`."""
        namespace = new.pod.metadata.namespace or "default"
        if self._store.find(api.Namespace, namespace) is None:
            self._store.create(api.Namespace(metadata=api.ObjectMeta(name=namespace)))
        if new.claims or new.pod.spec.resource_claims or any(map(_needs_claim, new.pod.spec.volumes)):
            return None
        with self._store.dry_run():
            admitted = self._created(new.pod)
        info = self._scheduler.cache.shapes.info(admitted)
        profile = self._scheduler.profiles.get(info.scheduler_name)
        return admitted if profile is not None and self._is_decided_by_cycle(info, profile) else None

    def _is_decided_by_cycle(self, pod: PodInfo, profile: Profile) -> bool:
        """Return whether the cycle alone decides on the pod, and no other pod waits for it to be
        bound."""
        scheduler = self._scheduler
        if not self._what_if.is_decided_by_cycle(pod) or profile.post_bind:
            return False
        if scheduler.queue.waits_for(BOUND) or scheduler.nominations().by_node:
            return False
        if (
            profile.reserve.for_pod(pod)
            or profile.pre_bind.for_pod(pod)
            or not scheduler.binding.binds_at_once(pod, profile)
        ):
            return False
        return self._what_if.gate(pod) is None

    def _cached(self, pods: Sequence[NewPod], prototype: api.Pod) -> _Refusal | None:
        ledger = quota_ledger(self._store) if self._store.objects(api.ResourceQuota) else None
        infos, refusal = self._infos(pods, prototype, ledger)
        template = pods[0].template
        for decisions in self._what_if.decide_all(infos):
            for decision in decisions:
                if not isinstance(decision, Scheduled):
                    return self._refusal(decision)
                self.placed.append((template, decision.node))
        return refusal

    def _infos(
        self, pods: Sequence[NewPod], prototype: api.Pod, ledger: QuotaLedger | None
    ) -> tuple[list[PodInfo], _Refusal | None]:
        """Return the pods as the cycle sees them, up to the first that a quota refuses, and that
        refusal."""
        shapes, meta, infos = self._scheduler.cache.shapes, prototype.metadata, list[PodInfo]()
        for new in pods:
            name = new.pod.metadata.name
            pod = _replace(prototype, metadata=_replace(meta, name=name, uid=f"uid-fill-{name}"))
            if ledger is not None:
                try:
                    ledger.check(pod, None)
                except OverLimit as refusal:
                    return infos, _whole(refusal.message)
                ledger.count(pod)
            infos.append(shapes.info(pod))
        return infos, None

    # -- through the store -------------------------------------------------------------------------------------------

    def _stored(self, new: NewPod) -> _Refusal | None:
        latest: list[Decision] = []
        try:
            for claim in new.claims:
                self._created(claim)
            if new.claims:
                self._trial.settle(places=False)
            pod = self._created(new.pod)
        except OverLimit as refusal:
            return _whole(refusal.message)
        uid = pod.metadata.uid
        self._trial.schedule_now(
            only_ready=True,
            on_decision=lambda decision: latest.append(decision) if decision.pod.uid == uid else None,
        )
        if not latest:
            return _whole(self._why_not_tried(pod))
        if isinstance(latest[-1], Scheduled):
            self.placed.append((new.template, latest[-1].node))
            return None
        return self._refusal(latest[-1])

    def _created(self, obj: T) -> T:
        """Store the object and return it. Raises `OverLimit` if a quota or limit range refuses it,
        else `InputError`."""
        try:
            return self._store.create(obj)
        except OverLimit:
            raise
        except StatusError as refusal:
            raise InputError(refusal.message, object=f"{obj.KIND} {obj.metadata.name}") from refusal

    def _why_not_tried(self, pod: api.Pod) -> str:
        queued = self._scheduler.queue.get(api.key(pod))
        if queued is not None and queued.is_gated:
            return f'held back by PreEnqueue plugin "{queued.gating_plugin}"'
        name = pod.spec.scheduler_name
        return "not tried" if name in self._scheduler.profiles else f'no profile for scheduler name "{name}"'

    def _refusal(self, decision: Decision) -> _Refusal:
        if isinstance(decision, Unschedulable):
            return _refusal_by_node(decision.diagnosis)
        if isinstance(decision, Failed | Postponed):
            return _whole(decision.message)
        assert isinstance(decision, Dropped), "a pod that was scheduled was not refused"
        return _whole(decision.reason)


def _needs_claim(volume: api.Volume) -> bool:
    return volume.persistent_volume_claim is not None or volume.ephemeral is not None


def _whole(message: str) -> _Refusal:
    return _Refusal(message, {message: []})


def _refusal_by_node(diagnosis: Diagnosis) -> _Refusal:
    """Return the refusal with the nodes of each reason."""
    if not diagnosis.all_nodes:
        return _whole(NO_NODES_MESSAGE)
    message = _replace(diagnosis, post_filter_message="").message()
    if diagnosis.pre_filter_message:
        return _Refusal(message, {diagnosis.pre_filter_message: []})
    reasons: dict[str, list[str]] = {}
    for status, nodes in diagnosis.statuses.groups.items():
        for reason in status.reasons:
            reasons.setdefault(reason, []).extend(nodes)
    return _Refusal(message, {reason: sorted(nodes) for reason, nodes in sorted(reasons.items())})
