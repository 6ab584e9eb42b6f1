# SPDX-License-Identifier: Apache-2.0
"""Which events may make a pod schedulable that found no room."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest
from tests.plugins.node_resources.fitting import FPGA, GPU, HUGE_PAGES, fit_plugin

from steersman import api
from steersman.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from steersman.scheduler.plugins.node_resources.fit_hints import (
    after_device_class_event,
    after_node_event,
    after_pod_event,
)
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
OTHER = make_pod("other")


def device_class(name: str, resource: str | None = None) -> api.DeviceClass:
    return api.DeviceClass(
        metadata=api.ObjectMeta(name=name), spec=api.DeviceClassSpec(extended_resource_name=resource)
    )


def test_it_registers_for_pods_nodes_and_device_classes() -> None:
    pods, nodes, classes = fit_plugin().events_to_register()

    assert pods.event == ClusterEvent(EventResource.POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN)
    assert nodes.event == ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)
    assert classes.event == ClusterEvent(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE)
    assert None not in (pods.hint, nodes.hint, classes.hint)


def test_device_classes_do_not_matter_where_they_cannot_back_extended_resources() -> None:
    events = fit_plugin(gates={"DRAExtendedResource": False}).events_to_register()

    assert [registered.event.resource for registered in events] == [EventResource.POD, EventResource.NODE]


@pytest.mark.parametrize(
    ("gone", "hint"),
    [
        pytest.param(OTHER.node("n"), QUEUE, id="had a node"),
        pytest.param(OTHER.nominated("n"), QUEUE, id="was to get a node"),
        pytest.param(OTHER, SKIP, id="had no node"),
    ],
)
def test_a_deleted_pod_helps_if_it_had_room(gone: PodBuilder, hint: QueueingHint) -> None:
    assert after_pod_event(make_pod().req(cpu=1).obj(), gone.obj(), None) is hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(OTHER.node("n").req(cpu=2), OTHER.node("n").req(cpu=1), QUEUE, id="less cpu"),
        pytest.param(OTHER.node("n").req(memory=2), OTHER.node("n").req(memory=1), SKIP, id="less of something else"),
        pytest.param(OTHER.node("n").req(cpu=1), OTHER.node("n").req(cpu=2), SKIP, id="more cpu"),
        pytest.param(OTHER.req(cpu=2), OTHER.req(cpu=1), SKIP, id="on no node"),
        pytest.param(OTHER.node("n").pod_req(cpu=2), OTHER.node("n").pod_req(cpu=1), QUEUE, id="less cpu at pod level"),
        pytest.param(
            OTHER.node("n").pod_req(memory=2), OTHER.node("n").pod_req(memory=1), SKIP, id="less memory at pod level"
        ),
    ],
)
def test_another_pod_scaled_down_helps_if_it_frees_what_is_needed(
    old: PodBuilder, new: PodBuilder, hint: QueueingHint
) -> None:
    assert after_pod_event(make_pod().req(cpu=1).obj(), old.obj(), new.obj()) is hint


def test_freed_extended_resources_help_pods_that_need_them() -> None:
    old, new = OTHER.node("n").req(**{GPU: 2}).obj(), OTHER.node("n").obj()

    assert after_pod_event(make_pod().req(**{GPU: 1}).obj(), old, new) is QUEUE
    assert after_pod_event(make_pod().req(**{GPU: 0}).obj(), old, new) is SKIP
    assert after_pod_event(make_pod().req(**{FPGA: 1}).obj(), old, new) is SKIP


def test_a_resize_that_is_over_helps() -> None:
    def running(allocated: int) -> api.Pod:
        pod = OTHER.node("n").container(name="app", requests={"cpu": 1}).obj()
        given = api.ResourceRequirements(requests={"cpu": allocated})
        status = api.ContainerStatus(name="app", resources=given, allocated_resources={"cpu": allocated})
        return msgspec.structs.replace(pod, status=api.PodStatus(container_statuses=(status,)))

    assert after_pod_event(make_pod().req(cpu=1).obj(), running(2), running(1)) is QUEUE
    assert after_pod_event(make_pod().req(cpu=1).obj(), running(1), running(2)) is SKIP


def test_the_waiting_pod_itself_scaled_down_is_worth_an_attempt() -> None:
    waiting = make_pod().req(cpu=1).obj()

    assert after_pod_event(waiting, make_pod().req(cpu=2).obj(), waiting) is QUEUE


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, make_node().capacity(memory=1, **{GPU: 1}), SKIP, id="added, too small"),
        pytest.param(None, make_node().capacity(memory=4, **{FPGA: 1}), SKIP, id="added, without the resource"),
        pytest.param(None, make_node().capacity(memory=4, pods=0, **{GPU: 1}), SKIP, id="added, takes no pods"),
        pytest.param(None, make_node().capacity(memory=4, **{GPU: 1}), QUEUE, id="added, large enough"),
        pytest.param(
            make_node().capacity(memory=2, **{GPU: 2}),
            make_node().capacity(memory=2, **{GPU: 1, FPGA: 1}),
            SKIP,
            id="more of something else",
        ),
        pytest.param(
            make_node().capacity(memory=2, **{GPU: 1}),
            make_node().capacity(memory=2, **{GPU: 2}),
            QUEUE,
            id="more of what is needed",
        ),
        pytest.param(
            make_node().capacity(memory=1, **{GPU: 1}),
            make_node().capacity(memory=2, **{GPU: 1}),
            QUEUE,
            id="now large enough",
        ),
        pytest.param(
            make_node().capacity(memory=4, **{GPU: 1}),
            make_node().capacity(memory=1, **{GPU: 1}),
            SKIP,
            id="no longer large enough",
        ),
        pytest.param(
            make_node().capacity(memory=2, pods=1, **{GPU: 1}),
            make_node().capacity(memory=2, pods=2, **{GPU: 1}),
            QUEUE,
            id="takes more pods",
        ),
    ],
)
def test_a_node_helps_if_the_pod_fits_on_it_thanks_to_the_change(
    old: NodeBuilder | None, new: NodeBuilder, hint: QueueingHint
) -> None:
    waiting = make_pod().req(memory=2, **{GPU: 1, HUGE_PAGES: 0}).obj()

    assert after_node_event(None, waiting, old.obj() if old else None, new.obj()) is hint


def test_more_of_anything_does_not_help_a_pod_without_requests() -> None:
    old, new = make_node().capacity(cpu=1).obj(), make_node().capacity(cpu=2).obj()

    assert after_node_event(None, make_pod().obj(), old, new) is SKIP


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, device_class("gpu", GPU), QUEUE, id="added for the resource"),
        pytest.param(None, device_class("gpu", FPGA), SKIP, id="added for another resource"),
        pytest.param(None, device_class("gpu"), SKIP, id="added for none"),
        pytest.param(None, device_class("named"), QUEUE, id="added, requested by its name"),
        pytest.param(device_class("gpu"), device_class("gpu", GPU), QUEUE, id="now backs the resource"),
        pytest.param(device_class("gpu", FPGA), device_class("gpu", GPU), QUEUE, id="now backs another resource"),
        pytest.param(device_class("gpu", GPU), device_class("gpu", GPU), SKIP, id="unchanged"),
        pytest.param(device_class("gpu", GPU), device_class("gpu", FPGA), SKIP, id="no longer backs the resource"),
        pytest.param(device_class("named"), device_class("named"), SKIP, id="its name never changes"),
    ],
)
def test_a_device_class_helps_if_it_backs_what_the_pod_requests(
    old: api.DeviceClass | None, new: api.DeviceClass, hint: QueueingHint
) -> None:
    waiting = make_pod().req(**{GPU: 1, "deviceclass.resource.kubernetes.io/named": 1}).obj()

    assert after_device_class_event(waiting, old, new) is hint


def test_objects_of_another_kind_are_a_fault() -> None:
    waiting = make_pod().obj()

    for hint in (after_pod_event, partial(after_node_event, None), after_device_class_event):
        with pytest.raises(TypeError):
            hint(waiting, None, "not an object")
    with pytest.raises(TypeError):
        after_pod_event(waiting, "not a pod", None)
