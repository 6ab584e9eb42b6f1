# SPDX-License-Identifier: Apache-2.0
"""Errors that a user may see, lowest layer: everything may raise them, only the command line prints them.

Every such error renders as one line that names what is wrong and what would be right, so that no traceback is needed.
Outcomes of scheduling ("does not fit") are values, not errors; see `steersman.framework`.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Final, Self

_LONGEST_VALUE: Final = 120
"""A longer value is cut in the rendered line: the field path finds it in the file."""


class SteersmanError(Exception):
    """Base of every error that is shown to a user as one line, without a traceback."""


class InputError(SteersmanError):
    """Something a user supplied cannot be used.

    `message` says what is wrong; the other parts say where, and are rendered only when known:

        cluster.yaml, document 3: Pod default/web-0: spec.containers[0].resources.requests.cpu: must not be negative
        (got "-1"); use a quantity such as "500m"
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        document: int | None = None,
        item: int | None = None,
        object: str | None = None,
        field: str | None = None,
        value: Any = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        #: Name of the file as the user gave it, "-" for standard input.
        self.file = file
        #: Line in the file, counted from 1.
        self.line = line
        #: Position of the document in the file, counted from 1.
        self.document = document
        #: Position of the object in the list that the document is, counted from 1.
        self.item = item
        #: "Pod default/web-0", as far as the object could be identified.
        self.object = object
        #: Path of the field inside the object, `spec.containers[0].image`.
        self.field = field
        #: The offending value; `None` when there is none to show.
        self.value = value
        #: What would be right, as the end of a sentence.
        self.hint = hint

    def located(self, **place: str | int | None) -> Self:
        """This error with `file`, `line`, `document`, `item`, `object` or `field` added where not known yet."""
        placed = copy.copy(self)
        for part, known in place.items():
            if getattr(self, part) is None:
                setattr(placed, part, known)
        return placed

    def beneath(self, path: str) -> Self:
        """A copy of the error about an object that has what was complained of at `path`."""
        placed = copy.copy(self)
        placed.field = f"{path}.{self.field}" if self.field else path
        return placed

    def __str__(self) -> str:
        parts = [*self._place(), self.message]
        text = ": ".join(parts)
        if self.value is not None:
            text += f" (got {_shown(self.value)})"
        if self.hint:
            text += f"; {self.hint}"
        return " ".join(text.splitlines())

    def _place(self) -> list[str]:
        position = [self.file] if self.file is not None else []
        if self.line is not None:
            position.append(f"line {self.line}")
        if self.document is not None:
            position.append(f"document {self.document}")
        if self.item is not None:
            position.append(f"item {self.item}")
        return [part for part in (", ".join(position), self.object, self.field) if part]


def _shown(value: Any) -> str:
    """The beginning of the value as JSON. No more than that is rendered: aliases in YAML can make a value very long."""
    text = ""
    try:
        for piece in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
            text += piece
            if len(text) > _LONGEST_VALUE:
                break
    except (ValueError, RecursionError):
        text += "…"  # a number that Python does not print, or nesting without end
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
