# SPDX-License-Identifier: Apache-2.0
"""The files that a sweep reads, as they were when it began: read once, hashed for the manifest, sent once to every worker.

A worker unpacks them for as long as it loads a cell. So it needs no file of the machine that the sweep was started on, and a
file that somebody changes meanwhile changes no run.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from steersman.api import manifests
from steersman.errors import InputError
from steersman.scenario.document import RunTimeSamples, ScenarioDocument
from steersman.sweep.cells import declared, scenario_of
from steersman.sweep.document import Sweep
from steersman.sweep.matrix import Matrix


class InputFiles(msgspec.Struct, frozen=True):
    """Contents by name, and names by the paths that the document has."""

    #: By path relative to the folder that holds all of them.
    contents: Mapping[str, bytes]
    #: Files and folders of the document: path → relative path.
    names: Mapping[str, str]

    @property
    def hashes(self) -> dict[str, str]:
        """`sha256:…` by name, in the order of the names."""
        return {
            name: f"sha256:{hashlib.sha256(content).hexdigest()}" for name, content in sorted(self.contents.items())
        }

    @contextmanager
    def unpacked(self) -> Iterator[_Unpacked]:
        """The files in a temporary folder, which is gone afterwards."""
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

    def at(self, source: Any) -> Any:
        """Where a file of the document is here; what is no path stays as it is."""
        return str(self._folder / self._names[source]) if isinstance(source, str) else source


def read_files(sweep: Sweep, matrix: Matrix) -> InputFiles:
    """All files that the document names, and those that its scenarios name. Raises `InputError` for one that is missing."""
    wanted = list(dict.fromkeys((*_paths(sweep), *_paths_of_scenarios(sweep, matrix))))
    found = {path: manifests.files_at(Path(path)) for path in wanted}
    absolute = {file: Path(os.path.abspath(file)) for files in found.values() for file in files}
    folder = os.path.commonpath([path.parent for path in absolute.values()]) if absolute else ""
    return InputFiles(
        contents={path.relative_to(folder).as_posix(): _read(file) for file, path in absolute.items()},
        names={path: Path(os.path.relpath(os.path.abspath(path), folder)).as_posix() for path in wanted},
    )


def _paths(sweep: Sweep) -> Iterator[str]:
    for configuration in sweep.configurations:
        yield from _texts(configuration.config, *configuration.plugins)
    for given in sweep.inputs:
        yield from _texts(*given.manifests, given.scenario, given.kubelets)


def _paths_of_scenarios(sweep: Sweep, matrix: Matrix) -> Iterator[str]:
    """The files that scenarios read, with all values of the parameters: these may decide which files are read."""
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
