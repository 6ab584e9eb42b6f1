# SPDX-License-Identifier: Apache-2.0
"""How reports of upstream's suite are read and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.upstream.__main__ import table
from tests.upstream.suite import Spec, SuiteError, specs_in, worse_than


def report(text: str, state: str, message: str = "", kind: str = "It") -> dict[str, Any]:
    found = {"LeafNodeType": kind, "LeafNodeText": text, "State": state, "RunTime": 2_500_000_000}
    return {**found, "ContainerHierarchyTexts": ["[sig-scheduling] Preemption"], "Failure": {"Message": message}}


def written(tmp_path: Path, *specs: dict[str, Any]) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json.dumps([{"SpecReports": list(specs)}, {"SpecReports": None}]))
    return path


def test_specs_that_ran_or_say_why_not_are_read_by_name(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        report("works", "passed"),
        report("breaks", "failed", "expected 1"),
        report("needs zones", "skipped", "only one zone"),
        report("is not in focus", "skipped"),
        report("", "passed", kind="SynchronizedBeforeSuite"),
    )
    assert specs_in(path) == [
        Spec("[sig-scheduling] Preemption breaks", "failed", 2.5, "expected 1"),
        Spec("[sig-scheduling] Preemption needs zones", "skipped", 2.5, "only one zone"),
        Spec("[sig-scheduling] Preemption works", "passed", 2.5),
    ]


def test_a_suite_without_specs_or_report_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"missing.json: upstream's suite left no report"):
        specs_in(tmp_path / "missing.json")
    with pytest.raises(SuiteError, match="ran no spec"):
        specs_in(written(tmp_path, report("is not in focus", "skipped")))


def test_a_spec_that_passes_for_the_reference_must_pass_and_must_not_be_missing() -> None:
    reference = [Spec("a", "passed", 1), Spec("b", "passed", 1), Spec("c", "passed", 1), Spec("d", "failed", 1)]
    ours = [Spec("a", "passed", 1), Spec("b", "timedout", 1), Spec("d", "failed", 1)]

    assert worse_than(reference, ours) == ["b", "c"]
    assert worse_than(reference, reference) == []


def test_the_table_shows_each_spec_under_each_scheduler() -> None:
    lines = table({"kube-scheduler": [Spec("a", "passed", 1)], "steersman": [Spec("b", "failed", 1)]}).splitlines()

    assert [line.split() for line in lines] == [
        ["kube-scheduler", "steersman"],
        ["passed", "-", "a"],
        ["-", "failed", "b"],
    ]
