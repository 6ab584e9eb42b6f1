# SPDX-License-Identifier: Apache-2.0
"""Carries a preemption out, off the scheduling cycle: victims go, the preemptor is held back until that is under way.

Comes from the plugin with the decision. A victim that waits for permission, or whose PreBind work is not done, is turned
back in memory; any other gets the condition DisruptionTarget and is deleted at the API server. The last victim goes
last: when its deletion is seen, the preemptor may be tried again, even if this work has not quite ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence

from steersman.api import Condition, Pod, key
from steersman.framework.handle import PostFilterHandle
from steersman.framework.pod_info import PodInfo
from steersman.preemption.candidates import Candidate

logger = logging.getLogger(__name__)

#: No preemption takes longer: by then something is wrong, and the preemptor had better look again.
DEADLINE_SECONDS = 60.0

#: Fewer ended preemptions than this are not worth looking through for preemptors that have gone.
LEAST_ENDED = 256

DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"
PREEMPTED = "preempted"
CANCELLED = "preempted by {plugin}"
CONDITION_MESSAGE = "{scheduler}: preempting to accommodate a higher priority pod"
EVENT_MESSAGE = "Preempted by pod {uid} on node {node}"
IN_MEMORY = " (in kube-scheduler memory)."


class Executor:
    """The preemptions of one plugin instance that are under way."""

    def __init__(self, handle: PostFilterHandle, plugin: str) -> None:
        self._handle = handle
        self._plugin = plugin
        #: Preemptors by uid whose victims are being dealt with.
        self._under_way: set[str] = set()
        #: By preemptor: the key of its last victim, once only that one is left.
        self._last_victims: dict[str, str] = {}
        #: By key of a last victim: its preemptors. The other view of `_last_victims`; no empty values.
        self._preemptors_of: dict[str, set[str]] = {}
        #: Preemptors by uid, with their keys, whose preemption has ended and who may not have been tried again since.
        self._ended: dict[str, str] = {}
        #: When so many have ended, those that got a node or have gone are forgotten.
        self._most_ended = LEAST_ENDED
        #: Told of every preemption that has ended: whether it succeeded, and the seconds it took.
        self.on_end: Callable[[bool, float], None] | None = None
        #: Told of every victim that was made to go: preemptor, victim, node, and whether it had not been bound yet.
        self.on_preempted: Callable[[PodInfo, PodInfo, str, bool], None] | None = None

    def __len__(self) -> int:
        """How many preemptions are under way."""
        return len(self._under_way)

    def start(self, preemptor: PodInfo, candidate: Candidate) -> None:
        """Sets the eviction in motion and returns at once. Victims that are terminating already are left alone."""
        victims = candidate.victims_to_delete
        if victims:
            self._under_way.add(preemptor.uid)
            self._ended.pop(preemptor.uid, None)
            self._handle.spawn(self._run(preemptor, candidate.node, victims))

    def holds_back(self, uid: str) -> bool:
        """Whether the pod must not be tried again yet."""
        if uid not in self._under_way:
            return False
        last = self._last_victims.get(uid)
        if last is None:
            return True
        victim = self._handle.pods.get(last)
        return victim is not None and victim.metadata.deletion_timestamp is None

    def released_by(self, departed: str) -> Collection[str]:
        """Preemptors, by uid, that are not held back any more now that the pod of that key has gone, or were not before.
        One whose last victim is being deleted is found when that victim goes, not before."""
        if len(self._ended) > self._most_ended:
            self._forget_placed_preemptors()
        preemptors = self._preemptors_of.get(departed)
        return self._ended.keys() if preemptors is None else self._ended.keys() | preemptors

    def let_pass(self, uid: str) -> None:
        """The pod has passed the gate: it need not be thought of any more."""
        self._ended.pop(uid, None)

    def _forget_placed_preemptors(self) -> None:
        self._ended = {uid: key for uid, key in self._ended.items() if self._is_waiting(uid, key)}
        self._most_ended = max(LEAST_ENDED, 2 * len(self._ended))

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
            self._under_way.discard(preemptor.uid)
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
        """Clears lower nominations to the node. False when one stays; that alone does not stop the preemption."""
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
        in_memory = self._turn_back(victim)
        if in_memory:
            message += IN_MEMORY
        elif not await self._delete(preemptor, victim.pod):
            return
        if self.on_preempted is not None:
            self.on_preempted(preemptor, victim, node, in_memory)
        self._handle.pods.report_preempted(victim.pod, preemptor.pod, message)

    def _turn_back(self, victim: PodInfo) -> bool:
        """Calls the binding of the victim off; True when it has not been bound and now will not be."""
        waiting = self._handle.pods.waiting(victim.uid)
        if waiting is not None:
            return waiting.preempt(self._plugin, PREEMPTED)
        pre_binding = self._handle.pods.in_pre_bind(victim.uid)
        return pre_binding is not None and pre_binding.cancel(CANCELLED.format(plugin=self._plugin))

    async def _delete(self, preemptor: PodInfo, victim: Pod) -> bool:
        """Deletes the victim at the API server; False when it was gone already."""
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
    """The nominated pods of lower priority: they may no longer fit on the node, and should look elsewhere soon."""
    return [pod for pod in nominated if pod.priority < preemptor.priority]


def _reason(cause: BaseException) -> str:
    """The text of a failure; of several at once, that of the first."""
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return str(cause) or type(cause).__name__
