# SPDX-License-Identifier: Apache-2.0
"""Line numbers of fields in source files, which are parsed again only for errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import yaml

from steersman.api import yaml_documents
from steersman.base import InputError

MAX_FILE_BYTES: Final = 4 << 20
"""Maximum file size for line numbers: parsing generated files with positions takes minutes."""
_STEP: Final = re.compile(r"[^.\[\]]+")


class SourceLines:
    """Finder of line numbers, which parses each file once."""

    def __init__(self) -> None:
        self._documents: dict[str, list[yaml.Node]] = {}

    def with_line(self, error: InputError) -> InputError:
        """Return the error with the line of its field or of the nearest enclosing field."""
        if error.file is None or error.document is None or error.line is not None:
            return error
        if error.file not in self._documents:
            self._documents[error.file] = _parsed(error.file)
        documents = self._documents[error.file]
        if error.document > len(documents):
            return error
        steps = _STEP.findall(error.field or "")
        if error.item is not None:
            steps = ["items", str(error.item - 1), *steps]
        return error.located(line=_line(documents[error.document - 1], steps))


def _parsed(file: str) -> list[yaml.Node]:
    """Return the documents of a file; [] if it is unreadable or too large."""
    try:
        data = Path(file).read_bytes()
        return [] if len(data) > MAX_FILE_BYTES else list(yaml_documents.nodes(data.decode("utf-8-sig")))
    except (OSError, ValueError, InputError):
        return []


def _line(node: yaml.Node, steps: list[str]) -> int:
    line = node.start_mark.line + 1
    for step in steps:
        found = _child(node, step)
        if found is None:
            break
        key, node = found
        line = key.start_mark.line + 1
    return line


def _child(node: yaml.Node, step: str) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the node where a field begins, and its value."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        element = node.value[int(step)]
        return element, element
    return None
