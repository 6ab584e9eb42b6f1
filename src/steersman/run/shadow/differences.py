# SPDX-License-Identifier: Apache-2.0
"""Writes disagreements as directories from which `steersman simulate` reproduces them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import InputError
from steersman.config import SchedulerConfiguration, dump_public_yaml
from steersman.run.shadow.comparison import DecisionComparison
from steersman.run.shadow.follower import DecisionMoment
from steersman.run.shadow.summary import comparison_line

MAX_DIRECTORIES: Final = 20
COMMAND: Final = "steersman simulate -f cluster.json -f pod.json --config config.yaml --no-controllers --explain {}"
_README: Final = """\
{line}

The cluster as it stood when the other scheduler decided on pod {pod}, and the pod as it was before. In this directory

    {command}

says what every node and every plugin think of it here. comparison.json has the scores of both nodes side by side.
"""


class DifferenceWriter:
    """Writes the first disagreements, each into its own directory."""

    def __init__(self, directory: Path, configuration: SchedulerConfiguration, most: int = MAX_DIRECTORIES) -> None:
        """Create the directory. Raise `InputError` if it cannot be written."""
        self._directory = directory
        self._configuration = dump_public_yaml(configuration)
        self._most = most
        self._written = 0
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(directory)) from error

    def wants_more(self) -> bool:
        return self._written < self._most

    def write(self, comparison: DecisionComparison, snapshot: DecisionMoment) -> DecisionComparison:
        """Write the comparison and return it with its directory. Raise `InputError` on failure."""
        self._written += 1
        folder = self._directory / f"{self._written:04}-{re.sub(r'[^a-z0-9.-]+', '-', comparison.pod)}"
        named = msgspec.structs.replace(comparison, directory=str(folder))
        others = [obj for obj in snapshot.objects if obj.metadata.uid != snapshot.pod.metadata.uid]
        files = {
            "cluster.json": _list(others),
            "pod.json": codec.encode(snapshot.pod),
            "comparison.json": comparison_line(named),
            "config.yaml": self._configuration.encode(),
            "README.txt": _README.format(
                line=comparison.line(), pod=comparison.pod, command=COMMAND.format(comparison.pod)
            ).encode(),
        }
        try:
            folder.mkdir(exist_ok=True)
            for name, content in files.items():
                (folder / name).write_bytes(content)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(folder)) from error
        return named


def _list(objects: list[api.Object]) -> bytes:
    return b'{"apiVersion":"v1","kind":"List","items":[\n' + b",\n".join(map(codec.encode, objects)) + b"\n]}\n"
