# SPDX-License-Identifier: Apache-2.0
"""The outcome of a pod's evaluation against all nodes, whichever way it was computed, and how answers of PreFilter merge.

Two engines make it: `scalar` asks the plugins node by node, as upstream does, and is easy to check by eye; `columnar` uses
signatures and is fast. Everything after Filter and Score (diagnosis, choice, reports) works on this. PreFilter's answers come
from a callable per plugin, so that the scalar engine can ask the plugin and the columnar one can use what it has kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.engine.totals_digest import DigestedTotals
from steersman.framework.cycle_state import CycleState, DeferredState
from steersman.framework.nodes_view import AnyIntColumn
from steersman.framework.plugin import PreFilterResult
from steersman.framework.status import Code, Status, unresolvable
from steersman.rng import Rng
from steersman.runtime.faults import CycleAborted, as_fault

NOTHING: frozenset[str] = frozenset()


class PreFilterOutcome(msgspec.Struct, frozen=True):
    """The answer of the PreFilter phase about the pod as a whole."""

    #: Plugins that have nothing to do for this pod.
    skipped: frozenset[str] = NOTHING
    #: The rejection of the pod as a whole, if any.
    status: Status | None = None
    #: The only nodes to look at; None: all.
    node_names: frozenset[str] | None = None
    #: The plugins that restricted the nodes.
    restricting: frozenset[str] = NOTHING


class PluginScores(msgspec.Struct, frozen=True):
    """One plugin's scores, aligned with the feasible nodes."""

    name: str
    weight: int
    raw: Sequence[int]
    normalised: Sequence[int]


class ScoreTable(msgspec.Struct, frozen=True):
    """All scores of the feasible nodes."""

    nodes: Sequence[str]
    plugins: Sequence[PluginScores]
    #: Plugins whose PreScore said Skip.
    skipped: frozenset[str]
    total: Sequence[int]

    def best(self) -> list[str]:
        """The names with the greatest total, sorted."""
        greatest = max(self.total)
        return sorted(name for name, total in zip(self.nodes, self.total, strict=True) if total == greatest)

    def top(self, chosen: str, count: int = 3) -> list[tuple[str, int]]:
        """The best nodes with their totals, best first; among equals the chosen one, then by name."""
        ranked = sorted(zip(self.nodes, self.total, strict=True), key=lambda e: (-e[1], e[0] != chosen, e[0]))
        return ranked[:count]


class RankedTotals(NamedTuple):
    """The totals by which a node was chosen. Not to be kept or changed: the next evaluation may write into them."""

    #: By row; something below zero where a filter rejects the node for what it is. Rows that only filters of the whole cluster
    #: reject have their totals here as well, where these do not depend on what is feasible.
    totals: AnyIntColumn
    #: The row of the chosen node.
    row: int


class FeasibleTotals(NamedTuple):
    """The weighted totals of the feasible nodes."""

    #: Of the feasible nodes.
    rows: NDArray[np.intp]
    #: Aligned with the rows.
    totals: NDArray[np.int64]


class Choice(msgspec.Struct, frozen=True):
    """The chosen node and what it was chosen from."""

    node: str
    #: Number of nodes with the best total, the chosen one included.
    ties: int


class NodeStatuses:
    """Why nodes did not pass: examined nodes grouped by their status, and one status for all nodes not examined."""

    __slots__ = ("_by_node", "_groups", "absent")

    def __init__(self, groups: dict[Status, list[str]] | None = None, absent: Status | None = None) -> None:
        self._groups = groups or {}
        self.absent = absent
        self._by_node: dict[str, Status] | None = None

    @property
    def groups(self) -> dict[Status, list[str]]:
        """The names of the examined nodes by status."""
        return self._groups

    def counts(self) -> Iterable[tuple[Status, int]]:
        """The number of examined nodes by status; cheaper than their names."""
        return ((status, len(names)) for status, names in self.groups.items())

    def of(self, node: str) -> Status | None:
        if self._by_node is None:
            self._by_node = {name: status for status, names in self.groups.items() for name in names}
        return self._by_node.get(node, self.absent)

    def __reduce__(self) -> tuple[type[NodeStatuses], tuple[object, ...]]:
        """Travels with the names of the nodes, however they were found."""
        return NodeStatuses, (dict(self.groups), self.absent)

    def __len__(self) -> int:
        """Number of examined nodes that failed."""
        return sum(count for _, count in self.counts())


class Evaluation(ABC):
    """One pod against the cluster at one moment. Valid until the state changes."""

    #: Number of nodes that pass every filter.
    feasible_count: int
    #: Only the nominated node was looked at, and it passed.
    nominated_path: bool = False
    #: What PreFilter and PreScore plugins wrote that are asked in every cycle; handed on to Reserve and later phases.
    state: CycleState

    @property
    @abstractmethod
    def pre_filter(self) -> PreFilterOutcome: ...

    @abstractmethod
    def scalar_state(self) -> CycleState:
        """The cycle state with what every PreFilter plugin writes, for what-if questions about single nodes (preemption)."""

    def deferred_state(self) -> CycleState:
        """The `scalar_state`, made when somebody looks at it."""
        return DeferredState(fill=self.scalar_state)

    @abstractmethod
    def feasible(self) -> Sequence[str]:
        """Names of the nodes that pass every filter."""

    @abstractmethod
    def statuses(self) -> NodeStatuses:
        """Why the other nodes do not, with the first failing plugin in configured order."""

    def known_objections(self) -> Mapping[str, Mapping[str, Status]]:
        """The objections of filters that need not be asked again: by plugin, then by node, also of nodes that another plugin
        rejects before it. A plugin without an entry has to be asked."""
        return {}

    @abstractmethod
    def scores(self) -> ScoreTable | None:
        """Every score of every feasible node; None with fewer than two of them, where nothing is scored."""

    def ranked_totals(self, node: str) -> RankedTotals | None:
        """The column by which `choose` found this node the best; None where it had no choice, or had no column."""
        return None

    def digested_totals(self, node: str) -> DigestedTotals | None:
        """The digest of the `ranked_totals`."""
        ranked = self.ranked_totals(node)
        return None if ranked is None else DigestedTotals.of(ranked.totals, ranked.row)

    def score_skipped(self) -> frozenset[str]:
        """Plugins that have nothing to score; nothing is said with fewer than two feasible nodes, where nothing is scored."""
        table = self.scores()
        return NOTHING if table is None else table.skipped

    @abstractmethod
    def choose(self, rng: Rng) -> Choice:
        """A best node, at random among equals. Only with at least one feasible node."""

    @abstractmethod
    def restrict(self, names: Container[str]) -> None:
        """Only these of the feasible nodes remain; the others have no status here. Before anything is scored."""


Answer = tuple[PreFilterResult | None, Status | None]


def merge(answers: Iterable[tuple[str, Callable[[], Answer]]]) -> PreFilterOutcome:
    """Asks the plugins in order until one settles the matter. CycleAborted when one is broken."""
    skipped: set[str] = set()
    restricting: set[str] = set()
    allowed: frozenset[str] | None = None
    rejection: Status | None = None
    for name, ask in answers:
        result, status = ask()
        if status is not None:
            if status.code is Code.SKIP:
                skipped.add(name)
            elif status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(frozenset(skipped), status)
            elif status.code is Code.UNSCHEDULABLE:
                rejection = status
            else:
                raise CycleAborted(as_fault("PreFilter", name, status))
            continue
        if result is not None:
            restricting.add(name)
            allowed = result.node_names if allowed is None else allowed & result.node_names
            if not allowed:
                status = unresolvable(_nothing_left(restricting))
                return PreFilterOutcome(frozenset(skipped), status, allowed, frozenset(restricting))
    return PreFilterOutcome(frozenset(skipped), rejection, allowed, frozenset(restricting))


def _nothing_left(plugins: set[str]) -> str:
    names = sorted(plugins)
    if len(names) == 1:
        return f"node(s) didn't satisfy plugin {names[0]}"
    return f"node(s) didn't satisfy plugin(s) {go_list(names)} simultaneously"


def not_restricted_to(plugins: Iterable[str], refused: Iterable[Status] = ()) -> Status:
    """The status of nodes outside of the restriction. As upstream has it, what was against the nominated node, which was
    looked at before, is named as well."""
    named = {*plugins, *(status.plugin for status in refused)}
    return unresolvable(f"node(s) didn't satisfy plugin(s) {go_list(sorted(named))}")


def go_list(names: list[str]) -> str:
    """A list of names as upstream's messages show it."""
    return f"[{' '.join(names)}]"
