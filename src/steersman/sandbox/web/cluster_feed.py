# SPDX-License-Identifier: Apache-2.0
"""Stream of the cluster page: one difference per tick for all clients, computed and encoded once.

    scheduling thread                       server thread
      ClusterSource.changes ◄── ask ──── ClusterFeed._tick ─► encoded difference ─► backlog ─► each client, at its own speed

Nothing is computed while no client is connected. A client that lags behind the backlog gets a new
snapshot, so that slow clients need no buffers.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from steersman.kube.observe import beside_scheduling
from steersman.kube.serving import LoopRunner
from steersman.sandbox.web.answers import (
    ClockPart,
    EventRow,
    LaneCounts,
    TaintPart,
    WebPart,
    sub_queue_of,
    sub_queue_sizes,
)
from steersman.sandbox.web.attempt_feed import AttemptFeed, NotedDecision, RatePoints
from steersman.sandbox.web.event_rows import EventRows
from steersman.sandbox.web.node_columns import ClusterTotals, NodeColumns, NodeCopies, NodeMirror, NodeRow, UsedRows
from steersman.scheduler.assembly import Scheduler

TICK_SECONDS: Final = 0.2
MAX_MOVES: Final = 200
MAX_EVENTS: Final = 50
"""Maximum number of events in a difference, for kubelets and for other components."""
MAX_STREAMS: Final = 64
STREAM_SECONDS: Final = 300.0
"""Duration of a stream. The client then reconnects, and its access is checked again."""
KEEP_ALIVE_SECONDS: Final = 15.0
KEEP_ALIVE: Final = b": keep-alive\n\n"
_BACKLOG_BYTES: Final = 1 << 20


class LaneMove(WebPart, frozen=True, omit_defaults=True):
    """A pod that left a sub-queue. `to` is a sub-queue, "bound" or "gone"."""

    pod: str
    at: float
    from_: str = msgspec.field(name="from")
    to: str
    node: str = ""


class ClusterSnapshot(WebPart, frozen=True):
    """All data of the cluster page."""

    epoch: str
    seq: int
    now: float
    resources: tuple[str, ...]
    taint_sets: list[list[TaintPart]]
    nodes: NodeColumns
    totals: ClusterTotals
    lanes: LaneCounts
    rate_points: RatePoints
    events: list[EventRow]
    clock: ClockPart | msgspec.UnsetType | None = msgspec.UNSET


class ClusterDiff(WebPart, frozen=True, omit_defaults=True):
    """Changes of the cluster from the sequence number `from` to `seq`; missing fields have not
    changed."""

    from_: int = msgspec.field(name="from")
    seq: int
    now: float
    used: UsedRows | None = None
    nodes: tuple[NodeRow, ...] = ()
    removed: tuple[int, ...] = ()
    resources: tuple[str, ...] = ()
    totals: ClusterTotals | None = None
    lanes: LaneCounts | None = None
    rate_points: RatePoints | None = None
    moves: tuple[LaneMove, ...] = ()
    moves_omitted: int = 0
    events: tuple[EventRow, ...] = ()
    clock: ClockPart | None = None


class ClusterFigures(NamedTuple):
    """Numbers of the page besides those of single nodes."""

    totals: ClusterTotals
    lanes: LaneCounts
    clock: ClockPart | None


class RowChanges(NamedTuple):
    """Sorted rows of the node table whose pods changed, and whose node was added, changed or
    deleted."""

    used: list[int]
    nodes: list[int]


class ClusterState(NamedTuple):
    """Parts of a snapshot, copied at one time."""

    now: float
    nodes: NodeCopies
    figures: ClusterFigures
    rate_points: RatePoints
    events: list[EventRow]


class ClusterChanges(NamedTuple):
    """Changes since the last call. `diff` is None if there are none; `is_broken` if there are too
    many for a difference."""

    diff: ClusterDiff | None
    is_broken: bool
    #: Statistics on request, for the time at which the difference ends.
    state: ClusterState | None


class ClusterSource:
    """Reads the scheduler, in the scheduling thread."""

    def __init__(
        self,
        scheduler: Scheduler,
        attempts: AttemptFeed,
        events: EventRows,
        clock: Callable[[], ClockPart | None] = lambda: None,
    ) -> None:
        self._scheduler = scheduler
        self._attempts = attempts
        self._events = events
        self._clock = clock
        self._mirror = NodeMirror(scheduler.cache.nodes)
        #: Time up to which clients have the decisions by second.
        self._rated_until = scheduler.clock.now()
        self._position = scheduler.cache.nodes.log.end
        self._node_position = scheduler.cache.nodes.node_log.end
        self._last_event = 0
        self._seq = 0
        #: State that clients have.
        self._shown: ClusterFigures | None = None

    @property
    def seq(self) -> int:
        return self._seq

    def changes(self, with_state: bool) -> ClusterChanges:
        """Return the changes since the last call, and the whole state if requested."""
        now, decisions = self._scheduler.clock.now(), self._attempts.taken()
        rows = self._changed_rows()
        resources = () if rows is not None and not rows.nodes else self._mirror.new_resources()
        lanes = sub_queue_sizes(self._scheduler.queue)
        figures = ClusterFigures(self._mirror.totals(lanes.total), lanes, self._clock())
        events, self._last_event = self._events.since(self._last_event, MAX_EVENTS)
        diff = None
        if rows is not None:
            diff = self._diff(now, rows, figures, resources, [self._move(each) for each in decisions], events)
        is_new = diff is None or _says_something(diff)
        if is_new:
            self._seq += 1
            self._shown = figures
        state = None
        if with_state:
            points = self._attempts.history.points()
            state = ClusterState(now, self._mirror.copies(), figures, points, self._events.recent(MAX_EVENTS))
        return ClusterChanges(diff if is_new else None, rows is None, state)

    def _changed_rows(self) -> RowChanges | None:
        """Return the rows of the node table that changed since the last call; None if that is too
        long ago."""
        table = self._scheduler.cache.nodes
        rows, node_rows = table.log.since(self._position), table.node_log.since(self._node_position)
        self._position, self._node_position = table.log.end, table.node_log.end
        if rows is None or node_rows is None:
            return None
        used = sorted(row for row in set(rows).difference(node_rows) if table.alive[row])
        return RowChanges(used, sorted(node_rows))

    def _diff(
        self,
        now: float,
        rows: RowChanges,
        figures: ClusterFigures,
        resources: tuple[str, ...],
        moves: Sequence[LaneMove],
        events: Sequence[EventRow],
    ) -> ClusterDiff:
        alive, before = self._scheduler.cache.nodes.alive, self._shown
        return ClusterDiff(
            from_=self._seq,
            seq=self._seq + 1,
            now=now,
            used=self._mirror.used(rows.used) if rows.used else None,
            nodes=tuple(self._mirror.row(row) for row in rows.nodes if alive[row]),
            removed=tuple(row for row in rows.nodes if not alive[row]),
            resources=resources,
            totals=figures.totals if before is None or figures.totals != before.totals else None,
            lanes=figures.lanes if before is None or figures.lanes != before.lanes else None,
            rate_points=self._new_points(now) if moves else None,
            moves=tuple(moves[:MAX_MOVES]),
            moves_omitted=max(0, len(moves) - MAX_MOVES),
            events=tuple(events),
            clock=figures.clock if before is None or _differ(figures.clock, before.clock) else None,
        )

    def _new_points(self, now: float) -> RatePoints:
        """Return the complete seconds with decisions since the last difference."""
        since, self._rated_until = self._rated_until, now
        return self._attempts.history.points(since)

    def _move(self, decision: NotedDecision) -> LaneMove:
        if decision.outcome == "scheduled":
            return LaneMove(pod=decision.pod, at=decision.at, from_="inFlight", to="bound", node=decision.node)
        queued = self._scheduler.queue.get(decision.pod)
        lane = "gone" if queued is None else sub_queue_of(queued)
        return LaneMove(pod=decision.pod, at=decision.at, from_="inFlight", to=lane)


def _differ(now: ClockPart | None, before: ClockPart | None) -> bool:
    """Return whether a clock was set; passing time is no difference."""
    if now is None or before is None:
        return now is not before
    return (now.paused, now.stepping, now.speed) != (before.paused, before.stepping, before.speed)


def _says_something(diff: ClusterDiff) -> bool:
    fields = (diff.used, diff.totals, diff.lanes, diff.clock, diff.resources)
    return any(fields) or any((diff.nodes, diff.removed, diff.moves, diff.events))


class _Backlog:
    """Latest encoded differences by sequence number, limited in size."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[int, bytes]] = deque()
        self._bytes = 0

    def add(self, seq: int, piece: bytes) -> None:
        self._pieces.append((seq, piece))
        self._bytes += len(piece)
        while self._bytes > _BACKLOG_BYTES and len(self._pieces) > 1:
            self._bytes -= len(self._pieces.popleft()[1])

    def clear(self) -> None:
        self._pieces.clear()
        self._bytes = 0

    def since(self, seq: int) -> bytes | None:
        """Return all differences after the number; None if some are missing."""
        if not self._pieces or self._pieces[0][0] > seq + 1:
            return None
        return b"".join(piece for number, piece in self._pieces if number > seq)


class ClusterFeed:
    """Differences of a source for all clients. Belongs to the server thread."""

    def __init__(self, source: ClusterSource, ask: LoopRunner, tick_seconds: float = TICK_SECONDS) -> None:
        self.epoch = secrets.token_hex(4)
        self._source = source
        self._ask = ask
        self._tick_seconds = tick_seconds
        self._backlog = _Backlog()
        self._seq = 0
        self._clients = 0
        self._wanted = asyncio.Event()
        self._news = asyncio.Event()
        self._turn = asyncio.Lock()
        self._snapshot: tuple[int, bytes] | None = None
        self._made_at = 0.0
        self._told_at = time.monotonic()
        self._closed = False

    @property
    def is_crowded(self) -> bool:
        return self._clients >= MAX_STREAMS

    async def run(self) -> None:
        """Tick while clients are connected, until cancelled. Without changes, clients get a
        keep-alive."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(self._tick_seconds)
            if not self._clients:
                self._wanted.clear()
                continue
            await self.tick()
            if time.monotonic() >= self._told_at + KEEP_ALIVE_SECONDS:
                self._announce()

    async def tick(self) -> None:
        """Collect changes and notify the clients."""
        async with self._turn:
            await self._tick_in_turn(with_state=False)

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        self._announce()

    async def snapshot(self) -> bytes:
        """Return the snapshot as JSON."""
        return (await self._current())[1]

    async def pieces(self, epoch: str, since: int | None) -> AsyncIterator[bytes]:
        """Yield server-sent events for one client until the stream's duration is over."""
        end = time.monotonic() + STREAM_SECONDS
        self._clients += 1
        self._wanted.set()
        try:
            known = since if epoch == self.epoch else None
            while not self._closed and time.monotonic() < end:
                news = self._news
                missed = None if known is None or known > self._seq else self._backlog.since(known)
                if known == self._seq:
                    await news.wait()
                    if known == self._seq and not self._closed:
                        yield KEEP_ALIVE
                elif missed is None:
                    known, body = await self._current()
                    yield _event("snapshot", known, body)
                else:
                    known = self._seq
                    yield missed
        finally:
            self._clients -= 1

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _current(self) -> tuple[int, bytes]:
        """Return a snapshot with its sequence number; concurrent calls share it."""
        requested_at = time.monotonic()
        async with self._turn:
            made = self._snapshot
            if made is not None and made[0] == self._seq and self._made_at >= requested_at - self._tick_seconds:
                return made
            state = await self._tick_in_turn(with_state=True)
            assert state is not None, "a state was requested"
            body = msgspec.json.encode(await self._rendered(state))
            self._snapshot, self._made_at = (self._seq, body), time.monotonic()
            return self._snapshot

    async def _tick_in_turn(self, with_state: bool) -> ClusterState | None:
        async def changes() -> tuple[ClusterChanges, int]:
            return self._source.changes(with_state), self._source.seq

        found, self._seq = await self._ask(changes)
        if found.is_broken:
            self._backlog.clear()
        elif found.diff is not None:
            self._backlog.add(found.diff.seq, _event("diff", found.diff.seq, msgspec.json.encode(found.diff)))
        if found.is_broken or found.diff is not None:
            self._announce()
        return found.state

    def _announce(self) -> None:
        news, self._news = self._news, asyncio.Event()
        self._told_at = time.monotonic()
        news.set()

    async def _rendered(self, state: ClusterState) -> ClusterSnapshot:
        labels = (await beside_scheduling(state.nodes.label_columns()))[-1]
        columns, taint_sets = state.nodes.columns(labels or {})
        figures = state.figures
        return ClusterSnapshot(
            self.epoch,
            self._seq,
            state.now,
            state.nodes.resources,
            taint_sets,
            columns,
            figures.totals,
            figures.lanes,
            state.rate_points,
            state.events,
            msgspec.UNSET if figures.clock is None else figures.clock,
        )


def _event(name: str, seq: int, data: bytes) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, name.encode(), data)
