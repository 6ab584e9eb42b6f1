# SPDX-License-Identifier: Apache-2.0
"""A pod whose terms exceed the budget of a cycle fails with a message, and other pods are scheduled."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from tests.hostile.large_pod_cluster import add_large_pod, cluster, schedule_plain_pod
from tests.hostile.large_pods import KINDS

from steersman.scheduler.cycle.decision import Failed, Scheduled
from steersman.testing import Harness

SIZE = 20_000
#: Kinds without terms that are compared with nodes or pods, or with one term only.
WITHOUT_TERMS = {
    "anti-affinity with a selector of many values",
    "node affinity In of many values",
    "node affinity NotIn of many values",
    "claimed volumes",
    "disks",
    "ephemeral volumes",
    "resource claims",
    "containers",
    "init containers",
    "scheduling gates",
}


@pytest.fixture
def small_budget() -> Iterator[None]:
    with patch("steersman.scheduler.cycle.budget.MAX_COMPARISONS", 1_000):
        yield


@pytest.fixture
def harness() -> Harness:
    return cluster(6)


def test_a_pod_over_the_budget_fails_with_a_message_and_the_pod_behind_it_is_scheduled(
    harness: Harness, small_budget: None
) -> None:
    add_large_pod(harness, "hard spread over hosts", SIZE)
    large, plain = schedule_plain_pod(harness, "plain")
    assert isinstance(large, Failed)
    assert isinstance(plain, Scheduled)
    assert "scheduling terms: comparing them with 6 nodes and 13 kinds of running pods exceeds" in large.status.message


def test_a_pod_within_the_budget_is_scheduled(harness: Harness) -> None:
    add_large_pod(harness, "hard spread over hosts", SIZE)
    decisions = schedule_plain_pod(harness, "plain")
    assert [type(decision) for decision in decisions] == [Scheduled, Scheduled]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WITHOUT_TERMS])
def test_terms_of_every_kind_count(harness: Harness, kind: str, small_budget: None) -> None:
    add_large_pod(harness, kind, SIZE)
    decisions = schedule_plain_pod(harness, "plain")
    assert isinstance(decisions[0], Failed)
