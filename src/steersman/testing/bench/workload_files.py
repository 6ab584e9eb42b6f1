# SPDX-License-Identifier: Apache-2.0
"""Reader of workload files in scheduler_perf's format.

    performance-config.yaml ─► load ─► TestCase ─► select ─► Selected ─► `preparation`

Strict, as upstream: unknown opcodes and fields and values of the wrong type are errors that name
file, test case and index. Workloads are selected by name, regular expression or label.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from steersman.api import convert_document, errors_in_file, read_text, yaml_documents
from steersman.base import InputError
from steersman.testing.bench.operations import OPERATIONS, Operation

ParameterValue: TypeAlias = Any
"""A number, text, truth value, or a list or map for templates."""

THROUGHPUT: Final = "SchedulingThroughput"
AVERAGE: Final = "Average"


class _Strict(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of everything in a file except operations."""


class MetricSelector(_Strict, frozen=True):
    """The metric that is compared with a threshold."""

    name: str = THROUGHPUT
    labels: dict[str, str] = {}
    data_bucket: str = AVERAGE
    #: Whether the threshold is a maximum instead of a minimum.
    expect_lower: bool = False


class NodeLabelValues(_Strict, frozen=True):
    label: str = ""
    values: tuple[str, ...] = ()


class MetricsCollector(_Strict, frozen=True):
    """Metrics that a test case collects, by name, with their distinguishing labels."""

    metrics: dict[str, tuple[NodeLabelValues, ...] | None] = {}


class Workload(_Strict, frozen=True):
    """One size of a test case."""

    name: str
    params: dict[str, ParameterValue] = {}
    labels: tuple[str, ...] = ()
    #: One value, or one per topic (the name of the file's folder); 0 for none.
    threshold: float | dict[str, float] = 0.0
    threshold_metric_selector: MetricSelector | None = None
    feature_gates: dict[str, bool] = {}


class _TestCaseFields(_Strict, frozen=True):
    """A test case with undecoded operations, which are decoded by opcode."""

    name: str
    workload_template: tuple[dict[str, Any], ...]
    workloads: tuple[Workload, ...]
    feature_gates: dict[str, bool] = {}
    metrics_collector_config: MetricsCollector | None = None
    scheduler_config_path: str = ""
    default_pod_template_path: str | None = None
    labels: tuple[str, ...] = ()
    default_threshold_metric_selector: MetricSelector | None = None


class TestCase(msgspec.Struct, frozen=True):
    """A sequence of operations and its workloads. Paths are absolute or relative to the process."""

    __test__ = False  # hide from pytest

    file: str
    name: str
    operations: tuple[Operation, ...]
    workloads: tuple[Workload, ...]
    feature_gates: Mapping[str, bool] = {}
    metrics: MetricsCollector | None = None
    scheduler_config_file: str = ""
    pod_template_file: str | None = None
    labels: tuple[str, ...] = ()
    threshold_metric: MetricSelector = MetricSelector()

    @property
    def topic(self) -> str:
        return Path(self.file).resolve().parent.name

    def threshold_of(self, workload: Workload) -> float:
        given = workload.threshold
        return given.get(self.topic, 0.0) if isinstance(given, dict) else given

    def threshold_metric_of(self, workload: Workload) -> MetricSelector:
        return workload.threshold_metric_selector or self.threshold_metric

    def gates_of(self, workload: Workload) -> dict[str, bool]:
        return {**self.feature_gates, **workload.feature_gates}


def load(file: str) -> list[TestCase]:
    """Return all test cases of a file. Raise `InputError` if it is invalid."""
    with errors_in_file(file):
        return _loaded(file, read_text(file))


def _loaded(file: str, text: str) -> list[TestCase]:
    documents = [document for document in yaml_documents.documents(text) if document is not None]
    if len(documents) != 1 or not isinstance(documents[0], list) or not documents[0]:
        raise InputError("holds no test cases", hint="a workload file is one list of test cases, each with a name")
    cases = [_test_case(file, index, data) for index, data in enumerate(documents[0])]
    _require_unique("test case", (case.name for case in cases))
    return cases


def _test_case(file: str, index: int, data: Any) -> TestCase:
    label = data.get("name") if isinstance(data, dict) else None
    where = f"test case {label}" if isinstance(label, str) else f"test case [{index}]"
    try:
        return _decoded(file, data)
    except InputError as error:
        raise error.located(object=where) from error


def _decoded(file: str, data: Any) -> TestCase:
    fields = convert_document(data, _TestCaseFields)
    folder = Path(file).parent
    if not fields.workloads:
        raise InputError("is empty", field="workloads", hint="list at least one workload")
    _require_unique("workload", (workload.name for workload in fields.workloads))
    operations = tuple(_operation(place, step, folder) for place, step in enumerate(fields.workload_template))
    if not any(operation.collects_metrics for operation in operations):
        hint = "set collectMetrics in a createPods, or use startCollectingMetrics and stopCollectingMetrics"
        raise InputError("no operation collects metrics", field="workloadTemplate", hint=hint)
    config = fields.scheduler_config_path
    return TestCase(
        file=file,
        name=fields.name,
        operations=operations,
        workloads=fields.workloads,
        feature_gates=fields.feature_gates,
        metrics=fields.metrics_collector_config,
        scheduler_config_file=str(folder / config) if config else "",
        pod_template_file=_whole(folder, fields.default_pod_template_path),
        labels=fields.labels,
        threshold_metric=fields.default_threshold_metric_selector or MetricSelector(),
    )


def _operation(place: int, data: dict[str, Any], folder: Path) -> Operation:
    opcode = data.get("opcode")
    try:
        if not isinstance(opcode, str) or opcode not in OPERATIONS:
            known = ", ".join(OPERATIONS)
            raise InputError("is not an operation", field="opcode", value=opcode, hint=f"known are {known}")
        return _with_whole_paths(convert_document(data, OPERATIONS[opcode]), folder)
    except InputError as error:
        raise error.beneath(f"workloadTemplate[{place}]") from error


def _with_whole_paths(operation: Operation, folder: Path) -> Operation:
    changes: dict[str, Any] = {}
    for name in operation.PATHS:
        given = getattr(operation, name)
        if isinstance(given, tuple):
            changes[name] = tuple(str(folder / path) for path in given)
        elif given:
            changes[name] = str(folder / given)
    nested = getattr(operation, "create_pods_op", None)
    if nested is not None:
        changes["create_pods_op"] = _with_whole_paths(nested, folder)
    return msgspec.structs.replace(operation, **changes) if changes else operation


def _whole(folder: Path, path: str | None) -> str | None:
    return None if path is None else str(folder / path)


def _require_unique(what: str, names: Iterable[str]) -> None:
    repeated = [name for name, number in Counter(names).items() if number > 1]
    if repeated:
        raise InputError(f"two have the same name: {what} {repeated[0]}", hint=f"give every {what} a name of its own")


# -- selection ---------------------------------------------------------------------------------------------------------


class Selected(NamedTuple):
    """A workload and its test case."""

    case: TestCase
    workload: Workload

    @property
    def name(self) -> str:
        return f"{self.case.name}/{self.workload.name}"

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.case.labels, *self.workload.labels)


def select(cases: Iterable[TestCase], tests: Sequence[str] = (), labels: str = "") -> list[Selected]:
    """Return the workloads selected by one of `tests` (all if empty) and by `labels`.

    A test is a test case, `CASE/WORKLOAD`, or a regular expression to search for in the latter.
    `performance,-short` selects workloads with the first and without the second label.
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
        raise InputError(f"is not a regular expression: {error}", object="--test", value=test) from error
    return [selected.name for selected in workloads if pattern.search(selected.name)]


def has_labels(labels: Sequence[str], wanted: str) -> bool:
    """Return whether labels match a list such as `short,+fast,-slow`: `-` excludes a label."""
    for one in filter(None, (part.strip() for part in wanted.split(","))):
        if (one.lstrip("+-") in labels) is one.startswith("-"):
            return False
    return True
