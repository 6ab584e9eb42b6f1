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

import msgspec

from steersman.api import AnyPodGroup, Condition, Pod, group_priority, key
from steersman.config import Rule
from steersman.framework import GroupKey, PodGroupInfo, PodInfo, PostFilterHandle
from steersman.scheduler.preemption.victims import leaves

logger = logging.getLogger(__name__)

#: Maximum duration of a preemption; after that the preemptor should be retried.
DEADLINE_SECONDS = 60.0

#: Minimum number of ended preemptions at which deleted preemptors are removed.
MIN_ENDED_BEFORE_SWEEP = 256

DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"
PREEMPTED = "preempted"
CANCELLED = "preempted by {plugin}"
CONDITION_MESSAGE = "{scheduler}: preempting to accommodate a higher priority {kind}"
EVENT_MESSAGE = "Preempted by {kind} {uid} on node {node}"
IN_MEMORY = " (in kube-scheduler memory)."


class Preemptor(msgspec.Struct, frozen=True):
    """A pod or a group for which victims are evicted."""

    #: "pod", "podgroup" or "compositepodgroup".
    kind: str
    uid: str
    namespace: str
    name: str
    priority: int
    #: The pods that need the space, at least one.
    pods: tuple[PodInfo, ...]
    #: Root of the group.
    root: GroupKey | None = None
    group: AnyPodGroup | None = None

    @classmethod
    def of_pod(cls, pod: PodInfo) -> Preemptor:
        return cls("pod", pod.uid, pod.namespace, pod.name, pod.priority, (pod,))

    @classmethod
    def of_group(cls, group: PodGroupInfo) -> Preemptor:
        root, found = group.key, group.group
        assert found is not None, f"{root} does not exist"
        pods, priority = tuple(group.pods()), group_priority(found)
        return cls(str(root.kind), found.metadata.uid, root.namespace, root.name, priority, pods, root, found)

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def scheduler_name(self) -> str:
        return self.pods[0].scheduler_name


class Executor:
    """The preemptions in progress of one plugin instance."""

    def __init__(self, handle: PostFilterHandle, plugin: str) -> None:
        self._handle = handle
        self._plugin = plugin
        #: Preemptors by uid whose victims are being evicted.
        self._in_progress: dict[str, Preemptor] = {}
        #: Key of the last victim by preemptor, once only that one is left.
        self._last_victims: dict[str, str] = {}
        #: Preemptors by key of their last victim: the inverse of `_last_victims`; no empty values.
        self._preemptors_of: dict[str, set[str]] = {}
        #: Keys by uid of pods whose preemption, or that of their group, has ended and who may not
        #: have been retried since.
        self._ended: dict[str, str] = {}
        self._activates_after_memory = handle.gates.has_rule(Rule.PREEMPTION_IN_MEMORY_ACTIVATES)
        #: Size of `_ended` at which scheduled and deleted preemptors are removed.
        self._sweep_at = MIN_ENDED_BEFORE_SWEEP
        #: Called at the end of every preemption with its success and its duration in seconds.
        self.on_end: Callable[[bool, float], None] | None = None
        #: Called for every evicted victim: preemptor, victim, node, and whether it had not been
        #: bound yet.
        self.on_preempted: Callable[[Preemptor, PodInfo, str, bool], None] | None = None

    def __len__(self) -> int:
        """Return the number of preemptions in progress."""
        return len(self._in_progress)

    @property
    def ended(self) -> Mapping[str, str]:
        """Pods by uid, with their keys, whose preemption has ended and that may not have been tried
        since."""
        return self._ended

    @ended.setter
    def ended(self, preemptors: Mapping[str, str]) -> None:
        self._ended = dict(preemptors)

    def start(self, preemptor: Preemptor, node: str, victims: Sequence[PodInfo]) -> None:
        """Start the eviction in the background. Victims that are already terminating are skipped.
        `node` is the node of the victims, or a name for all nodes of a group's preemption."""
        to_delete = [victim for victim in victims if not victim.is_terminating]
        if to_delete:
            self._in_progress[preemptor.uid] = preemptor
            for pod in preemptor.pods:
                self._ended.pop(pod.uid, None)
            self._handle.spawn(self._run(preemptor, node, to_delete))

    @property
    def has_preemptions(self) -> bool:
        """Whether a preemption is in progress, so that a pod or group may be gated."""
        return bool(self._in_progress)

    def is_gated(self, uid: str) -> bool:
        """Return whether the pod or group must not be retried yet."""
        if uid not in self._in_progress:
            return False
        last = self._last_victims.get(uid)
        if last is None:
            return True
        victim = self._handle.pods.get(last)
        return victim is not None and victim.metadata.deletion_timestamp is None

    def ungated_pods(self, departed: str) -> Collection[str]:
        """Return the uids of pods that are not gated any more after the deletion of the pod with
        this key, or were not before."""
        if len(self._ended) > self._sweep_at:
            self._sweep_ended()
        preemptors = self._preemptors_of.get(departed)
        if preemptors is None:
            return self._ended.keys()
        return self._ended.keys() | {uid for one in preemptors for uid in self._waiting(self._in_progress[one])}

    def _waiting(self, preemptor: Preemptor) -> Mapping[str, str]:
        """Return the keys of the pods by uid that wait for the preemption, including members that
        joined the group meanwhile."""
        waiting = {pod.uid: pod.key for pod in preemptor.pods}
        groups = self._handle.pod_groups
        if groups is not None and preemptor.root is not None:
            for leaf in leaves(groups, preemptor.root):
                members = groups.state(leaf.namespace, leaf.name).unscheduled
                waiting.update((uid, key(pod)) for uid, pod in members.items())
        return waiting

    def on_ungated(self, uid: str) -> None:
        """Forget the pod, which has passed the gate."""
        self._ended.pop(uid, None)

    def _sweep_ended(self) -> None:
        self._ended = {uid: key for uid, key in self._ended.items() if self._is_waiting(uid, key)}
        self._sweep_at = max(MIN_ENDED_BEFORE_SWEEP, 2 * len(self._ended))

    def _is_waiting(self, uid: str, key: str) -> bool:
        pod = self._handle.pods.get(key)
        return pod is not None and pod.metadata.uid == uid and not pod.spec.node_name

    async def _run(self, preemptor: Preemptor, node: str, victims: Sequence[PodInfo]) -> None:
        succeeded, last_in_memory, began = False, False, self._handle.clock.monotonic()
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                succeeded = await self._clear_nominations(preemptor, node)
                last_in_memory = await self._preempt_all(preemptor, node, victims)
        except Exception as cause:
            succeeded = False
            logger.error("preemption for %s on node %s failed: %s", preemptor, node, _reason(cause))
        finally:
            self._in_progress.pop(preemptor.uid, None)
            self._ended.update(self._waiting(preemptor))
            self._forget_last_victim(preemptor.uid)
            if self.on_end is not None:
                self.on_end(succeeded, self._handle.clock.monotonic() - began)
        if not succeeded or (last_in_memory and self._activates_after_memory):
            self._handle.pods.activate([pod.pod for pod in preemptor.pods])

    def _forget_last_victim(self, preemptor: str) -> None:
        victim = self._last_victims.pop(preemptor, None)
        if victim is None:
            return
        preemptors = self._preemptors_of[victim]
        preemptors.discard(preemptor)
        if not preemptors:
            del self._preemptors_of[victim]

    async def _clear_nominations(self, preemptor: Preemptor, node: str) -> bool:
        """Clear lower nominations to the node; return False if one could not be cleared, which does
        not stop the preemption."""
        cleared = True
        for pod in outranked(self._handle.nominated_pods(node), preemptor.priority):
            if not pod.pod.status.nominated_node_name:
                continue
            try:
                await self._handle.pods.patch_pod_status(pod.pod, nominated_node_name="")
            except Exception as cause:
                cleared = False
                logger.error("cannot clear the nomination of pod %s to node %s: %s", pod.key, node, _reason(cause))
        return cleared

    async def _preempt_all(self, preemptor: Preemptor, node: str, victims: Sequence[PodInfo]) -> bool:
        """Preempt the victims, the last one after the others; return whether that one was not
        bound, so that no deletion of a pod follows."""
        *others, last = victims
        if others:
            async with asyncio.TaskGroup() as group:
                for victim in others:
                    group.create_task(self._preempt(preemptor, node, victim))
        self._last_victims[preemptor.uid] = last.key
        self._preemptors_of.setdefault(last.key, set()).add(preemptor.uid)
        return await self._preempt(preemptor, node, last)

    async def _preempt(self, preemptor: Preemptor, node: str, victim: PodInfo) -> bool:
        """Preempt the victim; return whether it was not bound."""
        message = EVENT_MESSAGE.format(kind=preemptor.kind, uid=preemptor.uid, node=node)
        in_memory = self._cancel_binding(victim)
        if in_memory:
            message += IN_MEMORY
        elif not await self._delete(preemptor, victim.pod):
            return False
        if self.on_preempted is not None:
            self.on_preempted(preemptor, victim, node, in_memory)
        self._handle.pods.report_preempted(victim.pod, preemptor.pods[0].pod, message, preemptor.group)
        return in_memory

    def _cancel_binding(self, victim: PodInfo) -> bool:
        """Cancel the binding of the victim; return True if it was not bound."""
        waiting = self._handle.pods.waiting(victim.uid)
        if waiting is not None:
            return waiting.preempt(self._plugin, PREEMPTED)
        pre_binding = self._handle.pods.in_pre_bind(victim.uid)
        return pre_binding is not None and pre_binding.cancel(CANCELLED.format(plugin=self._plugin))

    async def _delete(self, preemptor: Preemptor, victim: Pod) -> bool:
        """Delete the victim through the API server; return False if it was already deleted."""
        condition = Condition(
            type=DISRUPTION_TARGET,
            status="True",
            reason=PREEMPTION_BY_SCHEDULER,
            message=CONDITION_MESSAGE.format(scheduler=preemptor.scheduler_name, kind=preemptor.kind),
            observed_generation=victim.metadata.generation,
        )
        if not await self._handle.pods.patch_pod_status(victim, condition=condition):
            logger.info("victim %s of %s is already deleted", key(victim), preemptor)
            return False
        return await self._handle.pods.delete_pod(victim)


def outranked(nominated: Iterable[PodInfo], priority: int) -> list[PodInfo]:
    """Return the nominated pods of lower priority: they may no longer fit on the node, and should
    be retried soon."""
    return [pod for pod in nominated if pod.priority < priority]


def _reason(cause: BaseException) -> str:
    """Return the text of an error; of the first one of a group."""
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return str(cause) or type(cause).__name__
