# SPDX-License-Identifier: Apache-2.0
"""Extended resources that a class of devices stands behind are left to DynamicResources on nodes that do not offer them."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.equivalence.examples import examples
from tests.plugins.column_checks import Change, ChangingCluster, FilterCheck
from tests.plugins.handles import FakeHandle
from tests.plugins.node_resources.fitting import FPGA, GPU
from tests.plugins.node_resources.odd_amounts import stories, waiting_pods

from steersman import api
from steersman.config import NodeResourcesFitArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.device_classes import DeviceClasses
from steersman.framework.events import QueueingHint
from steersman.framework.node_info import NodeInfo
from steersman.scheduler.plugins.node_resources import NodeResourcesFit
from steersman.scheduler.plugins.node_resources.fit_hints import after_node_event
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import Harness, PodBuilder, make_device_class, make_node, make_pod

CLASS = make_device_class("gpus").backs(GPU)
POD = make_pod("train").req(cpu="1", **{GPU: 2})


def plugin(*objects: api.Object, **gates: bool) -> NodeResourcesFit:
    return NodeResourcesFit(NodeResourcesFitArgs(), FakeHandle(objects=objects, gates=gates))


def reason(plugin: NodeResourcesFit, pod: PodBuilder, node: NodeInfo) -> str:
    state = CycleState()
    assert plugin.pre_filter(state, pod.info(), ()) is None
    status = plugin.filter(state, pod.info(), node)
    return "" if status is None else status.message


@pytest.mark.parametrize(
    ("offered", "lacking"),
    [({}, ""), ({GPU: 0}, ""), ({GPU: 4}, ""), ({GPU: 1}, f"Insufficient {GPU}")],
)
def test_only_nodes_that_offer_the_resource_must_have_enough_of_it(offered: dict[str, int], lacking: str) -> None:
    node = make_node("n").capacity(cpu="4", pods=10, **offered).info()
    assert reason(plugin(CLASS.obj()), POD, node) == lacking


def test_without_a_class_or_the_gate_the_node_must_offer_it() -> None:
    node = make_node("n").capacity(cpu="4", pods=10).info()
    assert reason(plugin(), POD, node) == f"Insufficient {GPU}"
    assert reason(plugin(CLASS.obj(), DRAExtendedResource=False), POD, node) == f"Insufficient {GPU}"


def test_other_resources_must_suffice_as_ever() -> None:
    node = make_node("n").capacity(cpu="500m", pods=10).info()
    assert reason(plugin(CLASS.obj()), POD, node) == "Insufficient cpu"


@examples(60)
@given(stories, waiting_pods)
def test_vector_and_scalar_form_agree(story: list[Change], pods: list[PodBuilder]) -> None:
    cluster = ChangingCluster()
    classes = (make_device_class("gpus").backs(GPU).obj(), make_device_class("fpgas").backs(FPGA).obj())
    check = FilterCheck(plugin(*classes), cluster)
    for change in story:
        cluster.apply(change)
        for pod in pods:
            check(cluster.shapes.info(pod.obj()))


def test_a_class_that_comes_and_goes_is_noticed() -> None:
    """The columns that are kept for pods of a shape are not used any longer."""
    with Harness(nodes=[make_node("n").capacity(cpu="4", memory="8Gi", pods="10")]) as harness:
        assert f"Insufficient {GPU}" in str(harness.rejections(POD)["n"])
        harness.add(CLASS.obj())
        assert "cannot allocate all claims" in str(harness.rejections(POD)["n"])
        harness.delete(CLASS.obj())
        assert f"Insufficient {GPU}" in str(harness.rejections(POD)["n"])


def test_a_node_without_the_resource_may_help_where_devices_can_provide_it() -> None:
    store = ObjectStore()
    classes = DeviceClasses(store)
    old, new = make_node("n").capacity(cpu="4", pods=10).obj(), make_node("n").capacity(cpu="5", pods=10).obj()
    assert after_node_event(classes, POD.obj(), None, new) is QueueingHint.SKIP
    store.put(CLASS.obj())
    assert after_node_event(classes, POD.obj(), None, new) is QueueingHint.QUEUE
    assert after_node_event(classes, make_pod("p").req(**{GPU: 1}).obj(), old, new) is QueueingHint.QUEUE
