# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a chaos run, and when: decided from the seed before the run begins, so that it can be repeated.

A run of `minutes` has four parts. It begins and ends with load and no fault, to compare latencies. Between them comes first
a lasting part, in which no fault ends a process by design, so that memory can be followed for long; then a rough part with
everything. `chaos_run` carries the schedule out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

LEASE_SECONDS: Final = 6.0
RENEW_DEADLINE_SECONDS: Final = 4.0
RETRY_SECONDS: Final = 1.0

LEADER, STANDBY, SERVER, BOTH = "leader", "standby", "server", "both"
MOST_AT_ONCE: Final = 3
"""So many faults may be in force at the same time."""
_SECONDS_PER_FAULT: Final = 7.0
_LASTING_SHARE: Final = 0.6
_RECOVERY_SECONDS: Final = LEASE_SECONDS + 2 * RETRY_SECONDS
"""Between two faults that may cost the lease: a cluster that never has a leader shows nothing."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """`shortest` and `longest` are bounds of the duration in seconds."""

    name: str
    target: str
    shortest: float
    longest: float
    #: Takes the lease from a leader, or its process: not a part of the lasting part.
    costs_the_lease: bool = False
    #: Of two faults that break the same thing only one is in force.
    breaks: str = ""


#: A pause below the deadline of renewal and above the lease; a server that is away for a moment and for long.
_SHORT_OUTAGE = (0.5, 1.5)
_LONG_OUTAGE = (5.0, 9.0)
_SLEEP = (LEASE_SECONDS + 2.5, LEASE_SECONDS + 6.0)

KINDS: Final = (
    FaultKind("leader-killed", LEADER, 0.0, 0.0, costs_the_lease=True, breaks="replicas"),
    FaultKind("leader-asleep", LEADER, *_SLEEP, costs_the_lease=True, breaks="replicas"),
    FaultKind("leader-terminated", LEADER, 0.0, 0.0, costs_the_lease=True, breaks="replicas"),
    FaultKind("standby-killed", STANDBY, 0.0, 0.0, costs_the_lease=True, breaks="replicas"),
    FaultKind("leader-drowsy", LEADER, 0.5, 2.0, breaks="replicas"),
    FaultKind("api-server-killed", SERVER, 0.0, 0.5, costs_the_lease=True, breaks="server"),
    FaultKind("api-server-away", SERVER, *_LONG_OUTAGE, costs_the_lease=True, breaks="server"),
    FaultKind("api-server-paused", SERVER, *_SHORT_OUTAGE, breaks="server"),
    FaultKind("api-server-asleep", SERVER, *_LONG_OUTAGE, costs_the_lease=True, breaks="server"),
    FaultKind("etcd-paused", SERVER, *_SHORT_OUTAGE, breaks="server"),
    FaultKind("etcd-asleep", SERVER, *_LONG_OUTAGE, costs_the_lease=True, breaks="server"),
    FaultKind("etcd-killed", SERVER, 0.0, 0.5, costs_the_lease=True, breaks="server"),
    FaultKind("watches-cut", BOTH, 3.0, 8.0, breaks="watches"),
    FaultKind("watches-expired", BOTH, 3.0, 8.0, breaks="watches"),
    FaultKind("refusals-429", BOTH, 4.0, 10.0, breaks="answers"),
    FaultKind("refusals-500", BOTH, 4.0, 10.0, breaks="answers"),
    FaultKind("slow-answers", BOTH, 4.0, 10.0, breaks="answers"),
    FaultKind("lost-answers", BOTH, 4.0, 10.0, breaks="answers"),
    FaultKind("clock-jump", LEADER, 0.0, 0.0),
    FaultKind("nested-claim", SERVER, 10.0, 30.0),
    FaultKind("cel-quantity", SERVER, 10.0, 20.0, breaks="devices"),
    FaultKind("cel-find-all", SERVER, 10.0, 20.0, breaks="devices"),
    FaultKind("cel-matches", SERVER, 10.0, 20.0, breaks="devices"),
    FaultKind("device-search", SERVER, 10.0, 20.0, breaks="devices"),
    FaultKind("many-selectors", SERVER, 10.0, 20.0),
    FaultKind("large-metadata", SERVER, 10.0, 30.0),
    FaultKind("odd-quantities", SERVER, 10.0, 30.0),
    FaultKind("silent-connections", BOTH, 8.0, 15.0, breaks="port"),
    FaultKind("half-heads", BOTH, 8.0, 15.0, breaks="port"),
    FaultKind("random-tokens", BOTH, 5.0, 10.0, breaks="port"),
    FaultKind("slow-readers", BOTH, 8.0, 15.0, breaks="port"),
    FaultKind("nodes-deleted", SERVER, 5.0, 15.0),
    FaultKind("namespace-deleted", SERVER, 0.0, 0.0),
)
KINDS_BY_NAME: Final = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """`begin` and `seconds` count from the start of the run."""

    number: int
    kind: FaultKind
    begin: float
    seconds: float

    @property
    def end(self) -> float:
        return self.begin + self.seconds


@dataclass(frozen=True, slots=True)
class RunParts:
    """Where the parts of a run begin, in seconds from its start."""

    lasting: float
    rough: float
    quiet: float
    end: float


@dataclass(frozen=True, slots=True)
class FaultSchedule:
    seed: int
    parts: RunParts
    faults: tuple[PlannedFault, ...]

    def lines(self) -> Iterator[str]:
        """As a table for the terminal."""
        parts = self.parts
        yield (
            f"seed {self.seed}: quiet to {parts.lasting:.0f} s, lasting part to {parts.rough:.0f} s, "
            f"rough part to {parts.quiet:.0f} s, quiet to {parts.end:.0f} s; {len(self.faults)} faults"
        )
        yield f"{'#':>4} {'at s':>7} {'for s':>6}  {'fault':20} target"
        for fault in self.faults:
            row = f"{fault.number:4} {fault.begin:7.1f} {fault.seconds:6.1f}  {fault.kind.name:20} {fault.kind.target}"
            yield row


def run_parts(minutes: float) -> RunParts:
    end = 60.0 * minutes
    quiet = min(max(0.15 * end, 15.0), 120.0)
    middle = end - 2 * quiet
    return RunParts(quiet, quiet + _LASTING_SHARE * middle, end - quiet, end)


def plan_faults(minutes: float, seed: int, kinds: Sequence[FaultKind] = KINDS) -> FaultSchedule:
    """Every kind comes up before any comes up again, as far as there is time and the part of the run allows it."""
    chance = random.Random(seed)
    parts = run_parts(minutes)
    lasting = [kind for kind in kinds if not kind.costs_the_lease]
    planned: list[PlannedFault] = []
    _fill(planned, lasting, [], parts.lasting, parts.rough, chance)
    _fill(planned, lasting, [kind for kind in kinds if kind.costs_the_lease], parts.rough, parts.quiet, chance)
    planned.sort(key=lambda fault: fault.begin)
    numbered = (PlannedFault(n, fault.kind, fault.begin, fault.seconds) for n, fault in enumerate(planned, 1))
    return FaultSchedule(seed, parts, tuple(numbered))


def _fill(
    planned: list[PlannedFault],
    mild: Sequence[FaultKind],
    severe: Sequence[FaultKind],
    begin: float,
    end: float,
    chance: random.Random,
) -> None:
    """Faults between `begin` and `end`: severe ones when the cluster has recovered from the last of them, else mild ones."""
    decks = [FaultDeck(severe, chance), FaultDeck(mild, chance)]
    now = begin
    while now < end:
        for deck in decks:
            fault = deck.draw(now, lambda drawn: _fits(drawn, planned, end))
            if fault is not None:
                planned.append(fault)
                break
        now += chance.uniform(0.4, 1.6) * _SECONDS_PER_FAULT


class FaultDeck:
    """Kinds in a random order; each comes up before any comes up again."""

    def __init__(self, kinds: Sequence[FaultKind], chance: random.Random) -> None:
        self._kinds = kinds
        self._chance = chance
        self._left: list[FaultKind] = []

    def draw(self, now: float, fits: Callable[[PlannedFault], bool]) -> PlannedFault | None:
        """The next one that fits; those that do not stay where they are."""
        if not self._left:
            self._left = self._chance.sample(self._kinds, len(self._kinds))
        for kind in self._left:
            drawn = _drawn(kind, now, self._chance)
            if fits(drawn):
                self._left.remove(kind)
                return drawn
        return None


def _drawn(kind: FaultKind, now: float, chance: random.Random) -> PlannedFault:
    return PlannedFault(0, kind, round(now, 1), round(chance.uniform(kind.shortest, kind.longest), 1))


def _fits(fault: PlannedFault, planned: Sequence[PlannedFault], end: float) -> bool:
    """It ends in its part, not too much is broken at once, and a cluster that lost its leader has had time for a new one."""
    recovery = _RECOVERY_SECONDS if fault.kind.costs_the_lease else 0.0
    if fault.end + recovery > end:
        return False
    in_force = [other for other in planned if other.end >= fault.begin]
    if len(in_force) >= MOST_AT_ONCE:
        return False
    return not any(_collide(fault, other) for other in planned)


def _collide(fault: PlannedFault, other: PlannedFault) -> bool:
    if fault.kind.breaks and fault.kind.breaks == other.kind.breaks and other.end >= fault.begin:
        return True
    both_cost_the_lease = fault.kind.costs_the_lease and other.kind.costs_the_lease
    return both_cost_the_lease and other.end + _RECOVERY_SECONDS >= fault.begin
