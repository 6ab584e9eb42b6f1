# SPDX-License-Identifier: Apache-2.0
"""How often plugins were asked."""

from __future__ import annotations

import pytest
from tests.observe.measured_cluster import MeasuredCluster

from steersman.observe import evaluations
from steersman.testing import is_in, make_node, make_pod


def asked(cluster: MeasuredCluster, plugin: str, point: str) -> float | None:
    return cluster.value("plugin_evaluation_total", plugin=plugin, extension_point=point, profile="default-scheduler")


def test_pre_filters_are_asked_once_per_attempt_and_filters_once_per_node(cluster: MeasuredCluster) -> None:
    cluster.store.create(make_node("n2").capacity(cpu="4", memory="8Gi", pods=20).obj())
    for index in range(3):
        cluster.add_pod(f"web-{index}")
    cluster.run()
    assert asked(cluster, "NodeResourcesFit", "PreFilter") == 3
    assert asked(cluster, "NodeResourcesFit", "Filter") == 6


def test_plugins_with_nothing_to_do_do_not_count(cluster: MeasuredCluster) -> None:
    cluster.add_pod("plain")
    cluster.run()
    assert asked(cluster, "NodePorts", "PreFilter") is None
    cluster.store.create(make_pod("port").host_port(80).obj())
    cluster.run()
    assert asked(cluster, "NodePorts", "PreFilter") == 1


def test_counts_go_on_from_scrape_to_scrape(cluster: MeasuredCluster) -> None:
    for index in range(2):
        cluster.add_pod(f"web-{index}")
        cluster.run()
        assert asked(cluster, "NodeResourcesFit", "PreFilter") == index + 1


def test_no_attempt_is_lost_when_there_are_many_templates(
    cluster: MeasuredCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluations, "MOST_TEMPLATES", 2)
    monkeypatch.setattr(evaluations, "LOOK_AGAIN", 2)
    for index in range(12):
        cluster.add_pod(f"web-{index}", cpu=f"{index % 4 + 1}m")
    cluster.run()
    assert asked(cluster, "NodeResourcesFit", "PreFilter") == 12


def test_pre_scores_are_asked_once_per_attempt_and_scores_once_per_node_that_fits(cluster: MeasuredCluster) -> None:
    for name in ("n2", "n3"):
        cluster.store.create(make_node(name).capacity(cpu="4", memory="8Gi", pods=20).obj())
    cluster.store.create(make_node("full").capacity(cpu="1m", memory="8Gi", pods=20).obj())
    for index in range(2):
        cluster.add_pod(f"web-{index}")
    cluster.run()
    assert asked(cluster, "NodeResourcesFit", "PreScore") == 2
    assert asked(cluster, "NodeResourcesFit", "Score") == 6
    assert asked(cluster, "ImageLocality", "PreScore") is None, "it has no PreScore"
    assert asked(cluster, "ImageLocality", "Score") == 6


def test_where_one_node_fits_nothing_is_scored(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    cluster.run()
    assert asked(cluster, "NodeResourcesFit", "PreFilter") == 1
    assert asked(cluster, "NodeResourcesFit", "PreScore") is None
    assert asked(cluster, "NodeResourcesFit", "Score") is None


def test_plugins_with_nothing_to_score_do_not_count(cluster: MeasuredCluster) -> None:
    cluster.store.create(make_node("n2").capacity(cpu="4", memory="8Gi", pods=20).label("disk", "ssd").obj())
    cluster.add_pod("plain")
    cluster.run()
    assert asked(cluster, "NodeAffinity", "PreScore") is None
    assert asked(cluster, "NodeAffinity", "Score") is None
    cluster.store.create(make_pod("picky").preferred_node_affinity(10, is_in("disk", "ssd")).obj())
    cluster.run()
    assert asked(cluster, "NodeAffinity", "PreScore") == 1
    assert asked(cluster, "NodeAffinity", "Score") == 2
