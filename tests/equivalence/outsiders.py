# SPDX-License-Identifier: Apache-2.0
"""Plugins as people from elsewhere write them: scalar, live or with a promise, sound or broken on some nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from hypothesis import strategies as st

from steersman.base.clock import Clock, ManualClock
from steersman.framework.columns import ClusterFilterKernel, ColumnarFilter, Depends, StatusTable
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import BoolColumn, NodesView, ReasonColumn
from steersman.framework.plugin import (
    FilterPlugin,
    NodeScore,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
)
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import SKIP, Status, unschedulable


class Outsider(Plugin):
    """With or without a promise; prints as its class."""

    def __init__(self, promises: bool) -> None:
        if not promises:
            self.depends = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.depends is not None})"

    depends: Depends | None = Depends.NODE


class DiskMatches(Outsider, FilterPlugin, ScorePlugin):
    """Looks at a label of the node and one of the pod."""

    name = "DiskMatches"

    def fragment(self, pod: PodInfo) -> Hashable:
        return pod.labels.get("tier")

    def filter(self, pod: PodInfo, node: NodeInfo) -> str | None:
        return "wrong disk" if (pod.labels.get("tier"), node.labels.get("disk")) == ("1", "hdd") else None

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return {"1": 20, "5": 80}.get(node.labels.get("size", ""), 50) - 10 * (pod.labels.get("tier") == "2")


class FewPods(Outsider, FilterPlugin, ScorePlugin):
    """Looks at the pods of the node, and at the whole pod: it names no fragment."""

    name = "FewPods"
    depends = Depends.NODE_PODS

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> bool:
        return sum(other.namespace == pod.namespace for other in node.pods) < 2

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        annotated = sum("note" in other.annotations for other in node.pods)
        return max(0, 100 - 7 * node.pod_count - annotated - pod.priority)


class Fragile(Outsider, FilterPlugin, ScorePlugin):
    """Breaks on nodes of a certain size, and scores too much where there is a pod of high priority."""

    name = "Fragile"
    depends = Depends.NODE_PODS

    def fragment(self, pod: PodInfo) -> Hashable:
        return None

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        return int(node.labels.get("size", "0")) >= 0

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 101 if node.used_ports else 10


class Picky(Outsider, FilterPlugin):
    """Rejects the nodes on which others break, sometimes."""

    name = "Picky"

    def fragment(self, pod: PodInfo) -> Hashable:
        return pod.labels.get("app")

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        return pod.labels.get("app") != "web" or node.labels.get("size") != "big"


class Scaled(Outsider, ScorePlugin):
    """Scores far out of bounds, below zero and beyond what a column can hold, and scales between the worst and the best."""

    name = "Scaled"
    depends = Depends.NODE_PODS

    def fragment(self, pod: PodInfo) -> Hashable:
        return pod.labels.get("tier")

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        size = {"1": -3000, "5": 1 << 70}.get(node.labels.get("size", ""), 0)
        return size + 1000 * node.pod_count + 100 * (pod.labels.get("tier") == "2")

    def normalize_scores(self, pod: PodInfo, scores: Sequence[NodeScore]) -> None:
        worst, best = min(entry.score for entry in scores), max(entry.score for entry in scores)
        for entry in scores:
            entry.score = 100 * (entry.score - worst) // max(1, best - worst) * (pod.labels.get("tier") != "1")


class Prepared(Outsider, PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Everything rests on what PreFilter and PreScore have counted, and scores are scaled."""

    name = "Prepared"

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]
    ) -> PreFilterResult | Status | str | None:
        if pod.labels.get("tier") == "1":
            return SKIP
        state.write("busiest", max((node.pod_count for node in nodes), default=0))
        if pod.labels.get("app") == "db":
            return PreFilterResult(frozenset({"n0", "n1", "n2"}))
        return "bad pod" if pod.priority < 0 else None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> bool:
        return node.pod_count == 0 or node.pod_count < (state.read("busiest", int) or 0)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        state.write("feasible", len(nodes))
        return SKIP if len(nodes) == 3 else None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 1000 * (state.read("feasible", int) or 0) * node.pod_count

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Sequence[NodeScore]) -> None:
        greatest = max(1, *(entry.score for entry in scores))
        for entry in scores:
            entry.score = 100 * entry.score // greatest


class ReadsClock(Outsider):
    """Answers otherwise in odd hours. Sound only without a promise, or with kernels that are asked in every cycle."""

    depends: Depends | None = None
    clock: Clock = ManualClock()

    def is_odd_hour(self) -> bool:
        return int(self.clock.now() // 3600) % 2 == 1


class NightShift(ReadsClock, FilterPlugin, ScorePlugin):
    """Asked about every node in every cycle."""

    name = "NightShift"

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        return node.labels.get("disk") != "hdd" or not self.is_odd_hour()

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 80 if (node.labels.get("size") == "1") is self.is_odd_hour() else 20


class NightRows(ClusterFilterKernel):
    """The cluster kernel of `NightColumns`: asked once per cycle for all rows."""

    def __init__(self, plugin: NightColumns, view: NodesView) -> None:
        self._plugin, self._view = plugin, view
        self._reason = plugin.statuses.id_of(unschedulable("closed at night"))

    def skipped(self) -> bool:
        return False

    def rejected(self) -> BoolColumn | None:
        return np.ones(self._view.capacity, np.bool_) if self._plugin.is_odd_hour() else None

    def reasons(self) -> ReasonColumn:
        return np.full(self._view.capacity, self._reason * self._plugin.is_odd_hour(), np.int32)


class NightColumns(ReadsClock, FilterPlugin, ColumnarFilter):
    """Rejects every node in odd hours, also in its vector form."""

    name = "NightColumns"
    filters_by_cluster = True

    def __init__(self, promises: bool) -> None:
        super().__init__(promises)
        self.statuses = StatusTable()

    def filter(self, pod: PodInfo, node: NodeInfo) -> Status | None:
        return unschedulable("closed at night") if self.is_odd_hour() else None

    def filter_fragment(self, pod: PodInfo) -> Hashable:
        return None

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> NightRows:
        return NightRows(self, view)


one: st.SearchStrategy[Plugin] = st.builds(
    lambda kind, promises: kind(promises),
    st.sampled_from([DiskMatches, FewPods, Fragile, NightColumns, NightShift, Picky, Prepared, Scaled]),
    st.booleans(),
)
outsiders: st.SearchStrategy[list[Plugin]] = st.lists(one, min_size=1, max_size=4, unique_by=type).map(
    lambda plugins: sorted(plugins, key=lambda plugin: isinstance(plugin, Fragile))
)
"""The one that breaks comes last: the columnar engine asks live plugins only about nodes that all kernels let pass, and
so may overlook that one breaks on a node which a later plugin rejects."""
