# SPDX-License-Identifier: Apache-2.0
"""What local filters say of many nodes at once is what they say of each, whoever is thought to be there as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import given, strategies as st
from tests.engine.test_local_filters import PROFILE
from tests.equivalence.examples import examples

from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.scheduler.engine.columnar import ColumnarEvaluation
from steersman.scheduler.engine.local_filters import LocalFilters
from steersman.scheduler.state.nominations import Nominations, nominated_ahead_of
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod
from steersman.testing.conformance.setting import Setting

NODES = [f"n{index}" for index in range(8)]
#: More than the filter has a table of shortages for.
MANY = {f"example.com/thing-{index}": 1 for index in range(14)}

amounts = st.sampled_from([0, 1, 2, 3])


@st.composite
def nodes(draw: st.DrawFn, name: str) -> NodeBuilder:
    node = make_node(name).capacity(cpu=draw(amounts), memory=draw(amounts), pods=draw(st.integers(1, 4)), **MANY)
    return node.taint("dedicated") if draw(st.integers(0, 4)) == 0 else node


@st.composite
def pods(draw: st.DrawFn, name: str) -> PodBuilder:
    pod = make_pod(name).req(cpu=draw(amounts), memory=draw(amounts)).priority(draw(st.integers(0, 1)))
    if draw(st.integers(0, 3)) == 0:
        pod = pod.req(**MANY)
    return pod.host_port(draw(st.sampled_from([80, 443]))) if draw(st.booleans()) else pod


@st.composite
def settings_with_nominations(draw: st.DrawFn) -> tuple[Setting, Nominations]:
    setting = Setting(None, ManualClock(), SeededRng(0), scalar=False)
    nominated = Nominations(setting.cache.nodes)
    for name in NODES:
        setting.change(draw(nodes(name)).obj())
        if draw(st.booleans()):
            setting.change(draw(pods(f"on-{name}")).node(name).obj())
        here = [draw(pods(f"to-{name}-{index}")) for index in range(draw(st.integers(0, 3)))]
        nominated.put(name, [setting.cache.shapes.info(pod.obj()) for pod in here])
    return setting, nominated


@examples(60)
@given(settings_with_nominations(), pods("waiting"))
def test_of_many_nodes_the_same_is_said_as_of_each(made: tuple[Setting, Nominations], waiting: PodBuilder) -> None:
    setting, nominated = made
    pod = setting.cache.shapes.info(waiting.obj())
    evaluation = setting.cycle.evaluate(setting.profiles[PROFILE], pod)
    assert isinstance(evaluation, ColumnarEvaluation)
    passing = set(evaluation.feasible())
    local = evaluation.local_filters()
    assert local is not None
    added = {node: nominated_ahead_of(pod, others) for node, others in nominated.by_node.items()}
    expected = one_by_one(local, {node: others for node, others in added.items() if others})
    assert together(local, nominated, pod) == expected
    table = setting.cache.nodes
    mask = np.array([name in passing for name in table.names])
    rejected = local.rejected_with(nominated.ahead_of(pod).restricted_to(mask))
    assert {table.names[row] for row in rejected.tolist()} == passing & expected.keys()


def one_by_one(local: LocalFilters, added: Mapping[str, Sequence[PodInfo]]) -> dict[str, Status]:
    found = {node: local.objection(local.table.rows[node], pods) for node, pods in added.items()}
    return {node: status for node, status in found.items() if status is not None}


def together(local: LocalFilters, nominated: Nominations, pod: PodInfo) -> dict[str, Status]:
    groups = local.objections(nominated.ahead_of(pod))
    found = [(local.table.names[row], status) for status, rows in groups.items() for row in rows.tolist()]
    assert len(found) == len(dict(found)), "no node has two objections"
    return dict(found)
