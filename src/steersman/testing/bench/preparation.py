# SPDX-License-Identifier: Apache-2.0
"""Preparation of a workload: finds all errors in the input before anything runs.

    Selected ─► parameters, templates, feature gates, configuration ─► Prepared ─► `workload_run`

`unrolled` replaces parameters such as `$initNodes` in the operations. Templates are read, so that
errors in them are found too. Unsupported workloads get an obstacle, a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from steersman import api, config
from steersman.api import read_text, yaml_documents
from steersman.base import InputError
from steersman.config import FeatureGates, GateSpec, SchedulerConfiguration
from steersman.kube.client import Connection
from steersman.scheduler.assembly import SchedulerOptions
from steersman.testing.bench.operations import CreatePodSets, DeviceOperation, Operation
from steersman.testing.bench.templates import Draft, Templates, UnknownKind
from steersman.testing.bench.workload_files import ParameterValue, Selected

IN_GO: Final = {"numNodeDeclaredFeatures": "upstream's harness reads it in Go, and makes up features of nodes"}
"""Parameters that upstream does not use in operations, and why."""


class BenchOptions(msgspec.Struct, frozen=True):
    """Options for all workloads of a run."""

    #: Configuration to use instead of those in the files.
    config_file: str = ""
    seed: int = 0
    #: "1.36" or "1.37"; "" for the default version.
    emulated_version: str = ""
    #: Check one in this many evaluations against an uncached one; 0 for none.
    check_every: int = 0
    #: API server to use; None for the embedded cluster.
    connection: Connection | None = None


class Prepared(msgspec.Struct, frozen=True):
    """A workload with everything needed to run it, or an obstacle."""

    selected: Selected
    options: BenchOptions
    operations: tuple[Operation, ...]
    templates: Templates
    scheduler_options: SchedulerOptions
    #: Notes for the reader of the outcome.
    notes: tuple[str, ...]
    #: Why the workload cannot run; "" if it can.
    obstacle: str


def prepare(selected: Selected, options: BenchOptions) -> Prepared:
    """Return the workload with everything needed to run it.

    Raise `InputError` with file, test case, workload and field, or `ConfigError`.
    """
    case, workload = selected
    try:
        return _prepared(selected, options)
    except InputError as error:
        raise error.located(file=case.file, object=f"test case {case.name}, workload {workload.name}") from error


def _prepared(selected: Selected, options: BenchOptions) -> Prepared:
    parameters, templates = Parameters(selected.workload.params), Templates()
    steps = list(unrolled(selected.case.operations, parameters))
    gates, notes = _gates(selected, options.emulated_version)
    return Prepared(
        selected,
        options,
        tuple(step for _, step in steps),
        templates,
        SchedulerOptions(_configuration(selected, options, gates), gates),
        notes,
        obstacle(steps, selected.case.pod_template_file, templates, options.connection is None) or _unused(parameters),
    )


def _unused(parameters: Parameters) -> str:
    """Return why a parameter without a use makes the workload unsupported; "" if none."""
    for name in parameters.unused():
        if name not in IN_GO:
            raise InputError("is used by no operation", field=f"params.{name}", hint="remove it, or correct its name")
        return f"params.{name}: {IN_GO[name]}"
    return ""


def _gates(selected: Selected, emulated_version: str) -> tuple[FeatureGates, tuple[str, ...]]:
    """Return the file's gates, and notes on gates that are not set because they are locked in the
    emulated version. As upstream, default gates that depend on a disabled gate are disabled too."""
    specs = FeatureGates(version=emulated_version).specs
    wanted = selected.case.gates_of(selected.workload)
    locked = {name for name, value in wanted.items() if name in specs and _is_locked(specs[name], value)}
    settable = {name: value for name, value in wanted.items() if name not in locked}
    following = _dependents(settable, specs)
    notes = [f"{name}={str(wanted[name]).lower()} is locked" for name in sorted(locked)]
    notes += [f"{name} is off too: it depends on what the file turns off" for name in sorted(following)]
    return FeatureGates({**settable, **dict.fromkeys(following, False)}, emulated_version), tuple(notes)


def _dependents(chosen: Mapping[str, bool], specs: Mapping[str, GateSpec]) -> set[str]:
    """Return the unset gates that depend on a disabled gate."""
    off = {name for name, value in chosen.items() if not value}
    while more := {n for n, spec in specs.items() if spec.default and n not in chosen and off & set(spec.needs)} - off:
        off |= more
    return off - chosen.keys()


def _is_locked(spec: GateSpec, value: bool) -> bool:
    return spec.locked and spec.default != value


def _configuration(selected: Selected, options: BenchOptions, gates: FeatureGates) -> SchedulerConfiguration:
    file = options.config_file or selected.case.scheduler_config_file
    if not file:
        return config.default_configuration(gates)
    return config.load(read_text(file), file, gates)


# -- parameters --------------------------------------------------------------------------------------------------------

OperationT = TypeVar("OperationT", bound=Operation)

SUFFIX: Final = "_param"
_WANTED: Final[Mapping[str, tuple[type | tuple[type, ...], str]]] = {
    "count": ((int, float), "a number"),
    "count_multiplier": ((int, float), "a number"),
    "signature_batch_size": ((int, float), "a number"),
    "max_claims_per_node": ((int, float), "a number"),
    "duration": (str, 'a duration such as "30s"'),
    "steady_state": (bool, "true or false"),
}


class Parameters:
    """Parameters of one workload; records which are used."""

    def __init__(self, values: Mapping[str, ParameterValue]) -> None:
        self._values = values
        self._used: set[str] = set()

    def value_of(self, name: str, field: str) -> ParameterValue:
        """Return the value of `$name` for a field."""
        if not name.startswith("$"):
            raise InputError("names no parameter", field=_wire(field) + "Param", value=name, hint="write $ before it")
        wanted, described = _WANTED[field]
        value = self._known(name, name[1:])
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise InputError("has the wrong type", field=f"params.{name[1:]}", value=value, hint=f"use {described}")
        return int(value) if isinstance(value, float) else value

    def template_value(self, value: object) -> object:
        """Return the value of `$name` or `$name|default`, whose default is YAML, or the value
        itself."""
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        name, bar, default = value[1:].partition("|")
        if bar and name not in self._values:
            return next(yaml_documents.documents(default), None)
        return self._known(value, name)

    def _known(self, given: str, name: str) -> ParameterValue:
        value = self._values.get(name)
        if value is None:
            known = ", ".join(f"${known}" for known in self._values) or "none"
            raise InputError("is not among the workload's params", value=given, hint=f"those are {known}")
        self._used.add(name)
        return value

    def unused(self) -> list[str]:
        return [name for name in self._values if name not in self._used]


def unrolled(steps: Iterable[Operation], parameters: Parameters) -> Iterator[tuple[int, Operation]]:
    """Yield the operations with their values and template index; pod sets yield one each.

    Raise `InputError` with the operation and the field.
    """
    for place, step in enumerate(steps):
        try:
            yield from ((place, made) for made in _unrolled(step, parameters))
        except InputError as error:
            inside = f"workloadTemplate[{place}]"
            field = inside if error.field is None or error.field.startswith("params.") else f"{inside}.{error.field}"
            placed = InputError(error.message, value=error.value, hint=error.hint, field=field)
            raise placed from error


def _unrolled(step: Operation, parameters: Parameters) -> Iterator[Operation]:
    operation = _with_values(step, parameters)
    operation.check()
    if not isinstance(operation, CreatePodSets):
        yield operation
        return
    for number in range(operation.count):
        pods = _with_values(operation.create_pods_op, parameters)
        pods.check()
        yield msgspec.structs.replace(pods, namespace=f"{operation.namespace_prefix}-{number}")


def _with_values(step: OperationT, parameters: Parameters) -> OperationT:
    changes: dict[str, Any] = {}
    for name in step.__struct_fields__:
        if name.endswith(SUFFIX) and (given := getattr(step, name)):
            field = name.removesuffix(SUFFIX)
            changes[field] = parameters.value_of(given, field)
    if (multiplier := changes.pop("count_multiplier", None)) is not None:
        changes["count"] = changes.get("count", getattr(step, "count", 0)) * multiplier
    if given := getattr(step, "template_params", None):
        changes["template_params"] = {name: parameters.template_value(value) for name, value in given.items()}
    return msgspec.structs.replace(step, **changes) if changes else step


def _wire(field: str) -> str:
    first, *others = field.split("_")
    return first + "".join(map(str.title, others))


# -- obstacles ---------------------------------------------------------------------------------------------------------

NO_DEVICES: Final = "devices need a controller of resource claims, and only the embedded cluster has one"


def obstacle(
    steps: Iterable[tuple[int, Operation]], default_pod_file: str | None, templates: Templates, has_devices: bool
) -> str:
    """Return why the operations are not supported; "" if they are. Raise `InputError` for invalid
    templates. `has_devices`: whether the cluster has a controller of resource claims."""
    for place, step in steps:
        if isinstance(step, DeviceOperation) and not has_devices:
            return f"{step.opcode} (operation {place}): {NO_DEVICES}"
        for file in _files(step, default_pod_file):
            try:
                draft = templates(file).draft(
                    0, max(1, getattr(step, "count", 1)), getattr(step, "template_params", {})
                )
            except UnknownKind as error:
                return f"{step.opcode} (operation {place}): {error}"
            if _needs_devices(draft) and not has_devices:
                return f"{step.opcode} (operation {place}): {file}: {NO_DEVICES}"
    return ""


def _files(operation: Operation, default_pod_file: str | None) -> Iterator[str]:
    for name in operation.PATHS:
        given = getattr(operation, name)
        if given is None and name == "pod_template_path":
            given = default_pod_file
        yield from given if isinstance(given, tuple) else filter(None, (given,))


def _needs_devices(draft: Draft) -> bool:
    if draft.object.API_VERSION.startswith("resource.k8s.io/"):
        return True
    return isinstance(draft.object, api.Pod) and bool(draft.object.spec.resource_claims)
