# SPDX-License-Identifier: Apache-2.0
"""Kubelets without machines: what they write where no API server is needed to see it."""

from __future__ import annotations

from tests.upstream.fake_kubelets import ZONES, allocatable_change, node_manifest


def test_extended_resources_follow_the_capacity() -> None:
    node = node_manifest(0)
    assert allocatable_change(node) == {}

    node["status"]["capacity"] = node["status"]["capacity"] | {"example.com/foo": "10"}
    assert allocatable_change(node) == {"example.com/foo": "10"}

    node["status"]["allocatable"] = node["status"]["allocatable"] | {"example.com/foo": "4", "example.com/bar": "1"}
    assert allocatable_change(node) == {"example.com/foo": "10", "example.com/bar": None}


def test_nodes_are_spread_over_zones() -> None:
    zones = {node_manifest(number)["metadata"]["labels"]["topology.kubernetes.io/zone"] for number in range(4)}
    assert zones == set(ZONES)
