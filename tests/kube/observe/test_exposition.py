# SPDX-License-Identifier: Apache-2.0
"""The text that Prometheus reads."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from tests.kube.observe.measured_cluster import MeasuredCluster


def test_the_text_can_be_parsed_and_has_the_samples(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    cluster.run()
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(cluster.text())
        for sample in family.samples
    }
    labels = (("profile", "default-scheduler"), ("result", "scheduled"))
    assert samples["scheduler_schedule_attempts_total", labels] == 1
    assert samples["scheduler_scheduling_attempt_duration_seconds_bucket", (("le", "+Inf"), *labels)] == 1


def test_bucket_bounds_are_written_as_upstream_writes_them(cluster: MeasuredCluster) -> None:
    bounds = [
        line.split('le="')[1].split('"')[0]
        for line in cluster.text().splitlines()
        if line.startswith("scheduler_scheduling_algorithm_duration_seconds_bucket")
    ]
    assert [float(bound) for bound in bounds[:3]] == [0.001, 0.002, 0.004]
    assert bounds[-2:] == ["16.384", "+Inf"]


def test_there_are_no_series_of_creation_times(cluster: MeasuredCluster) -> None:
    assert "_created" not in cluster.text()


def test_whole_bucket_bounds_have_no_fraction(cluster: MeasuredCluster) -> None:
    text = cluster.text()
    assert 'scheduler_pod_scheduling_attempts_bucket{le="1"}' in text
    assert '.0"}' not in text


def test_help_begins_with_the_stability_of_upstreams_metrics(cluster: MeasuredCluster) -> None:
    helps = dict(
        line.removeprefix("# HELP ").split(" ", 1) for line in cluster.text().splitlines() if line.startswith("# HELP ")
    )
    assert helps["scheduler_schedule_attempts_total"].startswith("[STABLE] ")
    assert helps["scheduler_plugin_evaluation_total"].startswith("[BETA] ")
    assert helps["scheduler_cache_size"].startswith("[ALPHA] ")
    assert not helps["steersman_recording"].startswith("[")
