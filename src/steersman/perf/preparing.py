"""Everything that can be wrong with a workload is found here, before anything is run.

Selected ─► parameters, templates, feature gates, configuration ─► Prepared ─► `workloads.run`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steersman import config
from steersman.assembly import SchedulerOptions
from steersman.client import Connection
from steersman.config import GATES, FeatureGates, SchedulerConfiguration
from steersman.errors import InputError
from steersman.perf.operations import Operation
from steersman.perf.parameters import Parameters, unrolled
from steersman.perf.selection import Selected
from steersman.perf.support import obstacle
from steersman.perf.templates import Templates

IN_GO: Final = {"numNodeDeclaredFeatures": "upstream's harness reads it in Go, and makes up features of nodes"}
"""Parameters that no operation of a file uses, and why."""


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What a user may choose for all workloads."""

    #: Instead of the configurations that files name.
    config_file: str = ""
    seed: int = 0
    #: Of so many evaluations one is computed anew without anything kept, and compared; 0: none.
    check_every: int = 0
    #: The API server to run on; None: the embedded cluster.
    connection: Connection | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A workload that can be run, unless there is an obstacle."""

    selected: Selected
    options: BenchOptions
    operations: tuple[Operation, ...]
    templates: Templates
    scheduler_options: SchedulerOptions
    #: What the reader of the outcome should know.
    notes: tuple[str, ...]
    #: Why it cannot be run; "" if it can.
    obstacle: str


def prepare(selected: Selected, options: BenchOptions) -> Prepared:
    """Raises `InputError` that names file, test case, workload and field, or `ConfigError`."""
    case, workload = selected
    try:
        return _prepared(selected, options)
    except InputError as error:
        raise error.located(file=case.file, object=f"test case {case.name}, workload {workload.name}") from error


def _prepared(selected: Selected, options: BenchOptions) -> Prepared:
    parameters, templates = Parameters(selected.workload.params), Templates()
    steps = list(unrolled(selected.case.operations, parameters))
    gates, notes = _gates(selected)
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
    """Why the workload cannot be run with a parameter that no operation uses, where that is no mistake."""
    for name in parameters.unused():
        if name not in IN_GO:
            raise InputError("is used by no operation", field=f"params.{name}", hint="remove it, or correct its name")
        return f"params.{name}: {IN_GO[name]}"
    return ""


def _gates(selected: Selected) -> tuple[FeatureGates, tuple[str, ...]]:
    """The file's gates but for those that v1.36 does not let anybody set, which are told. What is on by default and cannot
    be without a gate that the file turns off is turned off as well, as upstream's harness allows."""
    wanted = selected.case.gates_of(selected.workload)
    locked = {name for name, value in wanted.items() if name in GATES and _is_locked(name, value)}
    settable = {name: value for name, value in wanted.items() if name not in locked}
    following = _dependents(settable)
    notes = [f"{name}={str(wanted[name]).lower()} cannot be set in v1.36" for name in sorted(locked)]
    notes += [f"{name} is off too: it depends on what the file turns off" for name in sorted(following)]
    return FeatureGates({**settable, **dict.fromkeys(following, False)}), tuple(notes)


def _dependents(chosen: Mapping[str, bool]) -> set[str]:
    """Gates that nobody chose and that need one which is off."""
    off = {name for name, value in chosen.items() if not value}
    while more := {n for n, spec in GATES.items() if spec.default and n not in chosen and off & set(spec.needs)} - off:
        off |= more
    return off - chosen.keys()


def _is_locked(name: str, value: bool) -> bool:
    return GATES[name].locked and GATES[name].default != value


def _configuration(selected: Selected, options: BenchOptions, gates: FeatureGates) -> SchedulerConfiguration:
    file = options.config_file or selected.case.scheduler_config_file
    if not file:
        return config.default_configuration(gates)
    try:
        return config.load(Path(file).read_text(encoding="utf-8"), file, gates)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", file=file) from error
