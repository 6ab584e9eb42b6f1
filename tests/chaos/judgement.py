# SPDX-License-Identifier: Apache-2.0
"""The judgement at the end of a chaos run. Comes in: a `RunRecord`. Goes out: `Findings`, figures and a verdict per rule.

1 every pod that exists is bound or has a reason, and none was ever bound twice
2 nothing was written by a process that did not hold the lease
3 the leader believes what the server has
4 memory is flat in processes that led, or stood by, for long enough
5 latency is the same in the quiet parts at the beginning and at the end
6 no node was given more than it has
7 no process ended for another reason than a fault or a lost lease, and no log shows an error of the program itself
8 what the replicas recorded replays without a difference, also what processes recorded that were killed
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.chaos.chaos_run import RunRecord
from tests.chaos.fault_schedule import LEADER, LEASE_SECONDS
from tests.chaos.kubelets import Overcommitment
from tests.chaos.lease_history import LeaseTerm, UnfencedWrite, leaderless_seconds, lease_terms, unfenced_writes
from tests.chaos.replicas import ProcessLife
from tests.chaos.run_measures import (
    WARM_UP_SECONDS,
    RoleMemory,
    bindings,
    followed_roles,
    latencies,
    latency_of,
    overcommitted,
    quiet_latencies,
    stalls,
)

from steersman.testing.control_plane import bound_to

FLAT_MEMORY: Final = 0.10
#: In a run that is too short to leave five minutes of warming up out: tables fill, and the allocator keeps what it gets.
WARMING_MEMORY: Final = 0.30
#: The end may be slower than the beginning by this factor, or by so many seconds: small times vary more.
SLOWER_P50, SLOWER_P50_SECONDS = 2.0, 0.25
SLOWER_P99, SLOWER_P99_SECONDS = 3.0, 1.0
#: In what a replay tells of a process that was killed.
WAS_KILLED: Final = "was ended without closing its record"
_ENDED_BY_FAULT: Final = {"SIGKILL": {-9}, "SIGTERM": {0, 1}}
LEASE_LOST: Final = 1
_PROGRAM_ERRORS: Final = re.compile(
    r"^(?:Traceback \(most recent call last\)|panic: |fatal error: |.*internal error).*", re.M
)


@dataclass(frozen=True, slots=True)
class Verdict:
    rule: str
    holds: bool
    text: str


@dataclass(slots=True)
class Findings:
    scheduler: str
    verdicts: list[Verdict] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return all(verdict.holds for verdict in self.verdicts)


def judge(record: RunRecord) -> Findings:
    terms = lease_terms(record.requests, LEASE_SECONDS)
    unfenced = unfenced_writes(record.requests, terms)
    found = Findings(record.options.scheduler)
    found.verdicts = [
        judge_pods(record),
        judge_fencing(unfenced),
        Verdict("cache equals server", not record.final.wrong_beliefs, record.final.wrong_beliefs or "equal"),
        judge_memory(record, terms),
        judge_latency(record),
        judge_room(record),
        judge_ends(record),
        *([judge_replays(record)] if record.replays else []),
    ]
    found.figures = _figures(record, terms, unfenced)
    return found


def judge_pods(record: RunRecord) -> Verdict:
    """Rule 1."""
    twice = [name for name, count in bindings(record).items() if count > 1]
    moved = [name for name, nodes in record.nodes_seen.items() if len(nodes) > 1]
    undecided = record.final.undecided
    bound = sum(map(bool, map(bound_to, record.final.pods)))
    text = f"{bound} bound, {len(record.final.pods) - bound - len(undecided)} pending with a reason"
    if undecided:
        text += f"; {len(undecided)} with neither, such as {undecided[0]}"
    if twice or moved:
        text += f"; bound twice: {', '.join([*twice, *moved][:5])}"
    return Verdict("bound once or a reason", not (undecided or twice or moved), text)


def judge_fencing(unfenced: Sequence[UnfencedWrite]) -> Verdict:
    """Rule 2."""
    if not unfenced:
        return Verdict("no write without lease", True, "none")
    kinds = Counter(f"{one.request.verb} {one.request.resource}" for one in unfenced)
    others = sum(one.held_by is not None for one in unfenced)
    text = ", ".join(f"{count} × {kind}" for kind, count in kinds.most_common())
    return Verdict("no write without lease", False, f"{len(unfenced)} ({others} while another held it): {text}")


def judge_memory(record: RunRecord, terms: Sequence[LeaseTerm]) -> Verdict:
    """Rule 4. A run without a process that was leader for long enough shows nothing, and does not pass."""
    followed = followed_roles(record, terms)
    text = "; ".join(
        f"{one.role} {one.process}: {one.first:.0f} → {one.last:.0f} MB ({one.growth:+.0%}) in {one.minutes:.1f} min"
        for one in followed
    )
    if not any(one.role == LEADER for one in followed):
        return Verdict("flat memory", False, f"no process was leader for long enough {text}".strip())
    is_long = record.load_ended - record.began >= 2 * WARM_UP_SECONDS
    limit = FLAT_MEMORY if is_long else WARMING_MEMORY
    return Verdict("flat memory", all(abs(one.growth) <= limit for one in followed), text)


def judge_latency(record: RunRecord) -> Verdict:
    """Rule 5."""
    first, last = quiet_latencies(record)
    text = f"p50 {first.p50:.3f} → {last.p50:.3f} s, p99 {first.p99:.2f} → {last.p99:.2f} s"
    flat = (
        first.probes > 0
        and last.probes > 0
        and last.p50 <= max(SLOWER_P50 * first.p50, first.p50 + SLOWER_P50_SECONDS)
        and last.p99 <= max(SLOWER_P99 * first.p99, first.p99 + SLOWER_P99_SECONDS)
    )
    return Verdict("flat latency", flat, text if last.probes else "no probe was bound in the last part")


def judge_room(record: RunRecord) -> Verdict:
    """Rule 6: at the moment of every binding for CPU, and at the end for everything."""
    at_the_end = overcommitted(record.final.pods, record.final.nodes)
    found = [*(_told(one, record) for one in record.overcommitted), *at_the_end]
    return Verdict("no node overcommitted", not found, "; ".join(found[:5]) or "none")


def _told(found: Overcommitment, record: RunRecord) -> str:
    """With who bound its last pods, and when: what went wrong is between those two."""
    bindings = {
        f"{request.namespace}/{request.name}": request
        for request in record.requests
        if request.resource == "pods/binding" and request.granted
    }
    latest = [(pod, bindings[pod]) for pod in found.pods[-2:] if pod in bindings]
    who = (
        f"{pod} by {request.sender.replica}{request.sender.number} at {request.received - record.began:.2f} s"
        for pod, request in latest
        if request.sender is not None
    )
    return f"{found}, at {found.at - record.began:.1f} s ({', '.join(who)})"


def judge_ends(record: RunRecord) -> Verdict:
    """Rule 7."""
    odd = [f"{life.replica}{life.number}: {life.exit_code}" for life in record.lives if not _expected_end(life)]
    odd += [f"{name} when asked to end: {code}" for name, code in record.last_exit_codes.items() if code != 0]
    errors = [found for log in record.logs.values() for found in _PROGRAM_ERRORS.findall(log)]
    lost = sum(life.exit_code == LEASE_LOST for life in record.lives)
    text = f"{lost} exits with a lost lease"
    if odd:
        text += f"; unexpected exit codes {', '.join(odd[:6])}"
    if errors:
        text += f"; {len(errors)} errors of the program in the logs: {errors[0][:80]}"
    return Verdict("exit codes and logs", not odd and not errors, text)


def judge_replays(record: RunRecord) -> Verdict:
    """Rule 8. Processes that were killed leave no closed record; nothing else may be missing."""
    recorded = sum(found.recorded for found in record.replays.values())
    same = sum(found.same for found in record.replays.values())
    text = f"{same} of {recorded} decisions are the same"
    wrong = [
        f"{name}: {difference.pod}: {difference.differs}"
        for name, found in record.replays.items()
        for difference in found.differences
    ]
    notes = [
        f"{name}: {note}" for name, found in record.replays.items() for note in found.notes if WAS_KILLED not in note
    ]
    text += "".join(f"; {problem}" for problem in [*wrong, *notes][:5])
    return Verdict("records replay", bool(recorded) and same == recorded and not wrong and not notes, text)


def _expected_end(life: ProcessLife) -> bool:
    if life.exit_code is None or life.exit_code == LEASE_LOST:
        return True
    return life.exit_code in _ENDED_BY_FAULT.get(life.ended_by, set())


def _figures(record: RunRecord, terms: Sequence[LeaseTerm], unfenced: Sequence[UnfencedWrite]) -> dict[str, Any]:
    seconds = record.load_ended - record.began
    bound = len(bindings(record))
    granted_to_replicas = [request for request in record.requests if request.sender is not None and request.granted]
    all_latencies = latency_of([waited for _, waited in latencies(record)])
    first, last = quiet_latencies(record)
    stopped = stalls(record)
    ends = Counter(str(life.exit_code) for life in record.lives if life.exit_code is not None)
    return {
        "minutes": round(seconds / 60, 1),
        "faults": len(record.faults),
        "pods created": sum(one.resource == "pods" and one.sender is None and one.granted for one in record.requests),
        "pods bound": bound,
        "pods bound per second": round(bound / seconds, 2),
        "victims of preemption": sum(one.resource == "pods" and one.verb == "delete" for one in granted_to_replicas),
        "pods of deleted nodes": record.orphans,
        "processes": len(record.lives),
        "exit codes": dict(sorted(ends.items())),
        "leases": len(terms),
        "seconds without a leader": round(leaderless_seconds(terms, record.began, record.load_ended), 1),
        "longest time without a binding s": round(max((stall.seconds for stall in stopped), default=0.0), 1),
        "stalls": stopped,
        "writes without the lease": len(unfenced),
        "of them while another held it": sum(one.held_by is not None for one in unfenced),
        "probes of /livez without an answer": {name: len(times) for name, times in record.unanswered_probes.items()},
        "memory": [_memory_figures(one) for one in followed_roles(record, terms)],
        "most memory MB": round(max((size for life in record.lives for _, size in life.memory), default=0) / 1e6),
        "latency at the start p50, p99 s": [round(first.p50, 4), round(first.p99, 3)],
        "latency at the end p50, p99 s": [round(last.p50, 4), round(last.p99, 3)],
        "latency of all probes p50, p99 s": [round(all_latencies.p50, 4), round(all_latencies.p99, 2)],
        "seconds to settle": record.final.settled_seconds and round(record.final.settled_seconds, 1),
    }


def _memory_figures(followed: RoleMemory) -> dict[str, Any]:
    return {
        "process": followed.process,
        "role": followed.role,
        "minutes": round(followed.minutes, 1),
        "first MB": round(followed.first, 1),
        "last MB": round(followed.last, 1),
        "most MB": round(followed.most, 1),
        "MB per minute": round(followed.slope, 2),
    }
