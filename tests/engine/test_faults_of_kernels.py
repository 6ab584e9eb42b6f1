# SPDX-License-Identifier: Apache-2.0
"""A fault in a fragment, a kernel or a method of a plugin fails the pod with the plugin's name, file and line."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

from steersman.framework import Depends, FilterPlugin, NodeInfo, PodInfo, ScorePlugin
from steersman.framework.columns import (
    ClusterScoreKernel,
    ColumnarFilter,
    ColumnarScore,
    Feasible,
    FilterKernel,
    ScoreKernel,
    StatusTable,
)
from steersman.framework.nodes_view import NodesView, Rows
from steersman.testing import Harness, make_node, make_pod

NODES = [make_node(f"n{i}") for i in range(3)]
HERE = r"\(.*test_faults_of_kernels\.py, line \d+(, in \w+)?\)"


class Same(ScorePlugin, ColumnarScore):
    """Score 3 on every node, by a kernel that tests break."""

    name = "Same"
    kernel: Any

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 3

    def score_fragment(self, pod: PodInfo) -> Hashable:
        return ()

    def score_kernel(self, pod: PodInfo, view: NodesView) -> Any:
        return self.kernel(view)


class Threes(ScoreKernel):
    depends = Depends.NODE_PODS

    def __init__(self, view: NodesView) -> None:
        self.capacity = view.capacity

    def row(self, row: int) -> int:
        return 3

    def rows(self, rows: Rows) -> Any:
        return np.full(self.capacity, 3)[rows]


class RaisesInRows(Threes):
    def rows(self, rows: Rows) -> Any:
        raise ValueError("lost")


class RaisesInRow(Threes):
    def row(self, row: int) -> int:
        raise ValueError("lost")


class ExitsInRow(Threes):
    def row(self, row: int) -> int:
        raise SystemExit(3)


class FloatsInRow(Threes):
    def row(self, row: int) -> int:
        return 0.5  # type: ignore[return-value]


class ShortRows(Threes):
    def rows(self, rows: Rows) -> Any:
        return np.array([3, 3])


class FloatRows(Threes):
    def rows(self, rows: Rows) -> Any:
        return np.full(self.capacity, 0.5)[rows]


class ListOfRows(Threes):
    def rows(self, rows: Rows) -> Any:
        return [3, 3, 3]


class RaisesForTheCluster(ClusterScoreKernel):
    def __init__(self, view: NodesView) -> None:
        pass

    def skipped(self, feasible: Feasible) -> bool:
        return False

    def raw(self, feasible: Feasible) -> Any:
        return feasible.penalty

    def normalized(self, feasible: Feasible) -> Any:
        raise KeyError("zone")


def message_after_two_pods(plugin: type) -> str:
    """Return why the second of two pods is pending: by then single rows have been asked about."""
    harness = Harness(plugins=[plugin], nodes=NODES)
    for name in ("a", "b"):
        harness.add(make_pod(name))
        harness.run()
    return harness.message("b")


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (RaisesInRows, "ValueError: lost"),
        (RaisesInRow, "ValueError: lost"),
        (ExitsInRow, "SystemExit: 3"),
        (FloatsInRow, "row() returned 0.5 for row"),
        (ShortRows, "rows() returned an array of shape (2,) for all"),
        (FloatRows, "rows() returned float64, expected an array of integers"),
        (ListOfRows, "rows() returned list, expected an array of integers"),
        (RaisesForTheCluster, "KeyError: 'zone'"),
    ],
)
def test_a_fault_in_a_kernel_names_plugin_file_and_line(kernel: type[ScoreKernel], text: str) -> None:
    plugin = type("Broken", (Same,), {"kernel": kernel})
    message = message_after_two_pods(plugin)
    assert message.startswith(f'running Score plugins: plugin "Same" failed with: {text}')
    assert re.search(HERE, message)


def test_a_kernel_without_faults_is_used() -> None:
    harness = Harness(plugins=[type("Whole", (Same,), {"kernel": Threes})], nodes=NODES)
    assert harness.scores(make_pod("a"))["Same"] == {"n0": 3, "n1": 3, "n2": 3}


class Promising(FilterPlugin):
    """A promise whose fragment tests break."""

    name = "Promising"
    depends = Depends.NODE

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        return True


def raises(self: object, pod: PodInfo) -> Hashable:
    raise KeyError("team")


def lists(self: object, pod: PodInfo) -> Hashable:
    return ["a"]  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        (raises, "KeyError: 'team'"),
        (lists, "lists() returned ['a'], expected a hashable value (unhashable type: 'list')"),
    ],
)
def test_a_fault_in_a_fragment_names_plugin_file_and_line(fragment: object, text: str) -> None:
    message = message_after_two_pods(type("Broken", (Promising,), {"fragment": fragment}))
    assert message.startswith(f'running Fragment plugin "Promising": {text}')
    assert re.search(HERE, message)


class FilterByKernel(FilterPlugin, ColumnarFilter):
    """A filter whose kernel cannot be made."""

    name = "FilterByKernel"

    def __init__(self) -> None:
        self.statuses = StatusTable()

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        return True

    def filter_fragment(self, pod: PodInfo) -> Hashable:
        return ()

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel:
        return view.allocatable("cpu")  # type: ignore[return-value]


def test_a_kernel_of_another_type_is_named() -> None:
    message = message_after_two_pods(FilterByKernel)
    assert message.startswith('running "FilterByKernel" filter plugin: filter_kernel() returned ')
    assert "expected a kernel of steersman.framework.columns" in message
    assert re.search(HERE, message)


class ConcernsNobody(FilterPlugin):
    name = "ConcernsNobody"

    def pre_filter(self, pod: PodInfo, nodes: object) -> None: ...

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        return int(pod.labels["size"]) > 0


def test_a_fault_in_a_method_names_plugin_file_and_line() -> None:
    message = message_after_two_pods(ConcernsNobody)
    assert message.startswith("running \"ConcernsNobody\" filter plugin: KeyError: 'size'")
    assert re.search(HERE, message)


def test_a_fault_in_a_library_is_placed_in_the_plugins_own_code() -> None:
    class Parses(FilterPlugin):
        name = "Parses"

        def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
            import json

            return bool(json.loads("{"))

    message = message_after_two_pods(Parses)
    assert "JSONDecodeError" in message
    assert re.search(HERE, message)
