# SPDX-License-Identifier: Apache-2.0
"""Nodes that have the better alternatives score higher."""

from __future__ import annotations

from steersman.testing import Harness, make_device_class, make_node, make_pod, make_resource_claim, make_slice


def harness() -> Harness:
    return Harness(
        nodes=[make_node(name).capacity(cpu="8", memory="16Gi", pods="110") for name in ("few", "many", "none")],
        objects=[
            make_device_class("any").obj(),
            make_slice("few").on_node("few").device("d").obj(),
            make_slice("many").on_node("many").device("d").device("e").obj(),
            make_resource_claim("gpu").asks_for_first("r", two=("any", 2), one=("any", 1)).obj(),
            make_resource_claim("plain").asks("r", "any").obj(),
        ],
    )


def test_the_first_alternative_is_worth_more_than_the_second() -> None:
    with harness() as cluster:
        pod = make_pod("train").resource_claim("gpu")
        assert cluster.scores(pod)["DynamicResources"] == {"many": 100, "few": 87}
        assert cluster.place(pod) == "many"


def test_without_alternatives_all_nodes_score_alike() -> None:
    with harness() as cluster:
        assert cluster.scores(make_pod("p").resource_claim("plain"))["DynamicResources"] == {"many": 0, "few": 0}


def test_a_pod_without_claims_scores_nothing() -> None:
    with harness() as cluster:
        assert set(cluster.scores(make_pod("web"))["DynamicResources"].values()) == {0}
