# SPDX-License-Identifier: Apache-2.0
"""The result of a pod's evaluation against all nodes, independent of the engine; and merging of
PreFilter results.

Two engines produce it: `scalar` calls the plugins node by node, as upstream does; `columnar` uses
signatures and is fast. Everything after Filter and Score (diagnosis, choice, reports) works on this
interface. PreFilter results come from a callable per plugin, so that the scalar engine can call the
plugin and the columnar one can use cached results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.api import go_list
from steersman.base import Rng
from steersman.framework import (
    AnyIntColumn,
    BoolColumn,
    Code,
    CycleState,
    DeferredState,
    PreFilterResult,
    Status,
    unresolvable,
)
from steersman.scheduler.engine.totals_digest import DigestedTotals
from steersman.scheduler.runtime.faults import CycleAborted, as_fault

NOTHING: frozenset[str] = frozenset()


class PlacementTrial(msgspec.Struct, frozen=True, eq=False):
    """A placement in which the members of a group are tried."""

    group_cycle: CycleState
    state: CycleState
    #: Names of the candidate nodes; None for all nodes.
    node_names: frozenset[str] | None = None
    #: bool[capacity]: all rows that are not candidates; None if all are.
    outside: BoolColumn | None = None
    #: The rows of the candidates in ascending order; None for all nodes.
    rows: NDArray[np.intp] | None = None


def new_state(trial: PlacementTrial | None) -> CycleState:
    """Return the empty state of a pod's cycle."""
    return CycleState() if trial is None else CycleState(group_cycle=trial.group_cycle, placement=trial.state)


class PreFilterOutcome(msgspec.Struct, frozen=True):
    """Result of the PreFilter phase."""

    #: Plugins that skip this pod.
    skipped: frozenset[str] = NOTHING
    #: Rejection of the pod as a whole.
    status: Status | None = None
    #: Names of the nodes to evaluate; None for all.
    node_names: frozenset[str] | None = None
    #: Plugins that restricted the nodes.
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
    #: Plugins whose PreScore returned Skip.
    skipped: frozenset[str]
    total: Sequence[int]

    def best(self) -> list[str]:
        """Return the names with the greatest total, sorted."""
        greatest = max(self.total)
        return sorted(name for name, total in zip(self.nodes, self.total, strict=True) if total == greatest)

    def weighted(self, node: str) -> dict[str, int]:
        """Return the weighted scores of a feasible node by plugin."""
        place = self.nodes.index(node)
        return {plugin.name: plugin.weight * int(plugin.normalised[place]) for plugin in self.plugins}

    def top(self, chosen: str, count: int = 3) -> list[tuple[str, int]]:
        """Return the best nodes with their totals, best first; among equals the chosen one, then by
        name."""
        ranked = sorted(zip(self.nodes, self.total, strict=True), key=lambda e: (-e[1], e[0] != chosen, e[0]))
        return ranked[:count]


class RankedTotals(NamedTuple):
    """Totals by which a node was chosen. Read-only, and valid until the next evaluation."""

    #: By row; negative if a node-local filter rejects the row. Rows rejected by cluster filters
    #: only have their totals too, if these do not depend on the feasible rows.
    totals: AnyIntColumn
    #: Row of the chosen node.
    row: int


class FeasibleTotals(NamedTuple):
    """Weighted totals of the feasible nodes."""

    #: Rows of the feasible nodes.
    rows: NDArray[np.intp]
    #: Aligned with the rows.
    totals: NDArray[np.int64]


class Choice(msgspec.Struct, frozen=True):
    """The chosen node and the number of ties."""

    node: str
    #: Number of nodes with the best total, including the chosen one.
    ties: int


class NodeStatuses:
    """Rejections: evaluated nodes grouped by their status, and one status for all nodes not
    evaluated."""

    __slots__ = ("_by_node", "_groups", "absent")

    def __init__(self, groups: dict[Status, list[str]] | None = None, absent: Status | None = None) -> None:
        self._groups = groups or {}
        self.absent = absent
        self._by_node: dict[str, Status] | None = None

    @property
    def groups(self) -> dict[Status, list[str]]:
        """Names of the evaluated nodes by status."""
        return self._groups

    def counts(self) -> Iterable[tuple[Status, int]]:
        """Yield the number of evaluated nodes by status; cheaper than `groups`."""
        return ((status, len(names)) for status, names in self.groups.items())

    def status_of(self, node: str) -> Status | None:
        if self._by_node is None:
            self._by_node = {name: status for status, names in self.groups.items() for name in names}
        return self._by_node.get(node, self.absent)

    def __reduce__(self) -> tuple[type[NodeStatuses], tuple[object, ...]]:
        """Pickle with the names of the nodes."""
        return NodeStatuses, (dict(self.groups), self.absent)

    def __len__(self) -> int:
        """Return the number of evaluated nodes that failed."""
        return sum(count for _, count in self.counts())


class Evaluation(ABC):
    """One pod against the cluster. Valid until the state changes."""

    #: Number of nodes that pass every filter.
    feasible_count: int
    #: Whether only the nominated node was evaluated, and it passed.
    nominated_path: bool = False
    #: State written by PreFilter and PreScore plugins that are called in every cycle; passed to
    #: Reserve and later phases.
    state: CycleState

    @property
    @abstractmethod
    def pre_filter(self) -> PreFilterOutcome: ...

    @abstractmethod
    def scalar_state(self) -> CycleState:
        """Return the cycle state with the entries of every PreFilter plugin, for what-if questions
        about single nodes (preemption)."""

    def deferred_state(self) -> CycleState:
        """Return the `scalar_state`, filled on first use."""
        return DeferredState(fill=self.scalar_state)

    @abstractmethod
    def feasible(self) -> Sequence[str]:
        """Return the names of the nodes that pass every filter."""

    @abstractmethod
    def statuses(self) -> NodeStatuses:
        """Return why the other nodes do not pass, by the first rejecting plugin in configured
        order."""

    def known_objections(self) -> Mapping[str, Mapping[str, Status]]:
        """Return the rejections that are known without calling filters: by plugin, then by node,
        including nodes that an earlier plugin rejects. A plugin without an entry has to be called.
        """
        return {}

    @abstractmethod
    def scores(self) -> ScoreTable | None:
        """Return every score of every feasible node; None with fewer than two feasible nodes."""

    def ranked_totals(self, node: str) -> RankedTotals | None:
        """Return the totals by which `choose` ranked this node best; None if there was no choice,
        or no column."""
        return None

    def digested_totals(self, node: str) -> DigestedTotals | None:
        """Return the digest of the `ranked_totals`."""
        ranked = self.ranked_totals(node)
        return None if ranked is None else DigestedTotals.from_totals(ranked.totals, ranked.row)

    def score_skipped(self) -> frozenset[str]:
        """Return the plugins that skip scoring; empty with fewer than two feasible nodes."""
        table = self.scores()
        return NOTHING if table is None else table.skipped

    @abstractmethod
    def choose(self, rng: Rng) -> Choice:
        """Return a best node, at random among equals. Requires at least one feasible node."""

    def best(self) -> Sequence[str]:
        """Return the names of the equally good nodes that `choose` draws from; empty if no node is
        feasible."""
        table = self.scores()
        return self.feasible() if table is None else table.best()

    @abstractmethod
    def restrict(self, names: Iterable[str]) -> None:
        """Restrict the feasible nodes to these; the others get no status. Must be called before
        scoring."""


Answer = tuple[PreFilterResult | None, Status | None]


def merge(answers: Iterable[tuple[str, Callable[[], Answer]]]) -> PreFilterOutcome:
    """Call the plugins in order until one result is final. Raises CycleAborted for an internal
    error."""
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
                status = unresolvable(_no_nodes_left_message(restricting))
                return PreFilterOutcome(frozenset(skipped), status, allowed, frozenset(restricting))
    return PreFilterOutcome(frozenset(skipped), rejection, allowed, frozenset(restricting))


def _no_nodes_left_message(plugins: set[str]) -> str:
    names = sorted(plugins)
    if len(names) == 1:
        return f"node(s) didn't satisfy plugin {names[0]}"
    return f"node(s) didn't satisfy plugin(s) {go_list(names)} simultaneously"


def not_restricted_to(plugins: Iterable[str], refused: Iterable[Status] = ()) -> Status:
    """Return the status of nodes excluded by PreFilter. As in upstream, it also names the plugins
    that rejected the nominated node, which was evaluated first."""
    named = {*plugins, *(status.plugin for status in refused)}
    return unresolvable(f"node(s) didn't satisfy plugin(s) {go_list(sorted(named))}")
