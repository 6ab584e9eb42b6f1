# SPDX-License-Identifier: Apache-2.0
"""How logs of upstream's integration tests are read, and which tests are excluded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.upstream.integration.running import (
    Exclusion,
    load_exclusions,
    results_in,
    skip_pattern,
    without_excluded,
)
from tests.upstream.suite import Spec, SuiteError

from steersman.base import KUBE_SCHEDULER_RELEASES

LOG = """\
=== RUN   TestGang
=== RUN   TestGang/fits
    controller.go:86: starting
=== RUN   TestGang/does_not_fit
    podgroup_test.go:12: pod p1 is bound
--- FAIL: TestGang (3.00s)
    --- PASS: TestGang/fits (1.00s)
    --- FAIL: TestGang/does_not_fit (2.00s)
=== RUN   TestOld
    steersman_process.go:9: STEERSMAN_NEEDS emulation of v1.32
--- SKIP: TestOld (0.10s)
=== RUN   TestLast
F1119 22:23:58.481641   26225 hooks.go:203] PostStartHook failed
"""


@pytest.fixture
def specs(tmp_path: Path) -> list[Spec]:
    log = tmp_path / "tests.log"
    log.write_text(LOG)
    return results_in(log, "podgroup")


def test_tests_without_subtests_have_results_and_messages_of_their_own(specs: list[Spec]) -> None:
    assert [(spec.name, spec.state, spec.seconds) for spec in specs] == [
        ("podgroup TestGang/fits", "passed", 1.0),
        ("podgroup TestGang/does_not_fit", "failed", 2.0),
        ("podgroup TestOld", "skipped", 0.1),
        ("podgroup TestLast", "interrupted", 0.0),
    ]
    assert specs[1].message == "podgroup_test.go:12: pod p1 is bound"
    assert specs[3].message.endswith("PostStartHook failed")


def test_a_skipped_test_is_excluded_only_if_a_row_names_what_it_needs(specs: list[Spec]) -> None:
    old = Exclusion("emulates v1.36 and newer", needs="emulation of v1.32")
    assert [spec.name for spec in specs if spec not in without_excluded(specs, [old])] == ["podgroup TestOld"]
    assert without_excluded(specs, [Exclusion("", needs="Go plugins")]) == specs


def test_a_log_without_tests_is_an_error(tmp_path: Path) -> None:
    log = tmp_path / "tests.log"
    log.write_text("cannot start etcd\n")
    with pytest.raises(SuiteError, match="no test of podgroup ran to its end"):
        results_in(log, "podgroup")


def test_patterns_of_a_package_are_joined_and_a_whole_package_is_left_out() -> None:
    rows = [
        Exclusion("a", "podgroup", ["^TestA$", "^TestB$"]),
        Exclusion("b", "podgroup", ["^TestC$"]),
        Exclusion("c", "plugins"),
    ]
    assert skip_pattern("podgroup", rows) == "^TestA$|^TestB$|^TestC$"
    assert skip_pattern("plugins", rows) is None
    assert skip_pattern("filters", rows) == ""


@pytest.mark.parametrize("version", KUBE_SCHEDULER_RELEASES)
def test_every_exclusion_has_a_reason_and_valid_patterns(version: str) -> None:
    rows = load_exclusions(version)
    assert rows
    for row in rows:
        assert row.reason
        assert bool(row.package) != bool(row.needs)
        assert all(re.compile(pattern) for pattern in (*row.tests, row.needs))
