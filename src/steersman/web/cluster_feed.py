# SPDX-License-Identifier: Apache-2.0
"""The stream of the cluster page: one difference per tick for all clients, computed and encoded once.

    loop that schedules                     loop of the server
      ClusterSource.changes ◄── ask ──── ClusterFeed._tick ─► encoded difference ─► backlog ─► every client, as fast as it reads

While nobody is connected nothing is computed. A client that lags behind the backlog gets a new snapshot, so that nobody waits
for it and nothing is kept for it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from steersman.assembly import Scheduler
from steersman.observe import beside_scheduling
from steersman.serving import Ask
from steersman.web.answers import ClockPart, EventRow, LaneCounts, TaintPart, WebPart, lane_counts, lane_of
from steersman.web.attempt_feed import AttemptFeed, DecisionRates, NotedDecision, RateWindow
from steersman.web.event_rows import EventRows
from steersman.web.node_columns import ClusterTotals, NodeColumns, NodeCopies, NodeMirror, NodeRow, UsedRows

TICK_SECONDS: Final = 0.2
MOST_MOVES: Final = 200
MOST_EVENTS: Final = 50
"""So many events of kubelets, and so many of others, are told at once."""
MOST_STREAMS: Final = 64
STREAM_SECONDS: Final = 300.0
"""A stream ends after so long, and the client connects anew: whoever has lost the right to look is turned away then."""
KEEP_ALIVE_SECONDS: Final = 15.0
KEEP_ALIVE: Final = b": keep-alive\n\n"
_BACKLOG_BYTES: Final = 1 << 20


class LaneMove(WebPart, frozen=True, omit_defaults=True):
    """A pod that left a lane. `to` is a lane, "bound" or "gone"."""

    pod: str
    at: float
    from_: str = msgspec.field(name="from")
    to: str
    node: str = ""


class ClusterSnapshot(WebPart, frozen=True):
    """Everything that the cluster page shows."""

    epoch: str
    seq: int
    now: float
    resources: tuple[str, ...]
    taint_sets: list[list[TaintPart]]
    nodes: NodeColumns
    totals: ClusterTotals
    lanes: LaneCounts
    rates: DecisionRates
    events: list[EventRow]
    clock: ClockPart | msgspec.UnsetType | None = msgspec.UNSET


class ClusterDiff(WebPart, frozen=True, omit_defaults=True):
    """The changes of the cluster from the sequence number `from` to `seq`; fields that are left out have not changed."""

    from_: int = msgspec.field(name="from")
    seq: int
    now: float
    used: UsedRows | None = None
    nodes: tuple[NodeRow, ...] = ()
    removed: tuple[int, ...] = ()
    resources: tuple[str, ...] = ()
    totals: ClusterTotals | None = None
    lanes: LaneCounts | None = None
    rates: DecisionRates | None = None
    moves: tuple[LaneMove, ...] = ()
    moves_omitted: int = 0
    events: tuple[EventRow, ...] = ()
    clock: ClockPart | None = None


class ClusterFigures(NamedTuple):
    """The numbers of the page besides those of single nodes."""

    totals: ClusterTotals
    lanes: LaneCounts
    rates: DecisionRates
    clock: ClockPart | None


class RowChanges(NamedTuple):
    """Rows of the node table, sorted: those whose pods changed, and those whose node came, changed or went."""

    used: list[int]
    nodes: list[int]


class ClusterState(NamedTuple):
    """The parts of a snapshot, copied at one moment."""

    now: float
    nodes: NodeCopies
    figures: ClusterFigures
    events: list[EventRow]


class ClusterChanges(NamedTuple):
    """The news since the last time. `diff` None: there are none. `is_broken`: too much for a difference."""

    diff: ClusterDiff | None
    is_broken: bool
    #: Asked for, and of the moment at which the difference ends.
    state: ClusterState | None


class ClusterSource:
    """Reads the scheduler, in the loop that schedules."""

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
        self._window = RateWindow(scheduler.clock.now())
        self._position = scheduler.cache.nodes.log.end
        self._node_position = scheduler.cache.nodes.node_log.end
        self._last_event = 0
        self._seq = 0
        #: What clients have been told last.
        self._shown: ClusterFigures | None = None

    @property
    def seq(self) -> int:
        return self._seq

    def changes(self, with_state: bool) -> ClusterChanges:
        """The news since the last call, and the whole state, if it is wanted."""
        now, decisions = self._scheduler.clock.now(), self._attempts.taken()
        rows = self._changed_rows()
        resources = () if rows is not None and not rows.nodes else self._mirror.new_resources()
        lanes = lane_counts(self._scheduler.queue)
        rates = self._window.rates(decisions, now)
        figures = ClusterFigures(self._mirror.totals(lanes.total), lanes, rates, self._clock())
        events, self._last_event = self._events.since(self._last_event, MOST_EVENTS)
        diff = None
        if rows is not None:
            diff = self._diff(now, rows, figures, resources, [self._move(each) for each in decisions], events)
        is_new = diff is None or _says_something(diff)
        if is_new:
            self._seq += 1
            self._shown = figures
        state = None
        if with_state:
            state = ClusterState(now, self._mirror.copies(), figures, self._events.recent(MOST_EVENTS))
        return ClusterChanges(diff if is_new else None, rows is None, state)

    def _changed_rows(self) -> RowChanges | None:
        """The rows of the node table that changed since the last time; None when that is too long ago to tell."""
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
            rates=figures.rates if before is None or figures.rates != before.rates else None,
            moves=tuple(moves[:MOST_MOVES]),
            moves_omitted=max(0, len(moves) - MOST_MOVES),
            events=tuple(events),
            clock=figures.clock if before is None or _differ(figures.clock, before.clock) else None,
        )

    def _move(self, decision: NotedDecision) -> LaneMove:
        if decision.outcome == "scheduled":
            return LaneMove(pod=decision.pod, at=decision.at, from_="inFlight", to="bound", node=decision.node)
        queued = self._scheduler.queue.get(decision.pod)
        lane = "gone" if queued is None else lane_of(queued)
        return LaneMove(pod=decision.pod, at=decision.at, from_="inFlight", to=lane)


def _differ(now: ClockPart | None, before: ClockPart | None) -> bool:
    """Whether a clock was set; that time passes is no news."""
    if now is None or before is None:
        return now is not before
    return (now.paused, now.stepping, now.speed) != (before.paused, before.stepping, before.speed)


def _says_something(diff: ClusterDiff) -> bool:
    fields = (diff.used, diff.totals, diff.lanes, diff.rates, diff.clock, diff.resources)
    return any(fields) or any((diff.nodes, diff.removed, diff.moves, diff.events))


class _Backlog:
    """Encoded differences by sequence number, as many as fit."""

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
        """All after the number; None when they are not all there."""
        if not self._pieces or self._pieces[0][0] > seq + 1:
            return None
        return b"".join(piece for number, piece in self._pieces if number > seq)


class ClusterFeed:
    """The differences of a source, for all who listen. Belongs to the loop of the server."""

    def __init__(self, source: ClusterSource, ask: Ask, tick_seconds: float = TICK_SECONDS) -> None:
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
        return self._clients >= MOST_STREAMS

    async def run(self) -> None:
        """Ticks while anybody listens, until it is cancelled. Where nothing happens clients hear that they are connected."""
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
        """Looks for what is new, and tells those who listen."""
        async with self._turn:
            await self._tick_in_turn(with_state=False)

    def close(self) -> None:
        """Streams end."""
        self._closed = True
        self._announce()

    async def snapshot(self) -> bytes:
        """All there is, as JSON."""
        return (await self._current())[1]

    async def pieces(self, epoch: str, since: int | None) -> AsyncIterator[bytes]:
        """Server-sent events for one client, until the stream has gone on for long enough."""
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
        """A snapshot with its sequence number; those who ask at the same time share it."""
        asked = time.monotonic()
        async with self._turn:
            made = self._snapshot
            if made is not None and made[0] == self._seq and self._made_at >= asked - self._tick_seconds:
                return made
            state = await self._tick_in_turn(with_state=True)
            assert state is not None, "a state was asked for"
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
            figures.rates,
            state.events,
            msgspec.UNSET if figures.clock is None else figures.clock,
        )


def _event(name: str, seq: int, data: bytes) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, name.encode(), data)
