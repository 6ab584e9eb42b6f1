# SPDX-License-Identifier: Apache-2.0
"""What a node costs, and the pool that it belongs to."""

from __future__ import annotations

import msgspec
import pytest

from steersman import api
from steersman.base.errors import InputError
from steersman.simulation.node_pools import PRICE_ANNOTATION, pool_of, price_of
from steersman.testing import make_node


def _annotated(text: str) -> api.Node:
    node = make_node("n1").obj()
    return msgspec.structs.replace(
        node, metadata=msgspec.structs.replace(node.metadata, annotations={PRICE_ANNOTATION: text})
    )


@pytest.mark.parametrize(
    "label",
    [
        "steersman.dev/pool",
        "cloud.google.com/gke-nodepool",
        "eks.amazonaws.com/nodegroup",
        "kubernetes.azure.com/agentpool",
        "karpenter.sh/nodepool",
        "node.kubernetes.io/instance-type",
    ],
)
def test_the_label_of_every_provider_names_the_pool(label: str) -> None:
    assert pool_of(make_node("n1").label(label, "general").obj()) == "general"


def test_our_own_label_goes_before_the_providers() -> None:
    node = make_node("n1").label("karpenter.sh/nodepool", "theirs").label("steersman.dev/pool", "ours")
    assert pool_of(node.obj()) == "ours"


def test_a_node_without_such_a_label_is_in_the_pool_without_a_name() -> None:
    assert pool_of(make_node("n1").label("zone", "a").obj()) == ""


def test_the_annotation_is_the_price_and_goes_before_the_label() -> None:
    assert price_of(_annotated("0.40")) == 0.4
    assert price_of(make_node("n1").label(PRICE_ANNOTATION, "1.5").obj()) == 1.5
    assert price_of(make_node("n1").obj()) == 0.0


@pytest.mark.parametrize("text", ["cheap", "", "-1", "nan", "inf"])
def test_what_is_no_price_is_an_error_that_names_node_field_and_value(text: str) -> None:
    with pytest.raises(
        InputError, match=r"Node n1: metadata\.annotations\[steersman\.dev/price-per-hour\].*is not a price"
    ):
        price_of(_annotated(text))
