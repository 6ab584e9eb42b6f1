# SPDX-License-Identifier: Apache-2.0
"""The inputs of a sweep: its files, and the manifest of documents, file hashes, seeds and versions.

Files are read once at the start, hashed, and sent to the workers, which unpack them while they load
a cell. A worker therefore needs no files of the machine that started the sweep, and changes of
files during the sweep have no effect.

Sweeps with equal manifests have equal results. A sweep can therefore only resume with the same
manifest, and the manifest contains no times or machine names.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from steersman.api import manifests
from steersman.base import KUBE_SCHEDULER_VERSION, SWEEP_VERSION, InputError, steersman_version
from steersman.simulation.scenario.document import RunTimeSamples, ScenarioDocument
from steersman.simulation.sweep.cells import declared, scenario_of
from steersman.simulation.sweep.document import Matrix, Sweep


class InputFiles(msgspec.Struct, frozen=True):
    """File contents by name, and names by path in the document."""

    #: Path relative to the common folder → content.
    contents: Mapping[str, bytes]
    #: Path of a file or folder in the document → relative path.
    names: Mapping[str, str]

    @property
    def hashes(self) -> dict[str, str]:
        """Name → `sha256:…`, sorted by name."""
        return {
            name: f"sha256:{hashlib.sha256(content).hexdigest()}" for name, content in sorted(self.contents.items())
        }

    @contextmanager
    def unpacked(self) -> Iterator[_Unpacked]:
        """Unpack the files to a temporary folder for the duration of the block."""
        with TemporaryDirectory(prefix="steersman-sweep-") as folder:
            for name, content in self.contents.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            yield _Unpacked(Path(folder), self.names)


class _Unpacked:
    def __init__(self, folder: Path, names: Mapping[str, str]) -> None:
        self._folder = folder
        self._names = names

    def unpacked_path(self, source: Any) -> Any:
        """Return the unpacked path of a file of the document; return other values unchanged."""
        return str(self._folder / self._names[source]) if isinstance(source, str) else source


def read_files(sweep: Sweep, matrix: Matrix) -> InputFiles:
    """Read the files of the document and its scenarios. Raises `InputError` for missing files."""
    wanted = list(dict.fromkeys((*_paths(sweep), *_paths_of_scenarios(sweep, matrix))))
    found = {path: manifests.files_at(Path(path)) for path in wanted}
    absolute = {file: Path(os.path.abspath(file)) for files in found.values() for file in files}
    folder = os.path.commonpath([path.parent for path in absolute.values()]) if absolute else ""
    return InputFiles(
        contents={path.relative_to(folder).as_posix(): _read(file) for file, path in absolute.items()},
        names={path: Path(os.path.relpath(os.path.abspath(path), folder)).as_posix() for path in wanted},
    )


def _paths(sweep: Sweep) -> Iterator[str]:
    yield from sweep.measures
    for configuration in sweep.configurations:
        yield from _texts(configuration.config, *configuration.plugins)
    for given in sweep.inputs:
        yield from _texts(*given.manifests, given.scenario, given.kubelets)


def _paths_of_scenarios(sweep: Sweep, matrix: Matrix) -> Iterator[str]:
    """Yield the files of scenarios for all parameter values, which may affect the paths."""
    for cell in matrix.cells:
        given = sweep.inputs[cell.input_index]
        if given.scenario is not None and cell.configuration_index == 0:
            scenario = scenario_of(given, lambda source: source)
            document = scenario.prepared(declared(scenario, cell.parameters)).document
            yield from (str(Path(scenario.folder, path)) for path in _paths_of(document))


def _paths_of(document: ScenarioDocument) -> Iterator[str]:
    yield from _texts(*document.cluster, document.config, *document.plugins, document.kubelets, document.pools)
    for step in document.timeline:
        yield from _texts(*(step.apply if isinstance(step.apply, list) else [step.apply]))
    for generator in document.generators:
        yield from _texts(generator.template)
        if generator.arrivals.replay is not None:
            yield generator.arrivals.replay.file
        if isinstance(generator.run_time, RunTimeSamples):
            yield generator.run_time.file


def _texts(*sources: Any) -> Iterator[str]:
    return (source for source in sources if isinstance(source, str))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from error


# -- the manifest ------------------------------------------------------------------------------------------------------


MANIFEST_KIND: Final = "SweepManifest"


def versions() -> dict[str, str]:
    """Return the versions that affect results: Steersman, kube-scheduler, Python and numpy."""
    return {
        "steersman": steersman_version(),
        "kubeScheduler": KUBE_SCHEDULER_VERSION,
        "python": python_version(),
        "numpy": version("numpy"),
    }


def manifest_of(sweep: Sweep, files: InputFiles, matrix: Matrix) -> dict[str, Any]:
    """Return the manifest before the first run."""
    return {
        "apiVersion": SWEEP_VERSION,
        "kind": MANIFEST_KIND,
        "name": sweep.name,
        "sweep": _named(msgspec.to_builtins(sweep), files.names),
        "inputs": files.hashes,
        "seeds": sweep.all_seeds,
        "cells": len(matrix.cells),
        "runs": len(matrix.runs),
        "versions": versions(),
    }


def with_results(manifest: dict[str, Any], path: Path, rows: int, columns: list[str]) -> bytes:
    """Return the encoded manifest of a finished sweep."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    results = {"file": path.name, "hash": f"sha256:{digest}", "rows": rows, "columns": columns}
    return msgspec.json.format(msgspec.json.encode({**manifest, "results": results}), indent=2) + b"\n"


def check_same(before: Mapping[str, Any], now: Mapping[str, Any], output: Path) -> None:
    """Raise `InputError` with the first difference if the manifest has changed."""
    for path in _differences(before, now, ""):
        hint = "begin another sweep with another --output"
        raise InputError(f"cannot go on: {path} has changed since the sweep was begun", file=str(output), hint=hint)


def _differences(before: Any, now: Any, path: str) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys((*before, *now)):
            yield from _differences(before.get(name), now.get(name), f"{path}.{name}" if path else name)
    elif before != now:
        yield path


def _named(document: Any, names: Mapping[str, str]) -> Any:
    """Return the document with file names as in `inputs`, independent of the working directory."""
    if isinstance(document, str):
        return names.get(document, document)
    if isinstance(document, list):
        return [_named(item, names) for item in document]
    if isinstance(document, dict):
        return {name: _named(value, names) for name, value in document.items()}
    return document
