# SPDX-License-Identifier: Apache-2.0
"""Replicas that a simulation has placed together, as one frame: `simulation_recorder` writes it, and the reader makes decisions
and bindings of it again, one of each for every replica (`expanded_replicas`).

The replicas of a run differ in little more than their names and nodes. So what they share stands in the frame once, and each
of them is a short array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final
from zlib import crc32

import msgspec

from steersman.cycle.decision import Failed, Scheduled, Unschedulable
from steersman.engine.totals_digest import DigestedTotals
from steersman.graph_copy import copied_attributes, no_value
from steersman.queue import QueuedPodInfo
from steersman.record.decisions import DecisionObserver, Tell, decision_frame
from steersman.record.frames import BindingBody, Frame, FrameError, FrameKind, PlacedPod
from steersman.record.segments import name_hash

_POD_HASH: Final = name_hash("pod/")
MOST_COMMAS: Final = 1 << 16
"""A frame of replicas has fewer, so that a reader's memory is bounded. Schedulers place some dozens together."""


class PlacedBody(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Replicas that were placed at one time by one profile."""

    profile: str
    at: float
    replicas: list[PlacedPod]
    #: The uids of those that were not bound at once: frames of their own say what became of them.
    not_bound: list[str] = []


@copied_attributes(
    _tell=no_value, _now=no_value, _evaluation=no_value, _evaluated=no_value, _tell_replicas=no_value, _placed=no_value
)
class ReplicaObserver(DecisionObserver):
    """Tells every decision and binding of a scheduler, those of replicas that are placed together as one frame. The copy of a
    fork is silent."""

    def __init__(self, now: Callable[[], float], tell: Tell, tell_replicas: Callable[[PlacedReplicas], None]) -> None:
        super().__init__(now, tell)
        self._tell_replicas = tell_replicas
        #: Replicas that are being bound.
        self._placed: PlacedReplicas | None = None

    def placed(
        self, queued: Sequence[QueuedPodInfo], decisions: Sequence[Scheduled], totals: Sequence[DigestedTotals | None]
    ) -> None:
        if self._now is not None:
            self._placed = PlacedReplicas(self._now(), queued, decisions, totals)

    def bound(self, decision: Scheduled) -> None:
        placed = self._placed
        if placed is not None and decision.pod.uid in placed.waiting:
            placed.waiting.discard(decision.pod.uid)
        else:
            super().bound(decision)

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        self.all_carried_out()  # so that decisions are told before what became of them
        super().failed(queued, decision)

    def all_carried_out(self) -> None:
        placed, self._placed = self._placed, None
        if placed is not None:
            self._tell_replicas(placed)


class PlacedReplicas:
    """Replicas that have got nodes, and are being bound."""

    def __init__(
        self,
        at: float,
        queued: Sequence[QueuedPodInfo],
        decisions: Sequence[Scheduled],
        totals: Sequence[DigestedTotals | None],
    ) -> None:
        self._at = at
        self._queued = queued
        self._decisions = decisions
        self._totals = totals
        #: The uids of those that are not bound.
        self.waiting = {decision.pod.uid for decision in decisions}

    def __len__(self) -> int:
        return len(self._decisions)

    def frame(self, time: float) -> Frame:
        """The frame of all of them."""
        told = zip(self._decisions, self._queued, self._totals, strict=True)
        replicas = [PlacedPod.of(decision, queued.attempts, totals) for decision, queued, totals in told]
        hashes = {crc32(replica.pod.encode(errors="replace"), _POD_HASH) for replica in replicas}
        hashes.update([_node_hash(replica.node) for replica in replicas])
        body = PlacedBody(self._decisions[0].profile, self._at, replicas, sorted(self.waiting))
        return Frame(FrameKind.PLACED, time, (), msgspec.json.encode(body), name_hashes=hashes)


@lru_cache(maxsize=1 << 14)
def _node_hash(name: str) -> int:
    return name_hash(f"node/{name}")


def expanded_replicas(frame: Frame) -> Iterator[Frame]:
    """A decision and, where it was bound, a binding of each replica. Raises `FrameError`."""
    if frame.body.count(b",") > MOST_COMMAS:
        raise FrameError("a frame has more replicas than any writer puts into one")
    try:
        body = msgspec.json.decode(frame.body, type=PlacedBody)
    except (ValueError, RecursionError) as error:  # msgspec's and Unicode's errors are ValueErrors
        raise FrameError(f"replicas cannot be read: {error}") from error
    for one in body.replicas:
        yield decision_frame(one.decision(body.profile, body.at), frame.time, frame.number)
        if one.uid not in body.not_bound:
            yield decision_frame(BindingBody(one.pod, one.uid, one.node), frame.time, frame.number)
