# SPDX-License-Identifier: Apache-2.0
"""Devices that have to be made ready: the pod is bound when their drivers say that they are."""

from __future__ import annotations

import msgspec
import pytest
from tests.plugins.dynamic_resources.handle import OnePlugin

from steersman import api
from steersman.framework.status import Code
from steersman.scheduler.plugins.dynamic_resources.claims import are_devices_ready, has_binding_timed_out
from steersman.scheduler.plugins.dynamic_resources.plugin import REASON_DEALLOCATED
from steersman.testing import make_device_class, make_node, make_pod, make_resource_claim, make_slice

FABRIC = api.Device(
    name="f0", binds_to_node=True, binding_conditions=("Attached",), binding_failure_conditions=("Failed",)
)
TRAIN = make_pod("train").resource_claim("gpu").info()
NODES = [make_node("a").info()]


def cluster() -> OnePlugin:
    return OnePlugin(
        make_resource_claim("gpu").asks("r", "any"),
        make_device_class("any"),
        make_slice("fabric").everywhere().devices(FABRIC),
        nodes=NODES,
    )


def report(one: OnePlugin, *conditions: api.Condition) -> None:
    """What the driver writes into the claim."""
    claim = one.claim("gpu")
    device = api.AllocatedDeviceStatus(driver="gpu.example.com", pool="fabric", device="f0", conditions=conditions)
    version = str(int(claim.metadata.resource_version) + 1000)
    one.handle.store.put(
        msgspec.structs.replace(
            claim,
            metadata=msgspec.structs.replace(claim.metadata, resource_version=version),
            status=msgspec.structs.replace(claim.status, devices=(device,)),
        )
    )


def test_the_pod_waits_until_the_device_is_ready() -> None:
    one = cluster()
    one.take(TRAIN, "a")
    one.handle.while_sleeping = lambda: report(one, api.Condition(type="Attached", status="True"))
    assert one.bind(TRAIN, "a") is None
    assert one.handle.slept == [5.0]
    note = "waiting for binding conditions for device on node a"
    assert one.handle.pods.events == [("train", "BindingConditionsPending", note)]


def test_a_pod_whose_devices_need_no_preparation_has_no_event() -> None:
    one = OnePlugin(
        make_resource_claim("gpu").asks("r", "any"),
        make_device_class("any"),
        make_slice("local").everywhere().device("d"),
        nodes=NODES,
    )
    one.place(TRAIN, "a")
    assert one.handle.pods.events == []


def test_a_failure_ends_the_wait() -> None:
    one = cluster()
    one.take(TRAIN, "a")
    failed = api.Condition(type="Failed", status="True", reason="NoCable", message="unplugged")
    one.handle.while_sleeping = lambda: report(one, failed)
    status = one.bind(TRAIN, "a")
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message == 'device binding failed: claim=gpu, reason=NoCable, message="unplugged"'


def test_a_device_that_takes_too_long_is_given_up() -> None:
    one = cluster()
    one.take(TRAIN, "a")
    status = one.bind(TRAIN, "a")
    assert status is not None
    assert status.message.startswith("device binding timeout")
    assert sum(one.handle.slept) == pytest.approx(600.0, abs=6.0)


def test_a_claim_whose_device_failed_is_deallocated_in_the_next_attempt() -> None:
    one = cluster()
    one.take(TRAIN, "a")
    one.handle.while_sleeping = lambda: report(one, api.Condition(type="Failed", status="True"))
    assert one.bind(TRAIN, "a") is not None
    assert one.reasons(TRAIN) == {"a": "resourceclaim not available on the node"}

    class Statuses:
        groups = {one.plugin.filter(one.state, TRAIN, NODES[0]).with_plugin("DynamicResources"): ["a"]}  # type: ignore[union-attr]

    assert one.plugin.post_filter(one.state, TRAIN, Statuses())[1].message == REASON_DEALLOCATED


def test_a_claim_that_is_only_not_ready_yet_can_be_used() -> None:
    claim = make_resource_claim("gpu").allocated(("r", "gpu.example.com", "fabric", "f0")).obj()
    assert claim.status.allocation is not None
    result = msgspec.structs.replace(claim.status.allocation.devices.results[0], binding_conditions=("Attached",))
    allocation = api.AllocationResult(
        devices=api.DeviceAllocationResult(results=(result,)), allocation_timestamp="1970-01-01T00:00:00Z"
    )
    waiting = msgspec.structs.replace(claim, status=api.ResourceClaimStatus(allocation=allocation))
    assert not are_devices_ready(waiting)
    assert not has_binding_timed_out(waiting, now=600.0, timeout=600.0)
    assert has_binding_timed_out(waiting, now=601.0, timeout=600.0)
