# SPDX-License-Identifier: Apache-2.0
"""The vector form of NodeVolumeLimits says of every row what the scalar filter says, near the limits too."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.equivalence.cluster import PROFILE
from tests.equivalence.examples import examples
from tests.plugins.node_volume_limits.limit_stories import EVENTS, begun, pods
from tests.plugins.volume_columns.stories import Event, Story

from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from steersman.scheduler.plugins.node_volume_limits.columns import LimitedRows
from steersman.testing import PodBuilder


def _plugin(story: Story) -> NodeVolumeLimits:
    plugin = story.cluster.profiles[PROFILE].plugins[NodeVolumeLimits.name]
    assert isinstance(plugin, NodeVolumeLimits)
    return plugin


def _by_kernel(story: Story, pod: PodInfo, kernel: LimitedRows) -> dict[str, Status | None]:
    table, reasons, statuses = story.cluster.cache.nodes, kernel.reasons(), _plugin(story).statuses
    rows = list(table.live_rows())
    broken = {row for row in rows if reasons[row] and not statuses[int(reasons[row])].is_rejected}
    assert broken == kernel.broken_rows & set(rows)
    return {table.names[row]: statuses[int(reasons[row])] if reasons[row] else None for row in rows}


def _plainly(story: Story, pod: PodInfo) -> dict[str, Status | None]:
    table, plugin = story.cluster.cache.nodes, _plugin(story)
    return {table.names[row]: plugin.filter(CycleState(), pod, table.info(row)) for row in table.live_rows()}


@examples(150)
@given(st.lists(st.tuples(EVENTS, pods()), max_size=25))
def test_after_every_event(story: list[tuple[Event, PodBuilder]]) -> None:
    told = begun()
    for event, wanted in story:
        event(told)
        pod = told.cluster.pending(wanted.obj())
        kernel = _plugin(told).filter_kernel(pod, told.cluster.cache.nodes)
        assert isinstance(kernel, LimitedRows)
        assert _by_kernel(told, pod, kernel) == _plainly(told, pod)


@examples(100)
@given(st.lists(EVENTS, min_size=5, max_size=40), pods())
def test_of_a_kernel_that_slept_through_many_events(events: list[Event], wanted: PodBuilder) -> None:
    told = begun()
    pod = told.cluster.pending(wanted.obj())
    kernel = _plugin(told).filter_kernel(pod, told.cluster.cache.nodes)
    assert isinstance(kernel, LimitedRows)
    kernel.reasons()
    for event in events:
        event(told)
    assert _by_kernel(told, pod, kernel) == _plainly(told, pod)
