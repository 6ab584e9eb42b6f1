# SPDX-License-Identifier: Apache-2.0
"""Loading of a sweep's document with all checks, before any run.

Paths, which are relative to the document's folder, become relative to the working directory.
Missing names are filled in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from steersman.api import DocumentKind, convert_document, errors_in_file
from steersman.base import SWEEP_VERSION, InputError
from steersman.simulation.scenario.times import seconds
from steersman.simulation.sweep.document import (
    SWEEP_KIND,
    ConfigurationChoice,
    InputChoice,
    JsonObject,
    ParameterValue,
    Sweep,
)

SweepSource: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | Sweep"
"""A file with a document of kind Sweep, the document, or a loaded one."""

MAX_RUNS: Final = 1_000_000
_SWEEP: Final = DocumentKind(SWEEP_VERSION, SWEEP_KIND)
_replace = msgspec.structs.replace


def load_sweep(source: SweepSource) -> Sweep:
    """Load and check a sweep. Raises `InputError` with file, field, value and remedy."""
    if isinstance(source, Sweep):
        return _checked(source, Path())
    if isinstance(source, Mapping):
        return _checked(convert_document(_SWEEP.identified(dict(source)), Sweep), Path())
    path = Path(fspath(source))
    with errors_in_file(str(path)):
        sweep = convert_document(_SWEEP.read(path), Sweep)
        return _checked(_replace(sweep, name=sweep.name or path.stem), path.parent)


# -- checks that the structs do not make -------------------------------------------------------------------------------


def _checked(sweep: Sweep, folder: Path) -> Sweep:
    if not sweep.inputs:
        raise InputError("is empty: there is nothing to run", field="inputs", hint="write at least one input")
    if not sweep.configurations:
        hint = "leave it out for kube-scheduler's own defaults"
        raise InputError("is empty: there is nothing to run", field="configurations", hint=hint)
    _check_seeds(sweep)
    _check_parameters(sweep.parameters)
    _check_size(sweep)
    configurations = [_configuration(choice, folder) for choice in sweep.configurations]
    inputs = [_input(choice, folder, f"inputs[{index}]") for index, choice in enumerate(sweep.inputs)]
    _check_names([choice.name for choice in configurations], "configurations")
    _check_names([choice.name for choice in inputs], "inputs")
    return _replace(
        sweep,
        configurations=configurations,
        inputs=inputs,
        measures=[_placed(path, folder) for path in sweep.measures],
        name=sweep.name or "sweep",
    )


def _check_seeds(sweep: Sweep) -> None:
    if isinstance(sweep.seeds, int) and sweep.seeds < 1:
        raise InputError("must be at least 1", field="seeds", value=sweep.seeds)
    if isinstance(sweep.seeds, list) and not sweep.seeds:
        raise InputError("is empty: there is nothing to run", field="seeds", hint="write at least one seed")
    if isinstance(sweep.seeds, list):
        _check_once(sweep.seeds, "seeds")


def _check_parameters(parameters: dict[str, list[ParameterValue]]) -> None:
    for name, values in parameters.items():
        if not values:
            raise InputError("has no value", field=f"parameters.{name}", hint="write at least one")
        _check_once(values, f"parameters.{name}")


def _check_once(values: Sequence[object], path: str) -> None:
    seen: set[tuple[type, object]] = set()
    for index, value in enumerate(values):
        if (type(value), value) in seen:
            raise InputError("is there twice", field=f"{path}[{index}]", value=value)
        seen.add((type(value), value))


def _check_size(sweep: Sweep) -> None:
    runs = len(sweep.configurations) * len(sweep.inputs) * len(sweep.all_seeds)
    for values in sweep.parameters.values():
        runs *= len(values)
    if runs > MAX_RUNS:
        raise InputError(f"has {runs:,} runs", hint=f"a sweep has at most {MAX_RUNS:,}")


def _check_names(names: list[str], path: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            index = len(names) - 1 - names[::-1].index(name)
            hint = "give each a name of its own"
            raise InputError(f"is the name of {count} {path}", field=f"{path}[{index}].name", value=name, hint=hint)


def _configuration(choice: ConfigurationChoice, folder: Path) -> ConfigurationChoice:
    return _replace(
        choice,
        name=choice.name or _stem(choice.config) or "default",
        config=_placed(choice.config, folder),
        plugins=[_placed(path, folder) for path in choice.plugins],
    )


def _input(choice: InputChoice, folder: Path, path: str) -> InputChoice:
    if bool(choice.manifests) == (choice.scenario is not None):
        wrong = "has both manifests and a scenario" if choice.manifests else "has neither manifests nor a scenario"
        raise InputError(wrong, field=path, hint="write one of them")
    if choice.scenario is not None:
        for field, value in (("until", choice.until), ("kubelets", choice.kubelets)):
            if value is not None:
                raise InputError("goes with manifests; a scenario says it itself", field=f"{path}.{field}", value=value)
    first = choice.scenario if choice.scenario is not None else choice.manifests[0]
    return _replace(
        choice,
        name=choice.name or _stem(first) or "input",
        manifests=[_placed(source, folder) for source in choice.manifests],
        scenario=_placed(choice.scenario, folder),
        until=None if choice.until is None else seconds(choice.until, f"{path}.until"),
        kubelets=_placed(choice.kubelets, folder),
    )


def _stem(source: str | JsonObject | None) -> str:
    return Path(source).stem if isinstance(source, str) else ""


def _placed(source: Any, folder: Path) -> Any:
    """Return a path relative to the working directory; return documents unchanged."""
    return str(folder / source) if isinstance(source, str) else source
