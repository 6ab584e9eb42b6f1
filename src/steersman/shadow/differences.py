# SPDX-License-Identifier: Apache-2.0
"""Disagreements as directories that repeat them: the cluster, the pod and the configuration for `steersman simulate`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.config import SchedulerConfiguration, dump_public_yaml
from steersman.errors import InputError
from steersman.shadow.comparison import DecisionComparison
from steersman.shadow.follower import DecisionMoment
from steersman.shadow.summary import comparison_line

MOST_DIRECTORIES: Final = 20
COMMAND: Final = "steersman simulate -f cluster.json -f pod.json --config config.yaml --no-controllers --explain {}"
_README: Final = """\
{line}

The cluster as it stood when the other scheduler decided on pod {pod}, and the pod as it was before. In this directory

    {command}

says what every node and every plugin think of it here. comparison.json has the scores of both nodes side by side.
"""


class DifferenceWriter:
    """Writes the first disagreements into directories of their own."""

    def __init__(self, directory: Path, configuration: SchedulerConfiguration, most: int = MOST_DIRECTORIES) -> None:
        """InputError when the directory cannot be written."""
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
        """The comparison with the directory that repeats it. InputError when that cannot be written."""
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
