# SPDX-License-Identifier: Apache-2.0
"""The measures of a run: converts a result to a row of numbers.

Rows do not depend on machine, process or time: equal cells and seeds give identical rows. Durations
of runs are in the journal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Final, TypeAlias

import msgspec

from steersman.base import InputError, SteersmanError
from steersman.scheduler.runtime import PLUGIN_FAULTS, describe_fault, load_module
from steersman.simulation.results.result import Result
from steersman.simulation.scenario import MEASURES, ScenarioResult

Value: TypeAlias = str | int | float | bool | None
Row: TypeAlias = dict[str, Value]
OwnMeasure: TypeAlias = Callable[[ScenarioResult], float | None]

UTILISATION: Final = "utilisation."
"""Column prefix: requested share of the allocatable amount of all nodes, by resource."""
FRAGMENTATION: Final = "fragmentation."
"""Column prefix: share of allocatable that is free, but where no waiting pod fits, by resource."""
COUNTS: Final = frozenset(
    [
        "arrived",
        "pods",
        "scheduled",
        "pending",
        "preempted",
        "completed",
        "failed",
        "attempts",
        "maxPending",
        "nodes",
        "minNodes",
        "maxNodes",
        "nodesAdded",
        "nodesRemoved",
    ]
)
"""The integer measures."""
TEXTS: Final = ("stopped", "error", "placements")
"""Columns: reason for an early stop, error, and digest of all placements."""


def load_measures(files: Iterable[str]) -> dict[str, OwnMeasure]:
    """Return public functions of Python files by name. Raises `InputError` and `PluginError`."""
    found: dict[str, OwnMeasure] = {}
    for file in files:
        module = load_module(Path(file))
        functions = {
            name: value
            for name, value in vars(module).items()
            if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not name.startswith("_")
        }
        if not functions:
            raise InputError("has no measure", file=file, hint="write a function such as def slowdown(result): …")
        for name in functions:
            if name in found or name in MEASURES or name in (*TEXTS, "configuration", "input", "seed"):
                raise InputError("is the name of another column", file=file, value=name, hint="rename the function")
        found |= functions
    return found


def own_measures(functions: Mapping[str, OwnMeasure], result: ScenarioResult) -> Row:
    """Return the columns of custom measures. Raises `SteersmanError` if a function fails."""
    row: Row = {}
    for name, function in functions.items():
        try:
            value = function(result)
            row[name] = None if value is None else float(value)
        except PLUGIN_FAULTS as cause:
            raise SteersmanError(f"measure {name}: {describe_fault(cause)}") from cause
    return row


def measures(result: ScenarioResult) -> Row:
    """Return the columns of one run, without those that identify it."""
    row: Row = {name: _number(name, value) for name, value in result.numbers.items()}
    for resource, usage in sorted(result.utilisation.cluster.items()):
        if usage.allocatable:
            row[f"{UTILISATION}{resource}"] = usage.fraction
    for resource, shares in sorted(result.series.fragmentation.items()):
        if shares:
            row[f"{FRAGMENTATION}{resource}"] = shares[-1]
    row["stopped"] = result.stopped or None
    row["placements"] = placements_digest(result)
    return row


def failure(error: Exception) -> Row:
    """Return the columns of a failed run."""
    return {"error": str(error)}


def placements_digest(result: Result) -> str:
    """Return a digest of all pods' nodes, times, attempts, reasons and messages."""
    fates = dict(sorted(result.placements.items()))
    return hashlib.sha256(msgspec.json.encode(fates, order="deterministic")).hexdigest()[:16]


def _number(name: str, value: float) -> int | float:
    return int(value) if name in COUNTS else float(value)
