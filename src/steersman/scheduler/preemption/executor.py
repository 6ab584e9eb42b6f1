# SPDX-License-Identifier: Apache-2.0
"""Executes preemptions in the background: evicts victims, and gates the preemptor meanwhile.

Started by the plugin with its decision. A victim that waits for permission, or is in PreBind, is
rejected in memory; any other gets the condition DisruptionTarget and is deleted through the API
server. The last victim is evicted last: when its deletion is observed, the preemptor may be
retried, even if this task has not quite ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from steersman.api import Condition, Pod, key
from steersman.framework import PodInfo, PostFilterHandle
from steersman.scheduler.preemption.candidates import Candidate

logger = logging.getLogger(__name__)

#: Maximum duration of a preemption; after that the preemptor should be retried.
DEADLINE_SECONDS = 60.0

#: Minimum number of ended preemptions at which deleted preemptors are removed.
MIN_ENDED_BEFORE_SWEEP = 256

DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"
PREEMPTED = "preempted"
CANCELLED = "preempted by {plugin}"
CONDITION_MESSAGE = "{scheduler}: preempting to accommodate a higher priority pod"
EVENT_MESSAGE = "Preempted by pod {uid} on node {node}"
IN_MEMORY = " (in kube-scheduler memory)."


class Executor:
    """The preemptions in progress of one plugin instance."""

    def __init__(self, handle: PostFilterHandle, plugin: str) -> None:
        self._handle = handle
        self._plugin = plugin
        #: Uids of preemptors whose victims are being evicted.
        self._in_progress: set[str] = set()
        #: Key of the last victim by preemptor, once only that one is left.
        self._last_victims: dict[str, str] = {}
        #: Preemptors by key of their last victim: the inverse of `_last_victims`; no empty values.
        self._preemptors_of: dict[str, set[str]] = {}
        #: Keys by uid of preemptors whose preemption has ended and who may not have been retried
        #: since.
        self._ended: dict[str, str] = {}
        #: Size of `_ended` at which scheduled and deleted preemptors are removed.
        self._sweep_at = MIN_ENDED_BEFORE_SWEEP
        #: Called at the end of every preemption with its success and its duration in seconds.
        self.on_end: Callable[[bool, float], None] | None = None
        #: Called for every evicted victim: preemptor, victim, node, and whether it had not been
        #: bound yet.
        self.on_preempted: Callable[[PodInfo, PodInfo, str, bool], None] | None = None

    def __len__(self) -> int:
        """Return the number of preemptions in progress."""
        return len(self._in_progress)

    @property
    def ended(self) -> Mapping[str, str]:
        """Preemptors by uid, with their keys, whose preemption has ended and that may not have been tried since."""
        return self._ended

    @ended.setter
    def ended(self, preemptors: Mapping[str, str]) -> None:
        self._ended = dict(preemptors)

    def start(self, preemptor: PodInfo, candidate: Candidate) -> None:
        """Start the eviction in the background. Victims that are already terminating are skipped."""
        victims = candidate.victims_to_delete
        if victims:
            self._in_progress.add(preemptor.uid)
            self._ended.pop(preemptor.uid, None)
            self._handle.spawn(self._run(preemptor, candidate.node, victims))

    def is_gated(self, uid: str) -> bool:
        """Return whether the pod must not be retried yet."""
        if uid not in self._in_progress:
            return False
        last = self._last_victims.get(uid)
        if last is None:
            return True
        victim = self._handle.pods.get(last)
        return victim is not None and victim.metadata.deletion_timestamp is None

    def released_by(self, departed: str) -> Collection[str]:
        """Return the uids of preemptors that are not gated any more after the deletion of the pod
        with this key, or were not before."""
        if len(self._ended) > self._sweep_at:
            self._sweep_ended()
        preemptors = self._preemptors_of.get(departed)
        return self._ended.keys() if preemptors is None else self._ended.keys() | preemptors

    def on_ungated(self, uid: str) -> None:
        """Forget the pod, which has passed the gate."""
        self._ended.pop(uid, None)

    def _sweep_ended(self) -> None:
        self._ended = {uid: key for uid, key in self._ended.items() if self._is_waiting(uid, key)}
        self._sweep_at = max(MIN_ENDED_BEFORE_SWEEP, 2 * len(self._ended))

    def _is_waiting(self, uid: str, key: str) -> bool:
        pod = self._handle.pods.get(key)
        return pod is not None and pod.metadata.uid == uid and not pod.spec.node_name

    async def _run(self, preemptor: PodInfo, node: str, victims: Sequence[PodInfo]) -> None:
        succeeded, began = False, self._handle.clock.monotonic()
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                succeeded = await self._clear_nominations(preemptor, node)
                await self._preempt_all(preemptor, node, victims)
        except Exception as cause:
            succeeded = False
            logger.error("preemption for pod %s on node %s failed: %s", preemptor.key, node, _reason(cause))
        finally:
            self._in_progress.discard(preemptor.uid)
            self._ended[preemptor.uid] = preemptor.key
            self._forget_last_victim(preemptor.uid)
            if self.on_end is not None:
                self.on_end(succeeded, self._handle.clock.monotonic() - began)
        if not succeeded:
            self._handle.pods.activate([preemptor.pod])

    def _forget_last_victim(self, preemptor: str) -> None:
        victim = self._last_victims.pop(preemptor, None)
        if victim is None:
            return
        preemptors = self._preemptors_of[victim]
        preemptors.discard(preemptor)
        if not preemptors:
            del self._preemptors_of[victim]

    async def _clear_nominations(self, preemptor: PodInfo, node: str) -> bool:
        """Clear lower nominations to the node; return False if one could not be cleared, which does
        not stop the preemption."""
        cleared = True
        for pod in outranked(self._handle.nominated_pods(node), preemptor):
            if not pod.pod.status.nominated_node_name:
                continue
            try:
                await self._handle.pods.patch_pod_status(pod.pod, nominated_node_name="")
            except Exception as cause:
                cleared = False
                logger.error("cannot clear the nomination of pod %s to node %s: %s", pod.key, node, _reason(cause))
        return cleared

    async def _preempt_all(self, preemptor: PodInfo, node: str, victims: Sequence[PodInfo]) -> None:
        *others, last = victims
        if others:
            async with asyncio.TaskGroup() as group:
                for victim in others:
                    group.create_task(self._preempt(preemptor, node, victim))
        self._last_victims[preemptor.uid] = last.key
        self._preemptors_of.setdefault(last.key, set()).add(preemptor.uid)
        await self._preempt(preemptor, node, last)

    async def _preempt(self, preemptor: PodInfo, node: str, victim: PodInfo) -> None:
        message = EVENT_MESSAGE.format(uid=preemptor.uid, node=node)
        in_memory = self._cancel_binding(victim)
        if in_memory:
            message += IN_MEMORY
        elif not await self._delete(preemptor, victim.pod):
            return
        if self.on_preempted is not None:
            self.on_preempted(preemptor, victim, node, in_memory)
        self._handle.pods.report_preempted(victim.pod, preemptor.pod, message)

    def _cancel_binding(self, victim: PodInfo) -> bool:
        """Cancel the binding of the victim; return True if it was not bound."""
        waiting = self._handle.pods.waiting(victim.uid)
        if waiting is not None:
            return waiting.preempt(self._plugin, PREEMPTED)
        pre_binding = self._handle.pods.in_pre_bind(victim.uid)
        return pre_binding is not None and pre_binding.cancel(CANCELLED.format(plugin=self._plugin))

    async def _delete(self, preemptor: PodInfo, victim: Pod) -> bool:
        """Delete the victim through the API server; return False if it was already deleted."""
        condition = Condition(
            type=DISRUPTION_TARGET,
            status="True",
            reason=PREEMPTION_BY_SCHEDULER,
            message=CONDITION_MESSAGE.format(scheduler=preemptor.scheduler_name),
            observed_generation=victim.metadata.generation,
        )
        if not await self._handle.pods.patch_pod_status(victim, condition=condition):
            logger.info("victim %s of %s is already deleted", key(victim), preemptor.key)
            return False
        return await self._handle.pods.delete_pod(victim)


def outranked(nominated: Iterable[PodInfo], preemptor: PodInfo) -> list[PodInfo]:
    """Return the nominated pods of lower priority: they may no longer fit on the node, and should
    be retried soon."""
    return [pod for pod in nominated if pod.priority < preemptor.priority]


def _reason(cause: BaseException) -> str:
    """Return the text of an error; of the first one of a group."""
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return str(cause) or type(cause).__name__
