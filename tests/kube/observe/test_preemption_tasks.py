# SPDX-License-Identifier: Apache-2.0
"""Preemptions that were carried out, in metrics."""

from __future__ import annotations

from tests.kube.observe.measured_cluster import MeasuredCluster


def test_a_preemption_that_succeeded_counts_and_has_a_duration(cluster: MeasuredCluster) -> None:
    cluster.add_pod("victim", cpu="4")
    cluster.run()
    assert cluster.value("preemption_goroutines_execution_total", result="success") is None
    cluster.add_pod("mighty", cpu="4", priority=10)
    cluster.run()
    cluster.tasks.run_ready()
    assert cluster.value("preemption_goroutines_execution_total", result="success") == 1
    assert cluster.value("preemption_goroutines_duration_seconds_count", result="success") == 1
    assert cluster.value("preemption_goroutines_execution_total", result="error") is None
