# SPDX-License-Identifier: Apache-2.0
"""Workload files in scheduler_perf's format → test cases: operations once, workloads with parameters many times.

    performance-config.yaml ─► load ─► TestCase ─► select ─► Selected ─► `preparation`

Strict, as upstream: unknown opcodes, fields and labels of the wrong type are errors that name file, test case and place.
Workloads are selected by name, by regular expression, by label.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from steersman.api import codec, yaml_documents
from steersman.api.text_files import errors_in_file, read_text
from steersman.errors import InputError
from steersman.perf.operations import OPERATIONS, Operation

S = TypeVar("S", bound=msgspec.Struct)
ParameterValue: TypeAlias = "int | float | str | bool"

THROUGHPUT: Final = "SchedulingThroughput"
AVERAGE: Final = "Average"


class _Strict(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of everything in a file besides operations."""


class MetricSelector(_Strict, frozen=True):
    """The metric that a threshold is compared with."""

    name: str = THROUGHPUT
    labels: dict[str, str] = {}
    data_bucket: str = AVERAGE
    #: The threshold is the most that is allowed, not the least.
    expect_lower: bool = False


class NodeLabelValues(_Strict, frozen=True):
    label: str = ""
    values: tuple[str, ...] = ()


class MetricsCollector(_Strict, frozen=True):
    """The metrics that a test case wants; by name, with the labels that tell them apart."""

    metrics: dict[str, tuple[NodeLabelValues, ...] | None] = {}


class Workload(_Strict, frozen=True):
    """One size of a test case."""

    name: str
    params: dict[str, ParameterValue] = {}
    labels: tuple[str, ...] = ()
    #: Or one per topic, which is the name of the file's folder. 0: there is none.
    threshold: float | dict[str, float] = 0.0
    threshold_metric_selector: MetricSelector | None = None
    feature_gates: dict[str, bool] = {}


class _TestCaseFields(_Strict, frozen=True):
    """A test case as decoded; operations are decoded apart, by their opcode."""

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
    """A sequence of operations, and the workloads that it is run with. Paths are whole."""

    __test__ = False  # for pytest, which takes the name for one of its own

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
    """All test cases of a file. Raises `InputError`."""
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
    fields = _strictly(data, _TestCaseFields)
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
            raise InputError("is no operation", field="opcode", value=opcode, hint=f"known are {known}")
        return _with_whole_paths(_strictly(data, OPERATIONS[opcode]), folder)
    except InputError as error:
        field = f"workloadTemplate[{place}]"
        inside = f"{field}.{error.field}" if error.field else field
        raise InputError(error.message, value=error.value, hint=error.hint, field=inside) from error


def _strictly(data: Any, cls: type[S]) -> S:
    """The data as a Struct; the error of an unknown field says which fields there are."""
    try:
        return codec.convert(data, cls)
    except InputError as error:
        if not error.message.startswith("Object contains unknown field"):
            raise
        name = error.message.split("`")[1]
        where = f"{error.field}.{name}" if error.field else name
        hint = f"the fields are {', '.join(_fields_at(cls, error.field or ''))}"
        raise InputError("is no field here", field=where, hint=hint) from error


def _fields_at(cls: type[msgspec.Struct], path: str) -> Iterable[str]:
    """Names of the fields of the Struct that a path leads to."""
    info: Any = msgspec.inspect.type_info(cls)
    for name in (part.partition("[")[0] for part in path.split(".") if part):
        info = next(_struct_in(field.type) for field in info.fields if field.encode_name == name)
    return [field.encode_name for field in info.fields]


def _struct_in(info: Any) -> Any:
    """The Struct inside of optional values, lists and maps."""
    while not isinstance(info, msgspec.inspect.StructType):
        if isinstance(info, msgspec.inspect.UnionType):
            info = next(t for t in info.types if not isinstance(t, msgspec.inspect.NoneType))
        elif isinstance(info, msgspec.inspect.DictType):
            info = info.value_type
        else:
            info = info.item_type
    return info


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
