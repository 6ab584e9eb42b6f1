# SPDX-License-Identifier: Apache-2.0
"""Scoring strategies that name a resource which devices provide count the node's devices."""

from __future__ import annotations

import numpy as np
import pytest
from tests.plugins.handles import FakeHandle
from tests.plugins.node_resources.fitting import GPU

from steersman import api
from steersman.config import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ResourceSpec,
    ScoringStrategy,
    ScoringStrategyType,
)
from steersman.framework.columns import Feasible
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import NodesView
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.plugins.node_resources import NodeResourcesBalancedAllocation, NodeResourcesFit
from steersman.scheduler.plugins.node_resources.device_scores import DeviceRowScores
from steersman.scheduler.state.node_table import NodeTable
from steersman.testing import make_device_class, make_node, make_pod, make_resource_claim, make_slice

CLASS = make_device_class("gpus").backs(GPU).selects('device.driver == "gpu.example.com"').obj()
POD = make_pod("train").req(**{GPU: 1})
ONLY_GPU = (ResourceSpec(name=GPU, weight=1),)


def four_devices(name: str = "n") -> api.ResourceSlice:
    return make_slice(name).on_node(name).device("a").device("b").device("c").device("d").obj()


def having(*devices: str) -> api.ResourceClaim:
    return make_resource_claim("other").allocated(*(("r", "gpu.example.com", "n", device) for device in devices)).obj()


def fit(*objects: api.Object, kind: ScoringStrategyType = ScoringStrategyType.MOST_ALLOCATED) -> NodeResourcesFit:
    args = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type=kind, resources=ONLY_GPU))
    return NodeResourcesFit(args, FakeHandle(objects=objects))


def score(plugin: NodeResourcesFit, node: NodeInfo, pod: PodInfo | None = None) -> int:
    found = plugin.score(CycleState(), pod or POD.info(), node)
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(("taken", "expected"), [((), 25), (("a",), 50), (("a", "b", "c"), 100)])
def test_devices_count_as_what_the_node_offers(taken: tuple[str, ...], expected: int) -> None:
    node = make_node("n").capacity(cpu="4").info()
    assert score(fit(CLASS, four_devices(), having(*taken)), node) == expected


def test_a_node_that_offers_the_resource_is_scored_by_that() -> None:
    node = make_node("n").capacity(cpu="4", **{GPU: 2}).info()
    assert score(fit(CLASS, four_devices()), node) == 50


def test_nothing_counts_without_devices_or_a_class() -> None:
    node = make_node("n").capacity(cpu="4").info()
    assert score(fit(four_devices()), node) == 0
    assert score(fit(CLASS), node) == 0
    assert score(fit(CLASS, four_devices("m")), node) == 0
    assert score(fit(make_device_class("gpus").backs(GPU).selects("device.nonsense").obj(), four_devices()), node) == 0


def test_devices_that_say_where_they_are_count_there() -> None:
    here, there = api.Device(name="x", node_name="n"), api.Device(name="y", node_name="m")
    mixed = make_slice("s").per_device().devices(here, there).obj()
    assert score(fit(CLASS, mixed), make_node("n").info()) == 100


def test_the_least_allocated_node_is_the_one_with_free_devices() -> None:
    plugin = fit(CLASS, four_devices(), having("a"), kind=ScoringStrategyType.LEAST_ALLOCATED)
    assert score(plugin, make_node("n").info()) == 50


def test_balance_counts_devices_as_well() -> None:
    resources = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name=GPU, weight=1))
    args = NodeResourcesBalancedAllocationArgs(resources=resources)
    pod, node = make_pod("train").req(cpu="3", **{GPU: 1}).info(), make_node("n").capacity(cpu="4").info()
    with_devices = NodeResourcesBalancedAllocation(args, FakeHandle(objects=[CLASS, four_devices()]))
    without = NodeResourcesBalancedAllocation(args, FakeHandle(objects=[CLASS]))
    assert with_devices.score(CycleState(), pod, node) != without.score(CycleState(), pod, node)


def table(*names: str) -> NodeTable:
    made = NodeTable(lambda namespace: {})
    for name in names:
        made.set_node(make_node(name).capacity(cpu="4", pods=9).obj())
    return made


def test_rows_are_scored_as_nodes_are() -> None:
    view: NodesView = table("n", "m")
    plugin = fit(CLASS, four_devices(), having("a"))
    kernel = plugin.score_kernel(POD.info(), view)
    assert isinstance(kernel, DeviceRowScores)
    assert plugin.score_fragment(POD.info()) is None
    feasible = Feasible(np.where(view.alive, 0, -1), 2)
    rows = feasible.rows.tolist()
    assert kernel.normalized(feasible)[rows].tolist() == [score(plugin, view.info(row)) for row in rows]


def test_pods_that_do_not_ask_for_devices_are_scored_by_columns() -> None:
    plugin = fit(CLASS, four_devices())
    plain = make_pod("web").req(cpu="1").info()
    assert not isinstance(plugin.score_kernel(plain, table("n")), DeviceRowScores)
