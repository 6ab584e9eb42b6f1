# SPDX-License-Identifier: Apache-2.0
"""Claims of an input without storage classes, a rendered chart for example, get volumes; where classes or volumes are given,
nothing is assumed."""

from __future__ import annotations

from typing import Any

import pytest

from steersman import Simulation
from steersman.testing import make_node, make_pod

TEMPLATE = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}


def stateful_set(**claim: Any) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **claim}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": 2,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": TEMPLATE,
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": spec}],
        },
    }


def node() -> Any:
    return make_node("n").capacity(cpu="4", memory="8Gi", pods="10").obj()


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ({}, "no StorageClass is in the input: a default one was assumed"),
        ({"storageClassName": "gp3"}, "no StorageClass is in the input: gp3 was assumed"),
    ],
)
def test_the_class_of_a_chart_is_assumed_with_a_note(claim: dict[str, Any], told: str) -> None:
    result = Simulation.load(node(), stateful_set(**claim)).run()
    assert {key: placed.node for key, placed in result.placements.items()} == {"default/db-0": "n", "default/db-1": "n"}
    assert any(note.startswith(told) for note in result.notes)


def test_nothing_is_assumed_where_classes_are_known() -> None:
    given = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "slow"},
        "provisioner": "example.com/slow",
    }
    result = Simulation.load(node(), given, stateful_set(storageClassName="gp3")).run()
    assert [placed.node for placed in result.placements.values()] == [""]
    assert not any("StorageClass" in note for note in result.notes)


def test_a_claim_that_asks_for_no_class_waits_for_a_volume() -> None:
    result = Simulation.load(node(), stateful_set(storageClassName="")).run()
    assert [placed.node for placed in result.placements.values()] == [""]


def test_nothing_is_assumed_without_claims() -> None:
    assert Simulation.load(node(), make_pod("a").obj()).run().notes == ()
