# SPDX-License-Identifier: Apache-2.0
"""Which workloads are run."""

from __future__ import annotations

import pytest

from steersman.base.errors import InputError
from steersman.testing.bench import TestCase, Workload, select
from steersman.testing.bench.workload_files import has_labels

CASES = [
    TestCase("f", "Basic", (), (Workload("small", labels=("short",)), Workload("large"))),
    TestCase("f", "BasicSpread", (), (Workload("small"),), labels=("performance",)),
]


def names(*tests: str, labels: str = "") -> list[str]:
    return [selected.name for selected in select(CASES, tests, labels)]


def test_all_are_selected_unless_something_else_is_reported() -> None:
    assert names() == ["Basic/small", "Basic/large", "BasicSpread/small"]


def test_a_test_case_or_workload_is_selected_by_its_name() -> None:
    assert names("Basic") == ["Basic/small", "Basic/large"]
    assert names("BasicSpread/small", "Basic/large") == ["Basic/large", "BasicSpread/small"]


def test_what_is_no_name_is_a_regular_expression() -> None:
    assert names("Spr.*/s") == ["BasicSpread/small"]
    assert names("small$") == ["Basic/small", "BasicSpread/small"]


def test_a_test_that_selects_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match=r'--test: selects no workload \(got "Ghost"\); the test cases are Basic, Bas'):
        names("Ghost")
    with pytest.raises(InputError, match="--test: is not a regular expression"):
        names("(")


def test_labels_of_test_case_and_workload_count_alike() -> None:
    assert names(labels="short") == ["Basic/small"]
    assert names(labels="performance") == ["BasicSpread/small"]
    assert names(labels="-short,-performance") == ["Basic/large"]


def test_a_plus_is_the_same_as_nothing() -> None:
    assert has_labels(("a", "b"), "+a, b,,-c")
    assert not has_labels(("a",), "+b")
