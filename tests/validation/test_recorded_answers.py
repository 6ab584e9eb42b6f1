# SPDX-License-Identifier: Apache-2.0
"""The API server's answers are compared with a vendored subset of recorded answers of kube-apiserver v1.36.4."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.validation.recorded_answers import Comparison, compare, figures, read, recorded_server

FOLDER = Path(__file__).parents[1] / "golden" / "validation"
FILE = FOLDER / "kube-apiserver-1.36.jsonl.gz"
LEAST_STATUS, LEAST_FIELDS, LEAST_MESSAGES = 131, 88, 88
"""Numbers of cases that agree; raise them when more do."""


@pytest.fixture(scope="module")
def comparisons() -> list[Comparison]:
    head, cases = read(FILE)
    return compare(head, cases, recorded_server())


def test_statuses_fields_and_messages_agree_with_kube_apiserver(comparisons: list[Comparison]) -> None:
    found = figures(comparisons)
    differing = [f"{each.difference}: {each.case['name']}" for each in comparisons if each.difference]
    assert found.status >= LEAST_STATUS, differing
    assert found.fields >= LEAST_FIELDS, differing
    assert found.messages >= LEAST_MESSAGES, differing


def test_what_kube_apiserver_accepts_is_accepted(comparisons: list[Comparison]) -> None:
    accepted = [each for each in comparisons if each.case["answer"]["status"] < 300]
    assert len(accepted) >= 40
    assert [each.answer for each in accepted if each.answer["status"] >= 300] == []


def test_pods_and_workloads_with_one_changed_field_are_answered_as_by_kube_apiserver() -> None:
    head, cases = read(FOLDER / "pods-and-workloads-1.36.jsonl.gz")
    found = compare(head, cases, recorded_server())
    assert len(found) > 700
    assert [(each.difference, each.case["name"], each.answer) for each in found if each.difference] == []


def test_a_server_that_refuses_everything_disagrees() -> None:
    head, cases = read(FILE)
    refusals = [
        {**case, "answer": {"status": 422, "reason": "Invalid", "causes": [], "message": "no"}} for case in cases
    ]
    found = figures(compare(head, refusals, recorded_server()))
    assert found.fields == found.messages == 0
