# SPDX-License-Identifier: Apache-2.0
"""Measures of a scenario (waiting times, nodes, cost, completions), collected while it runs.

`Measurements` watches pods and nodes; `numbers` returns all measures. Expectations compare them
with bounds: `pending: 0`, `waitP99: "<= 30s"`, `nodes: "3..10"`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.api import Node, Object, Pod, similar
from steersman.base import InputError
from steersman.cluster.kubelets import parse_duration
from steersman.cluster.store import EventType
from steersman.simulation.node_pools import price_of
from steersman.simulation.results.placements import jain_index
from steersman.simulation.results.result import Result
from steersman.simulation.simulation import Simulation

MEASURES: Final = {
    "arrived": "pods that came without a node",
    "pods": "pods at the end that came without a node",
    "scheduled": "pods at the end that were bound to a node",
    "pending": "pods at the end that wait for a node",
    "preempted": "pods that had to make room for others",
    "completed": "pods that succeeded",
    "failed": "pods that failed, or whose node went",
    "attempts": "attempts to place a pod",
    "seconds": "virtual time",
    "waitP50": "seconds from a pod's arrival to its node, the median; a pod that still waits counts as far as it has",
    "waitP99": "99 of 100 pods wait no longer",
    "waitMax": "the longest time that a pod waited",
    "makespan": "from the first arrival to the last end",
    "jainIndex": "Jain's index over namespaces: share of time with a node",
    "maxPending": "the most pods that waited at one moment, while time passed",
    "nodes": "nodes at the end",
    "minNodes": "the fewest nodes there were",
    "maxNodes": "the most nodes there were",
    "nodesAdded": "nodes that the autoscaler added",
    "nodesRemoved": "nodes that the autoscaler removed",
    "nodeHours": "the sum of the hours that nodes were there",
    "cost": "cost of all nodes, by prices per hour",
    "cpuShare": "the share of allocatable CPU that pods request, 0 to 1, averaged over time",
    "memoryShare": "the share of allocatable memory that pods request, 0 to 1, averaged over time",
}
"""Every measure that can be reported and expected, with its meaning."""
HOUR: Final = 3600.0


class _PricedInterval(NamedTuple):
    """Price of a node since its arrival or last update."""

    since: float
    price: float


class Measurements:
    """Collector of measures from the cluster of one simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        #: UID → (key, arrival time) of a pod without a node, in the order of arrival.
        self._waiting: dict[str, tuple[str, float]] = {}
        self._waits: list[float] = []
        self._arrived = 0
        #: UID → (namespace, arrival, binding time) of unfinished pods that arrived without a node.
        self._pods: dict[str, tuple[str, float, float | None]] = {}
        #: Namespace → (seconds with a node, seconds since arrival), summed over finished pods.
        self._served: dict[str, tuple[float, float]] = {}
        self._first_arrival = math.inf
        self._last_end: float | None = None
        self._seen_completed: set[str] = set()
        self._seen_failed: set[str] = set()
        self._nodes: dict[str, _PricedInterval] = {}
        self._node_hours = 0.0
        self._cost = 0.0
        #: Time at which the extremes were last updated.
        self._noted = 0.0
        self._most_waiting = 0
        self._fewest_nodes: int | None = None
        self._most_nodes = 0
        self.nodes_added = 0
        self.nodes_removed = 0
        simulation.cluster.subscribe(self._on_node, (Node,))
        simulation.cluster.subscribe(self._on_pod, (Pod,))

    # -- for stop conditions -----------------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Number of pods without a node."""
        return len(self._waiting)

    @property
    def completed(self) -> int:
        """Number of pods that have succeeded."""
        return len(self._seen_completed)

    def longest_waiting(self) -> tuple[str, float] | None:
        """Return the longest waiting pod and its arrival time, or None."""
        return next(iter(self._waiting.values()), None)

    # -- while the scenario runs -------------------------------------------------------------------------------------

    def _note_time(self) -> None:
        """Update the extremes with the last state if time has passed; states that begin and end at
        the same time do not count."""
        now = self._simulation.now
        if now != self._noted:
            self._noted = now
            self._note_extremes()

    def _note_extremes(self) -> None:
        nodes = len(self._nodes)
        self._most_waiting = max(self._most_waiting, len(self._waiting))
        self._most_nodes = max(self._most_nodes, nodes)
        self._fewest_nodes = nodes if self._fewest_nodes is None else min(self._fewest_nodes, nodes)

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        self._note_time()
        pod = new if new is not None else old
        assert isinstance(pod, Pod)
        uid = pod.metadata.uid
        if isinstance(new, Pod) and not new.spec.node_name and new.status.phase not in api.FINISHED_PHASES:
            if old is None:
                self._arrived += 1
            now = self._simulation.now
            self._waiting.setdefault(uid, (api.key(new), now))
            self._pods.setdefault(uid, (new.metadata.namespace, now, None))
            self._first_arrival = min(self._first_arrival, now)
            return
        waited = self._waiting.pop(uid, None)
        if waited is not None and isinstance(new, Pod) and new.spec.node_name:
            self._waits.append(self._simulation.now - waited[1])
            self._pods[uid] = (new.metadata.namespace, waited[1], self._simulation.now)
        if not isinstance(new, Pod) or new.status.phase in api.FINISHED_PHASES:
            self._note_end(uid, is_finished=isinstance(new, Pod))
        if isinstance(new, Pod) and new.status.phase == "Succeeded":
            self._seen_completed.add(uid)
        elif isinstance(new, Pod) and new.status.phase == "Failed":
            self._seen_failed.add(uid)

    def _note_end(self, uid: str, *, is_finished: bool) -> None:
        ended, now = self._pods.pop(uid, None), self._simulation.now
        if ended is not None:
            _add_service(self._served, ended, now)
            self._last_end = now if is_finished else self._last_end

    def _served_shares(self, now: float) -> list[float]:
        """Return each namespace's pod time with a node, divided by the time since arrival."""
        served = dict(self._served)
        for pod in self._pods.values():
            _add_service(served, pod, now)
        return [held / lived for held, lived in served.values() if lived]

    def _on_node(self, _: EventType, old: Object | None, new: Object | None) -> None:
        self._note_time()
        node = new if new is not None else old
        assert isinstance(node, Node)
        name, now = node.metadata.name, self._simulation.now
        stay = self._nodes.pop(name, None)
        if stay is not None:
            self._charge(stay, now)
        if isinstance(new, Node):
            self._nodes[name] = _PricedInterval(now, price_of(new))

    def _charge(self, stay: _PricedInterval, now: float) -> None:
        hours = (now - stay.since) / HOUR
        self._node_hours += hours
        self._cost += hours * stay.price

    # -- at the end --------------------------------------------------------------------------------------------------

    def numbers(self, result: Result) -> dict[str, float]:
        """Return all `MEASURES` of the run with this result."""
        now, summary = self._simulation.now, result.summary
        self._note_extremes()
        waits = sorted([*self._waits, *(now - since for _, since in self._waiting.values())])
        stays = list(self._nodes.values())
        hours = self._node_hours + sum(now - stay.since for stay in stays) / HOUR
        cost = self._cost + sum((now - stay.since) / HOUR * stay.price for stay in stays)
        return {
            "arrived": self._arrived,
            "pods": summary.pods,
            "scheduled": summary.scheduled,
            "pending": summary.pending,
            "preempted": summary.preempted,
            "completed": len(self._seen_completed),
            "failed": len(self._seen_failed),
            "attempts": summary.decisions,
            "seconds": summary.seconds,
            "waitP50": _percentile(waits, 0.5),
            "waitP99": _percentile(waits, 0.99),
            "waitMax": round(waits[-1], 6) if waits else 0.0,
            "makespan": round(self._last_end - self._first_arrival, 6) if self._last_end is not None else 0.0,
            "jainIndex": jain_index(self._served_shares(now)),
            "maxPending": self._most_waiting,
            "nodes": len(self._nodes),
            "minNodes": self._fewest_nodes or 0,
            "maxNodes": self._most_nodes,
            "nodesAdded": self.nodes_added,
            "nodesRemoved": self.nodes_removed,
            "nodeHours": round(hours, 6),
            "cost": round(cost, 6),
            "cpuShare": _average(result.series.times, result.series.utilisation.get("cpu", ()), now),
            "memoryShare": _average(result.series.times, result.series.utilisation.get("memory", ()), now),
        }


def _add_service(served: dict[str, tuple[float, float]], pod: tuple[str, float, float | None], end: float) -> None:
    namespace, arrival, bound = pod
    held, lived = served.get(namespace, (0.0, 0.0))
    served[namespace] = held + (0.0 if bound is None else end - bound), lived + end - arrival


def _average(times: Sequence[float], values: Sequence[float], end: float) -> float:
    """Return the time-weighted average of a step function; the last value if no time has passed."""
    if not values:
        return 0.0
    spans = [after - before for before, after in pairwise((*times, max(end, times[-1])))]
    total = sum(spans)
    if not total:
        return round(values[-1], 6)
    return round(sum(span * value for span, value in zip(spans, values, strict=True)) / total, 6)


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that at least the given share of values do not exceed."""
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 6) if ordered else 0.0


# -- expectations ------------------------------------------------------------------------------------------------------


OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
HINT: Final = 'write a number, a comparison such as "<= 30s", or a range such as "3..10"'
_COMPARISON: Final = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*(.+?)\s*")
_RANGE: Final = re.compile(r"\s*(.+?)\s*\.\.\s*(.+?)\s*")


class Expectation(msgspec.Struct, frozen=True):
    """A measure, and the comparisons that its value must satisfy."""

    measure: str
    comparisons: tuple[tuple[str, float], ...]
    #: Text written by the user.
    text: str

    def is_met(self, value: float) -> bool:
        return all(OPERATORS[sign](value, bound) for sign, bound in self.comparisons)


class CheckedExpectation(msgspec.Struct, frozen=True, rename="camel"):
    """An expectation and its outcome."""

    measure: str
    expected: str
    value: float
    is_met: bool


def parse_expectations(document: Mapping[str, int | float | str]) -> list[Expectation]:
    """Parse expectations. Raises `InputError` for unknown measures and invalid comparisons."""
    return [_parsed(name, value) for name, value in document.items()]


def checks(expectations: list[Expectation], numbers: Mapping[str, float]) -> list[CheckedExpectation]:
    return [
        CheckedExpectation(each.measure, each.text, numbers[each.measure], each.is_met(numbers[each.measure]))
        for each in expectations
    ]


def check_measure(name: str, path: str) -> None:
    """Raise `InputError` for a name that is not in `MEASURES`."""
    if name not in MEASURES:
        raise InputError("is not measured", field=path, value=name, hint=similar(name, list(MEASURES)))


def _parsed(name: str, value: int | float | str) -> Expectation:
    path = f"expect.{name}"
    check_measure(name, path)
    if not isinstance(value, str):
        return Expectation(name, (("==", float(value)),), f"{value:g}")
    comparison, span = _COMPARISON.fullmatch(value), _RANGE.fullmatch(value)
    if comparison is not None:
        bounds: tuple[tuple[str, float], ...] = ((comparison[1], _number(comparison[2], value, path)),)
    elif span is not None:
        bounds = ((">=", _number(span[1], value, path)), ("<=", _number(span[2], value, path)))
    else:
        bounds = (("==", _number(value, value, path)),)
    return Expectation(name, bounds, value)


def _number(text: str, whole: str, path: str) -> float:
    """Parse a number, or a duration as seconds."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        duration = parse_duration(text)
    except InputError:
        duration = None
    if duration is None or not duration.is_fixed:
        raise InputError("is not an expectation", field=path, value=whole, hint=HINT)
    return duration.parameters[0]
