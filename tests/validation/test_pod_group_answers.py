# SPDX-License-Identifier: Apache-2.0
"""Answers to pod groups and workloads: those of kube-apiserver v1.37.1 with all gates of pod groups."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.apiserver.embedded_api import EmbeddedApi
from tests.validation.recorded_answers import Comparison, compare, read

from steersman.config import FeatureGates

FILE = Path(__file__).resolve().parents[1] / "golden" / "validation" / "pod-groups-1.37.jsonl.gz"
GATES = FeatureGates(
    dict.fromkeys(
        (
            "CompositePodGroup",
            "DRAWorkloadResourceClaims",
            "GenericWorkload",
            "PodGroupPreemptionPolicy",
            "TopologyAwareWorkloadScheduling",
        ),
        True,
    ),
    "1.37",
)


@pytest.fixture(scope="module")
def comparisons() -> list[Comparison]:
    head, cases = read(FILE)
    return compare(head, cases, EmbeddedApi(api_server_admission=True, gates=GATES))


def test_refusals_have_the_words_of_kube_apiserver(comparisons: list[Comparison]) -> None:
    assert len(comparisons) > 350
    assert [(each.difference, each.case["name"], each.answer) for each in comparisons if each.difference] == []


def test_specs_are_stored_with_the_defaults_of_kube_apiserver(comparisons: list[Comparison]) -> None:
    stored = [each for each in comparisons if each.case["answer"]["status"] < 300]
    assert len(stored) > 50
    assert [each.case["name"] for each in stored if each.answer["object"]["spec"] != each.case["answer"]["spec"]] == []


def test_without_their_gates_the_kinds_are_not_served() -> None:
    for gates in (FeatureGates(version="1.37"), FeatureGates({"GenericWorkload": True}, "1.36")):
        cluster = EmbeddedApi(gates=gates)
        assert cluster.answer("GET", "/apis/scheduling.k8s.io/v1beta1/podgroups").code == 404
    groups_only = EmbeddedApi(gates=FeatureGates({"GenericWorkload": True}, "1.37"))
    assert groups_only.answer("GET", "/apis/scheduling.k8s.io/v1beta1/podgroups").code == 200
    assert groups_only.answer("GET", "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups").code == 404
