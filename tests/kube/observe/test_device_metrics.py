# SPDX-License-Identifier: Apache-2.0
"""Metrics of devices that drivers prepare, and of claims that the scheduler creates."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from tests.plugins.dynamic_resources.handle import OnePlugin
from tests.plugins.dynamic_resources.test_binding_conditions import TRAIN, cluster, report

from steersman import api
from steersman.base import ManualClock
from steersman.config import default_configuration
from steersman.kube.observe.attempt_metrics import AttemptMetrics
from steersman.kube.observe.device_metrics import DeviceMetrics
from steersman.kube.observe.metrics import Metrics
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.plugins import DynamicResources
from steersman.scheduler.what_if import isolated_scheduler
from steersman.testing import make_device_class, make_node, make_pod, make_slice

GPU = "example.com/gpu"
PREFIX = "scheduler_dra_bindingconditions"
CREATED = "dynamic_resource_allocation_resourceclaim_creates_total"


@pytest.mark.parametrize(
    ("condition", "status", "seconds"),
    [
        (api.Condition(type="Attached", status="True"), "success", 5.0),
        (api.Condition(type="Failed", status="True"), "failure", 5.0),
        (None, "timeout", 600.0),
    ],
)
def test_a_wait_for_devices_is_measured_by_driver_and_end(
    condition: api.Condition | None, status: str, seconds: float
) -> None:
    metrics, one = Metrics(), cluster()
    one.plugin.report_to(DeviceMetrics(metrics, "batch"))
    one.take(TRAIN, "a")
    if condition is not None:
        one.handle.while_sleeping = lambda: report(one, condition)
    one.bind(TRAIN, "a")

    labels = {"profile": "batch", "driver": "gpu.example.com", "status": status}
    value = metrics.registry.get_sample_value
    assert value(f"{PREFIX}_allocations_total", labels) == 1
    assert value(f"{PREFIX}_wait_duration_seconds_sum", labels) == pytest.approx(seconds, abs=6.0)


@pytest.mark.parametrize("status", ["success", "failure"])
def test_a_claim_for_extended_resources_is_counted(status: str) -> None:
    metrics = Metrics()
    devices = (make_device_class("gpus").backs(GPU), make_slice("n").on_node("a").device("d"))
    one = OnePlugin(*devices, nodes=[make_node("a").info()])
    one.plugin.report_to(DeviceMetrics(metrics, "batch"))
    pod = make_pod("train").req(**{GPU: "1"}).info()
    assert one.take(pod, "a") is None
    one.handle.resource_claims.fails = status == "failure"
    with nullcontext() if status == "success" else pytest.raises(RuntimeError):
        one.bind(pod, "a")

    labels = {"status": status, "admin_access": "false", "owner_api_group": "", "owner_api_kind": "Pod"}
    assert metrics.registry.get_sample_value(CREATED, labels) == 1


def test_the_plugin_of_a_measured_profile_reports() -> None:
    (profile,) = isolated_scheduler(SchedulerOptions(default_configuration()), ManualClock()).profiles.values()
    AttemptMetrics(Metrics(), ManualClock()).instrumented(profile)
    plugin = profile.plugins["DynamicResources"]
    assert isinstance(plugin, DynamicResources)
    assert isinstance(plugin._binder.reports, DeviceMetrics)
