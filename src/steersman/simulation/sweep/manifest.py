# SPDX-License-Identifier: Apache-2.0
"""The manifest of a sweep's inputs: documents, hashes of all input files, seeds, versions.

Sweeps with equal manifests have equal results. A sweep can therefore only resume with the same
manifest, and the manifest contains no times or machine names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any, Final

import msgspec

from steersman.base import KUBE_SCHEDULER_VERSION, SWEEP_VERSION, InputError, steersman_version
from steersman.simulation.sweep.document import Sweep
from steersman.simulation.sweep.input_files import InputFiles
from steersman.simulation.sweep.matrix import Matrix

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
