# SPDX-License-Identifier: Apache-2.0
"""What can be measured in a chaos run, from its record: bindings, latencies, memory, stalls, room. For `judgement`."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles
from typing import Final

from tests.chaos.audit_trail import LifeKey
from tests.chaos.chaos_run import RunRecord
from tests.chaos.fault_schedule import LEADER, STANDBY
from tests.chaos.lease_history import LeaseTerm
from tests.chaos.pod_templates import PROBE

from steersman.api.quantity import milli_value_of
from steersman.testing.control_plane import JsonObject, bound_to

#: Of a process, after its start and after its election, this does not count; of a shorter run this share.
WARM_UP_SECONDS, WARM_UP_SHARE = 300.0, 1 / 3
#: The shortest time after that over which memory says something, as a share of the run.
FOLLOWED_SHARE: Final = 0.15
#: Shorter times without a binding are not worth a line.
STALL_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class RoleMemory:
    """Of a process that was leader, or standby, for long enough: MB at the first and the last of it, the most, the slope."""

    process: str
    role: str
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


def bindings(record: RunRecord) -> Counter[str]:
    """How often each pod, by namespace/name, was bound."""
    granted = (one for one in record.requests if one.resource == "pods/binding" and one.granted)
    return Counter(f"{request.namespace}/{request.name}" for request in granted)


def followed_roles(record: RunRecord, terms: Sequence[LeaseTerm]) -> list[RoleMemory]:
    """Of every process, as standby and as leader, which does more; without the beginning of each."""
    run_seconds = record.load_ended - record.began
    warm_up = min(WARM_UP_SECONDS, WARM_UP_SHARE * run_seconds)
    acquired = {term.holder: term.begin for term in reversed(terms)}
    found = []
    for life in record.lives:
        elected = min(acquired.get(LifeKey(life.replica, life.number), math.inf), record.load_ended)
        for role, begin, end in ((STANDBY, life.begin, elected), (LEADER, elected, record.load_ended)):
            samples = [(time, size) for time, size in life.memory if begin + warm_up <= time < end]
            if samples and samples[-1][0] - samples[0][0] >= FOLLOWED_SHARE * run_seconds:
                found.append(_role_memory(f"{life.replica}{life.number}", role, samples))
    return found


def _role_memory(process: str, role: str, samples: Sequence[tuple[float, int]]) -> RoleMemory:
    """First and last are medians of a fifth of the samples each: what one wave more or less takes does not count."""
    sizes = [size / 1e6 for _, size in samples]
    fifth = max(1, len(sizes) // 5)
    first, last = median(sizes[:fifth]), median(sizes[-fifth:])
    minutes = (samples[-1][0] - samples[0][0]) / 60
    return RoleMemory(process, role, minutes, first, last, max(sizes), (last - first) / (0.8 * minutes))


def quiet_latencies(record: RunRecord) -> tuple[Latency, Latency]:
    """Of probes that were created in the second half of each quiet part, when the load is what it will be."""
    parts = record.options.schedule.parts
    found = latencies(record)
    windows = (parts.lasting / 2, parts.lasting), ((parts.quiet + parts.end) / 2, parts.end)
    first, last = (
        latency_of([seconds for created, seconds in found if begin <= created - record.began < end])
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


def latency_of(seconds: Sequence[float]) -> Latency:
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
