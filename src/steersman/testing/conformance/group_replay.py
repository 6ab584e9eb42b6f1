# SPDX-License-Identifier: Apache-2.0
"""Replays golden scenarios with pod groups: the scheduling queue determines the order of the
cycles.

    pods arrive ─► round: cycles until the active queue is empty ─► victims are deleted ─► up to two more rounds
                   └──────────────────── again after each step ◄── operations and time of the step

The result has the format of the scenarios' `expected`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Final

import msgspec

from steersman import api, config
from steersman.api import codec
from steersman.base import FirstByName, ManualClock
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.plugins import VolumeBinding
from steersman.scheduler.preemption import default_preemptions
from steersman.scheduler.runtime import ApplicableCalls
from steersman.scheduler.what_if import WhatIfScheduler, isolated_scheduler
from steersman.testing.conformance.devices import listed_devices
from steersman.testing.conformance.group_cluster import GroupWriter, StoredObjects
from steersman.testing.conformance.group_cycles import Document, status_document
from steersman.testing.conformance.group_recorder import CycleRecorder, condition_document
from steersman.testing.conformance.scenarios import with_uid
from steersman.testing.conformance.setting import gates_of_line

_replace = msgspec.structs.replace

GROUP_KINDS: Final = (api.PodGroup, api.CompositePodGroup)
_START: Final = 1_893_456_000.0
_CYCLE_SECONDS: Final = 0.001
_EVICTION_SECONDS: Final = 60.0
_MAX_ROUNDS: Final = 3
_MAX_CYCLES: Final = 80
_MAX_CYCLES_WITH_STEPS: Final = 200
#: Iterations of the event loop after which a task without progress waits for another one.
_MAX_ITERATIONS: Final = 50


def run_group_scenario(scenario: Mapping[str, Any], *, scalar: bool = False) -> Document:
    """Return the result of a scenario with pod groups."""
    with asyncio.Runner() as runner:
        return GroupReplay(scenario, scalar, runner).run()


class GroupReplay:
    """Replay of one scenario."""

    def __init__(self, scenario: Mapping[str, Any], scalar: bool, runner: asyncio.Runner) -> None:
        self._scenario = scenario
        self._runner = runner
        self._clock = ManualClock(_START)
        self._stored = StoredObjects()
        #: Position in the order of arrival by name of a pod.
        self._arrived: dict[str, int] = {}
        self._writer = GroupWriter(self._stored, self._arrived)
        #: Background work of the scheduler that has not begun.
        self._spawned: list[Coroutine[Any, Any, None]] = []
        self._setting = self._make_setting(scalar)
        self._scheduler = self._setting.scheduler
        self._recorder = CycleRecorder(self._stored, self._writer, self._setting.node_names)
        self._scheduler.observe(self._recorder)
        self._round = 0
        #: Victims of the round, also those that were terminating before.
        self._victims: dict[str, None] = {}
        self._cycles: list[Document] = []
        self._queues: list[Document] = []

    def _make_setting(self, scalar: bool) -> WhatIfScheduler:
        gates, document = gates_of_line(self._scenario), self._scenario.get("config")
        configuration = (
            config.default_configuration(gates)
            if document is None
            else config.load(msgspec.json.encode(document).decode(), "scenario", gates)
        )
        options = SchedulerOptions(configuration, gates, scalar=scalar)
        scheduler = isolated_scheduler(
            options, self._clock, FirstByName(0), writer=self._writer, spawn=self._spawned.append
        )
        for name, profile in scheduler.profiles.items():
            # Volumes stay reserved: nothing binds or provisions them.
            calls = ApplicableCalls(call for call in profile.pre_bind if call.name != VolumeBinding.name)
            scheduler.profiles[name] = _replace(profile, pre_bind=calls)
        setting = WhatIfScheduler(scheduler)
        setting.search_all_candidates(detailed=True)
        for preemption in default_preemptions(scheduler.profiles.values()):
            # Evictions are complete before the preemptor is put back.
            preemption.is_asynchronous = False
        return setting

    # -- procedure -------------------------------------------------------------------------------

    def run(self) -> Document:
        for document in self._scenario["objects"]:
            self._stored.put(self._object(document))
        self._deliver()
        for document in self._scenario["pods"]:
            self._clock.advance(1)
            self._create({"apiVersion": "v1", "kind": "Pod", **document})
        steps = self._scenario.get("steps")
        if steps is not None:
            self._queues.append(self._places())
        self._run_rounds()
        for step in steps or ():
            self._apply_step(step)
            self._queues.append(self._places())
            self._run_rounds()
        return self._result()

    def _run_rounds(self) -> None:
        evicts = self._scenario.get("evict", False)
        for _ in range(_MAX_ROUNDS if evicts else 1):
            self._round += 1
            self._run_cycles()
            victims, self._victims = self._victims, {}
            if not evicts or not victims:
                return
            for victim in victims:
                self._stored.delete(api.Pod, victim)
            self._deliver()
            self._pass_time(_EVICTION_SECONDS)

    def _run_cycles(self) -> None:
        limit = _MAX_CYCLES_WITH_STEPS if "steps" in self._scenario else _MAX_CYCLES
        while self._scheduler.queue.contents().active and len(self._cycles) < limit:
            self._clock.advance(_CYCLE_SECONDS)
            self._scheduler.schedule_one()
            self._deliver()
            self._runner.run(self._finish_spawned())
            document = self._recorder.take()
            if document is not None:
                self._cycles.append({**document, "round": self._round})
                preemption = document.get("preemption") or document.get("postFilter") or {}
                self._victims.update(dict.fromkeys(preemption.get("victims", ())))

    async def _finish_spawned(self) -> None:
        """Run background work in its order; the next coroutine starts when the previous one has
        ended or waits."""
        running: list[asyncio.Task[None]] = []
        while self._spawned:
            running.append(asyncio.ensure_future(self._spawned.pop(0)))
            await _advance(running[-1].done)
            self._deliver()
        await _advance(lambda: all(task.done() for task in running))
        for task in running:
            if task.done():
                task.result()
            task.cancel()
        self._deliver()

    def _apply_step(self, step: Mapping[str, Any]) -> None:
        for operation in step["ops"]:
            self._clock.advance(1)
            ((kind, given),) = operation.items()
            _OPERATIONS[kind](self, given)
            self._deliver()
        if step["seconds"]:
            self._pass_time(step["seconds"])

    def _pass_time(self, seconds: float) -> None:
        self._clock.advance(seconds)
        self._scheduler.queue.flush_backoff()

    def _deliver(self) -> None:
        """Pass the changes of objects to the scheduler."""
        while changes := self._stored.take_changes():
            for obj, is_deletion in changes:
                (self._setting.delete if is_deletion else self._setting.change)(obj)

    # -- objects ---------------------------------------------------------------------------------

    def _create(self, document: Document) -> None:
        obj = self._object(document)
        if isinstance(obj, api.Pod):
            self._arrived[api.key(obj)] = len(self._arrived)
        self._stored.put(obj)
        self._deliver()

    def _update(self, document: Document) -> None:
        """Replace an object, except for what the scheduler has written."""
        obj = self._object(document)
        if isinstance(obj, api.Pod):
            old = self._stored.get(api.Pod, api.key(obj))
            if old is not None:
                obj = _replace(obj, spec=_replace(obj.spec, node_name=old.spec.node_name), status=old.status)
        elif isinstance(obj, GROUP_KINDS):
            group = self._stored.get(type(obj), api.key(obj))
            if group is not None:
                obj = _replace(obj, status=_replace(obj.status, conditions=group.status.conditions))
        self._stored.put(obj)

    def _delete(self, target: Mapping[str, str]) -> None:
        kind = _KINDS.get(target["kind"]) or api.KINDS[target["kind"]]
        namespace = target.get("namespace", "default") if kind.NAMESPACED else ""
        self._stored.delete(kind, f"{namespace}/{target['name']}" if namespace else target["name"])

    def _object(self, document: Mapping[str, Any]) -> api.Object:
        return codec.convert_object(with_uid(document), GROUP_KINDS)

    # -- results ---------------------------------------------------------------------------------

    def _result(self) -> Document:
        groups = [(api.key(group), condition_document(group)) for group in self._stored.by_name(api.PodGroup)]
        result: Document = {
            "cycles": self._cycles,
            "final": [self._final(pod) for pod in self._arrived],
            "groups": [{"group": key, "condition": one} if one else {"group": key} for key, one in groups],
        }
        if self._queues:
            result["queues"] = self._queues
        if claims := [_claim_document(claim) for claim in self._stored.by_name(api.ResourceClaim)]:
            result["claims"] = claims
        return result

    def _final(self, name: str) -> Document:
        pod = self._stored.get(api.Pod, name)
        if pod is None:
            return {"pod": name, "gone": True}
        if pod.spec.node_name:
            return {"pod": name, "node": pod.spec.node_name}
        document: Document = {"pod": name, "queue": self._place(pod)}
        if pod.status.nominated_node_name:
            document["nominatedNode"] = pod.status.nominated_node_name
        gate = self._setting.gate(self._setting.info(pod))
        if gate is not None:
            document["preEnqueue"] = status_document(gate)
        return document

    def _places(self) -> Document:
        return {api.key(pod): self._place(pod) for pod in self._pending()}

    def _pending(self) -> Iterator[api.Pod]:
        return (pod for pod in self._stored.by_name(api.Pod) if not pod.spec.node_name)

    def _place(self, pod: api.Pod) -> str:
        return self._scheduler.queue.place_of(api.key(pod)) or "none"


_KINDS: Final[Mapping[str, type[api.Object]]] = {kind.KIND: kind for kind in GROUP_KINDS}
_OPERATIONS: Final[Mapping[str, Callable[[GroupReplay, Any], None]]] = {
    "create": GroupReplay._create,
    "update": GroupReplay._update,
    "delete": GroupReplay._delete,
}


async def _advance(is_over: Callable[[], bool]) -> None:
    """Run the event loop until the condition holds, or tasks can only wait."""
    for _ in range(_MAX_ITERATIONS):
        if is_over():
            return
        await asyncio.sleep(0)


def _claim_document(claim: api.ResourceClaim) -> Document:
    users = sorted(f"{user.resource}/{user.name}" for user in claim.status.reserved_for)
    document: Document = {"claim": api.key(claim)}
    if claim.status.allocation is not None:
        document["allocation"] = listed_devices(claim.status.allocation)
    return {**document, "reservedFor": users} if users else document
