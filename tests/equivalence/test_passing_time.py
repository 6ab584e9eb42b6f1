# SPDX-License-Identifier: Apache-2.0
"""The stories of the equivalence tests include passing time, so that an answer that is kept although it depends on the clock
is found."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import find
from tests.equivalence.events import SetNode, TimePasses, events
from tests.equivalence.outsiders import NightColumns, NightShift, ReadsClock
from tests.equivalence.test_engines_agree import check
from tests.equivalence.vocabulary import Call

from steersman.framework.columns import ColumnarScore, Depends, ScoreKernel
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import IntColumn, NodesView, Rows
from steersman.framework.plugin import Plugin, ScorePlugin
from steersman.framework.pod_info import PodInfo

NODES = [SetNode("n0", (Call("label", ("disk", "hdd")),)), SetNode("n1", (Call("label", ("size", "1")),))]
AN_HOUR_LATER = [TimePasses(3600.0)]


class ForgetfulPromise(NightShift):
    """Promises that the answer depends on the node alone, and reads the clock."""

    def __init__(self) -> None:
        super().__init__(promises=True)
        self.depends = Depends.NODE

    def fragment(self, pod: PodInfo) -> Hashable:
        return ()


class HourOfRows(ScoreKernel):
    """Node-local, so that its scores are kept until the node changes."""

    def __init__(self, plugin: ForgetfulKernel, view: NodesView) -> None:
        self._plugin, self._view = plugin, view

    def rows(self, rows: Rows) -> IntColumn:
        return np.array([self.row(row) for row in np.arange(self._view.capacity)[rows].tolist()], np.int64)

    def row(self, row: int) -> int:
        return 10 * (row == 0) if self._plugin.is_odd_hour() else 10 * (row != 0)

    def epoch(self) -> int:
        return int(self._plugin.is_odd_hour())


class ForgetfulKernel(ReadsClock, ScorePlugin, ColumnarScore):
    """Reads the clock in a node-local kernel; `epoch` does not help, because only a changed node has it checked."""

    name = "ForgetfulKernel"

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 10 * (node.name == "n0") if self.is_odd_hour() else 10 * (node.name != "n0")

    def score_fragment(self, pod: PodInfo) -> Hashable:
        return ()

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel:
        return HourOfRows(self, view)


def test_stories_include_passing_time() -> None:
    assert isinstance(find(events, lambda event: isinstance(event, TimePasses)), TimePasses)


@pytest.mark.parametrize("plugin", [NightShift(False), NightColumns(False)], ids=repr)
def test_an_answer_that_is_asked_in_every_cycle_may_depend_on_the_clock(plugin: Plugin) -> None:
    check(NODES, [*AN_HOUR_LATER, *AN_HOUR_LATER], [()], plugins=[plugin])


@pytest.mark.parametrize("plugin", [ForgetfulPromise(), ForgetfulKernel(False)], ids=repr)
def test_a_promise_or_kernel_that_forgets_the_clock_is_found(plugin: Plugin) -> None:
    check(NODES, [], [()], plugins=[plugin])
    with pytest.raises(AssertionError, match="kept since the beginning"):
        check(NODES, AN_HOUR_LATER, [()], plugins=[plugin])
