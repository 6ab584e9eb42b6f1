"""The judgement at the end of a chaos run. Comes in: a `RunRecord`. Goes out: `Findings`, figures and a verdict per rule.

1 every pod that exists is bound or has a reason, and none was ever bound twice
2 nothing was written by a process that did not hold the lease
3 the leader believes what the server has
4 memory is flat in processes that lived long enough
5 latency is the same in the quiet parts at the beginning and at the end
6 no node was given more than it has
7 no process ended for another reason than a fault or a lost lease, and no log shows an error of the program itself
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median, quantiles
from typing import Any, Final

from tests.chaos.chaos_run import RunRecord
from tests.chaos.fault_schedule import LEASE_SECONDS
from tests.chaos.lease_history import LeaseTerm, UnfencedWrite, leaderless_seconds, lease_terms, unfenced_writes
from tests.chaos.pod_templates import PROBE
from tests.chaos.replicas import ProcessLife

from steersman.api.quantity import milli_value_of
from steersman.testing.control_plane import JsonObject, bound_to

FLAT_MEMORY: Final = 0.10
#: Minutes of a life that do not count, or this share of a shorter run.
WARM_UP_SECONDS, WARM_UP_SHARE = 300.0, 1 / 3
#: The shortest time after that over which memory says something, as a share of the run.
FOLLOWED_SHARE: Final = 0.15
#: The end may be slower than the beginning by this factor, or by so many seconds: small times vary more.
SLOWER_P50, SLOWER_P50_SECONDS = 2.0, 0.1
SLOWER_P99, SLOWER_P99_SECONDS = 3.0, 1.0
_ENDED_BY_FAULT: Final = {"SIGKILL": {-9}, "SIGTERM": {0, 1}}
LEASE_LOST: Final = 1
STALL_SECONDS: Final = 5.0
_PROGRAM_ERRORS: Final = re.compile(
    r"^(?:Traceback \(most recent call last\)|panic: |fatal error: |.*internal error).*", re.M
)


@dataclass(frozen=True, slots=True)
class Verdict:
    rule: str
    holds: bool
    text: str


@dataclass(frozen=True, slots=True)
class LifeMemory:
    """Of a process that was followed for long enough: MB at the first and the last of it, the most, and the slope."""

    replica: str
    number: int
    minutes: float
    first: float
    last: float
    most: float
    slope: float

    @property
    def growth(self) -> float:
        return self.last / self.first - 1


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds from the creation of a probe to its binding."""

    probes: int
    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Stall:
    """`begin` is counted from the start of the run, in seconds."""

    begin: float
    seconds: float
    faults: list[str]


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
        judge_memory(record),
        judge_latency(record),
        judge_room(record),
        judge_ends(record),
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


def bindings(record: RunRecord) -> Counter[str]:
    """How often each pod, by namespace/name, was bound."""
    granted = (one for one in record.requests if one.resource == "pods/binding" and one.granted)
    return Counter(f"{request.namespace}/{request.name}" for request in granted)


def judge_fencing(unfenced: Sequence[UnfencedWrite]) -> Verdict:
    """Rule 2."""
    if not unfenced:
        return Verdict("no write without lease", True, "none")
    kinds = Counter(f"{one.request.verb} {one.request.resource}" for one in unfenced)
    others = sum(one.held_by is not None for one in unfenced)
    text = ", ".join(f"{count} × {kind}" for kind, count in kinds.most_common())
    return Verdict("no write without lease", False, f"{len(unfenced)} ({others} while another held it): {text}")


def judge_memory(record: RunRecord) -> Verdict:
    """Rule 4. A run without a process that lived long enough shows nothing, and does not pass."""
    followed = followed_lives(record.lives, record.load_ended - record.began, record.load_ended)
    if not followed:
        return Verdict("flat memory", False, "no process lived long enough")
    text = "; ".join(
        f"{life.replica}{life.number}: {life.first:.0f} → {life.last:.0f} MB ({life.growth:+.0%}) in {life.minutes:.1f} min"
        for life in followed
    )
    return Verdict("flat memory", all(abs(life.growth) <= FLAT_MEMORY for life in followed), text)


def followed_lives(lives: Iterable[ProcessLife], run_seconds: float, load_ended: float) -> list[LifeMemory]:
    """Without the beginning of each life, and without what comes after the load."""
    warm_up = min(WARM_UP_SECONDS, WARM_UP_SHARE * run_seconds)
    found = []
    for life in lives:
        samples = [(time, size) for time, size in life.memory if life.begin + warm_up <= time <= load_ended]
        if samples and samples[-1][0] - samples[0][0] >= FOLLOWED_SHARE * run_seconds:
            found.append(_life_memory(life, samples))
    return found


def _life_memory(life: ProcessLife, samples: Sequence[tuple[float, int]]) -> LifeMemory:
    """First and last are medians of a fifth of the samples each: what one wave more or less takes does not count."""
    sizes = [size / 1e6 for _, size in samples]
    fifth = max(1, len(sizes) // 5)
    first, last = median(sizes[:fifth]), median(sizes[-fifth:])
    minutes = (samples[-1][0] - samples[0][0]) / 60
    return LifeMemory(life.replica, life.number, minutes, first, last, max(sizes), (last - first) / (0.8 * minutes))


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


def quiet_latencies(record: RunRecord) -> tuple[Latency, Latency]:
    """Of probes that were created in the second half of each quiet part, when the load is what it will be."""
    parts = record.options.schedule.parts
    found = latencies(record)
    windows = (parts.lasting / 2, parts.lasting), ((parts.quiet + parts.end) / 2, parts.end)
    first, last = (
        _latency([seconds for created, seconds in found if begin <= created - record.began < end])
        for begin, end in windows
    )
    return first, last


def latencies(record: RunRecord) -> list[tuple[float, float]]:
    """(time of creation, seconds to the binding) of every probe that was bound."""
    created: dict[str, float] = {}
    found = []
    for request in record.requests:
        if not request.granted or not request.name.startswith(PROBE):
            continue
        if request.resource == "pods":
            created[request.name] = request.received
        elif request.resource == "pods/binding" and request.name in created and request.answered is not None:
            found.append((created[request.name], request.answered - created[request.name]))
    return found


def _latency(seconds: Sequence[float]) -> Latency:
    if len(seconds) < 2:
        return Latency(len(seconds), *([seconds[0]] * 2 if seconds else [0.0, 0.0]))
    return Latency(len(seconds), median(seconds), quantiles(seconds, n=100, method="inclusive")[98])


def stalls(record: RunRecord) -> list[Stall]:
    """Stretches of the load without any binding, although probes come all the time, and the faults of that time."""
    bound = [request.received for request in record.requests if request.resource == "pods/binding" and request.granted]
    moments = [record.began, *(time for time in bound if record.began < time < record.load_ended), record.load_ended]
    return [
        Stall(begin - record.began, end - begin, _faults_between(record, begin, end))
        for begin, end in pairwise(moments)
        if end - begin >= STALL_SECONDS
    ]


def _faults_between(record: RunRecord, begin: float, end: float) -> list[str]:
    touching = (one for one in record.faults if one.began < end and (one.ended or record.load_ended) > begin)
    return [fault.kind for fault in touching]


def judge_room(record: RunRecord) -> Verdict:
    """Rule 6: at the moment of every binding for CPU, and at the end for everything."""
    at_the_end = overcommitted(record.final.pods, record.final.nodes)
    found = [*record.overcommitted, *at_the_end]
    return Verdict("no node overcommitted", not found, "; ".join(found[:5]) or "none")


def overcommitted(pods: Iterable[JsonObject], nodes: Iterable[JsonObject]) -> list[str]:
    """Nodes whose pods ask for more than there is, with the resource. Pods of a chaos run have plain containers only."""
    given: defaultdict[tuple[str, str], int] = defaultdict(int)
    for pod in pods:
        given[bound_to(pod), "pods"] += 1000
        for container in pod["spec"]["containers"]:
            for resource, amount in container.get("resources", {}).get("requests", {}).items():
                given[bound_to(pod), resource] += milli_value_of(amount)
    found = []
    for node in nodes:
        name, has = node["metadata"]["name"], node["status"].get("allocatable", {})
        for resource in sorted(resource for place, resource in given if place == name):
            amount = given[name, resource]
            if amount > milli_value_of(has.get(resource, "0")):
                found.append(f"{name}: {amount / 1000:g} of {has.get(resource, '0')} {resource}")
    return found


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


def _expected_end(life: ProcessLife) -> bool:
    if life.exit_code is None or life.exit_code == LEASE_LOST:
        return True
    return life.exit_code in _ENDED_BY_FAULT.get(life.ended_by, set())


def _figures(record: RunRecord, terms: Sequence[LeaseTerm], unfenced: Sequence[UnfencedWrite]) -> dict[str, Any]:
    seconds = record.load_ended - record.began
    bound = len(bindings(record))
    granted_to_replicas = [request for request in record.requests if request.sender is not None and request.granted]
    all_latencies = _latency([waited for _, waited in latencies(record)])
    first, last = quiet_latencies(record)
    stopped = stalls(record)
    ends = Counter(str(life.exit_code) for life in record.lives if life.exit_code is not None)
    followed = followed_lives(record.lives, seconds, record.load_ended)
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
        "memory": [_memory_figures(life) for life in followed],
        "most memory MB": round(max((size for life in record.lives for _, size in life.memory), default=0) / 1e6),
        "latency at the start p50, p99 s": [round(first.p50, 4), round(first.p99, 3)],
        "latency at the end p50, p99 s": [round(last.p50, 4), round(last.p99, 3)],
        "latency of all probes p50, p99 s": [round(all_latencies.p50, 4), round(all_latencies.p99, 2)],
        "seconds to settle": record.final.settled_seconds and round(record.final.settled_seconds, 1),
    }


def _memory_figures(life: LifeMemory) -> dict[str, Any]:
    return {
        "process": f"{life.replica}{life.number}",
        "minutes": round(life.minutes, 1),
        "first MB": round(life.first, 1),
        "last MB": round(life.last, 1),
        "most MB": round(life.most, 1),
        "MB per minute": round(life.slope, 2),
    }
