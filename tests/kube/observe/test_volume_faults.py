# SPDX-License-Identifier: Apache-2.0
"""Faults of volumes are counted by the stage at which they happen."""

from __future__ import annotations

import pytest
from tests.kube.observe.measured_cluster import MeasuredCluster

from steersman.framework.pod_info import PodShapes
from steersman.framework.status import fault
from steersman.scheduler.cycle.decision import Failed
from steersman.scheduler.queue import QueuedPodInfo
from steersman.testing import make_pod

ERRORS = "volume_scheduling_stage_error_total"


@pytest.mark.parametrize(("point", "operation"), [("Reserve", "assume"), ("PreBind", "bind")])
def test_a_fault_of_the_plugin_counts_for_its_stage(cluster: MeasuredCluster, point: str, operation: str) -> None:
    cluster.measuring.plugin_ran("u", point, "VolumeBinding", "Success", 0.1)
    cluster.measuring.plugin_ran("u", point, "DynamicResources", "Error", 0.1)
    assert cluster.value(ERRORS, operation=operation) is None
    cluster.measuring.plugin_ran("u", point, "VolumeBinding", "Error", 0.1)
    assert cluster.value(ERRORS, operation=operation) == 1


def test_a_fault_of_the_filter_counts_as_predicate(cluster: MeasuredCluster) -> None:
    pod = make_pod("web").obj()
    for plugin in ("VolumeBinding", "NodeAffinity"):
        decision = Failed(PodShapes().info(pod), "default-scheduler", fault("Filter", plugin, "no such volume"))
        cluster.measuring.decided(QueuedPodInfo(pod, 0, 1), decision)
    assert cluster.value(ERRORS, operation="predicate") == 1


def test_the_build_is_shown_with_the_version_of_kubernetes(cluster: MeasuredCluster) -> None:
    (line,) = (line for line in cluster.text().splitlines() if line.startswith("kubernetes_build_info{"))
    assert 'major="1"' in line
    assert 'git_version="v1.37.1+steersman-' in line
