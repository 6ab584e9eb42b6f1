"""Which workloads are to be run: by name, by regular expression, by label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from steersman.errors import InputError
from steersman.perf.workload_files import TestCase, Workload


class Selected(NamedTuple):
    """A workload with the test case that it belongs to."""

    case: TestCase
    workload: Workload

    @property
    def name(self) -> str:
        return f"{self.case.name}/{self.workload.name}"

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.case.labels, *self.workload.labels)


def select(cases: Iterable[TestCase], tests: Sequence[str] = (), labels: str = "") -> list[Selected]:
    """The workloads that one of `tests` names and whose labels are as `labels` says; no tests: all.

    A test is a test case, `CASE/WORKLOAD`, or a regular expression that is found in that. `performance,-short` asks
    for workloads with the first and without the second label.
    """
    found = [Selected(case, workload) for case in cases for workload in case.workloads]
    if tests:
        found = _named(found, tests)
    return [selected for selected in found if has_labels(selected.labels, labels)]


def _named(workloads: list[Selected], tests: Sequence[str]) -> list[Selected]:
    wanted: set[str] = set()
    for test in tests:
        matching = _matching(workloads, test)
        if not matching:
            cases = ", ".join(dict.fromkeys(selected.case.name for selected in workloads))
            raise InputError("selects no workload", object="--test", value=test, hint=f"the test cases are {cases}")
        wanted.update(matching)
    return [selected for selected in workloads if selected.name in wanted]


def _matching(workloads: list[Selected], test: str) -> list[str]:
    exact = [selected.name for selected in workloads if test in (selected.name, selected.case.name)]
    if exact:
        return exact
    try:
        pattern = re.compile(test)
    except re.error as error:
        raise InputError(f"is no regular expression: {error}", object="--test", value=test) from error
    return [selected.name for selected in workloads if pattern.search(selected.name)]


def has_labels(labels: Sequence[str], wanted: str) -> bool:
    """Whether the labels are as a comma-separated list says: `name` or `+name` must be there, `-name` must not."""
    for one in filter(None, (part.strip() for part in wanted.split(","))):
        if (one.lstrip("+-") in labels) is one.startswith("-"):
            return False
    return True
