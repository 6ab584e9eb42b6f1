# SPDX-License-Identifier: Apache-2.0
"""Profiles that take a plugin's Filter or Score without what prepares them: as if nothing had been prepared."""

from __future__ import annotations

from tests.testing.conformance.documents import Document, both_engines, node, placed, pod, replay

NODES = [node("n1"), node("n2", tier="best")]
PREFERENCE = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}
    ]
}


def without(point: str, plugin: str) -> Document:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {point: {"disabled": [{"name": plugin}]}}}],
    }


def result_of(config: Document, scalar: bool, **spec: object) -> Document:
    (result,) = replay(NODES, [pod("p", **spec)], [placed("p", "n2")], scalar, config)
    return result


@both_engines
def test_node_affinity_scores_without_being_prepared(scalar: bool) -> None:
    result = result_of(without("preScore", "NodeAffinity"), scalar, affinity={"nodeAffinity": PREFERENCE})
    raw = {plugin["name"]: plugin["raw"] for plugin in result["scores"]["plugins"]}
    assert raw["NodeAffinity"] == [0, 1]


@both_engines
def test_and_does_not_say_that_it_has_nothing_to_do(scalar: bool) -> None:
    result = result_of(without("preScore", "NodeAffinity"), scalar)
    assert "NodeAffinity" not in result["scores"]["skipped"]
    assert "NodeAffinity" in {plugin["name"] for plugin in result["scores"]["plugins"]}


@both_engines
def test_nor_does_a_plugin_that_the_pod_does_not_concern(scalar: bool) -> None:
    result = result_of(without("preScore", "VolumeBinding"), scalar)
    assert "VolumeBinding" in {plugin["name"] for plugin in result["scores"]["plugins"]}


@both_engines
def test_taints_cannot_be_scored_without_being_prepared(scalar: bool) -> None:
    result = result_of(without("preScore", "TaintToleration"), scalar)
    assert result["outcome"] == "error"
    assert "PreScoreTaintToleration" in result["message"]


@both_engines
def test_resources_cannot_be_filtered_without_being_prepared(scalar: bool) -> None:
    result = result_of(without("preFilter", "NodeResourcesFit"), scalar)
    assert result["outcome"] == "error"
    assert "PreFilterNodeResourcesFit" in result["message"]
