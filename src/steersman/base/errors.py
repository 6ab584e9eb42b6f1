# SPDX-License-Identifier: Apache-2.0
"""Errors that users may see: any package may raise them, only the command line prints them.

Each is rendered as one line that names the problem and the remedy, without a traceback. Results of
scheduling ("does not fit") are values, not errors; see `steersman.framework`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any, Final, Self, TypeVar

E = TypeVar("E", bound=BaseException)

_MAX_VALUE_LENGTH: Final = 120
"""Longer values are truncated in the rendered line; the field path locates them in the file."""

_MAX_ERRORS: Final = 20


class SteersmanError(Exception):
    """Base class of errors that are shown to users as one line, without a traceback."""


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
        #: Name of the file as given by the user, "-" for standard input.
        self.file = file
        #: Line in the file, starting at 1.
        self.line = line
        #: Position of the document in the file, starting at 1.
        self.document = document
        #: Position of the object in a List document, starting at 1.
        self.item = item
        #: Kind and name, "Pod default/web-0", as far as known.
        self.object = object
        #: Path of the field in the object, `spec.containers[0].image`.
        self.field = field
        #: The invalid value, or None.
        self.value = value
        #: The remedy, as the end of a sentence.
        self.hint = hint

    def located(self, **place: str | int | None) -> Self:
        """Return a copy with `file`, `line`, `document`, `item`, `object` or `field` set where
        unknown."""
        placed = copy.copy(self)
        for part, known in place.items():
            if getattr(self, part) is None:
                setattr(placed, part, known)
        return placed

    def beneath(self, path: str) -> Self:
        """Return a copy for an enclosing object that has the invalid one at `path`."""
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


class InputErrors(InputError):
    """Several errors in user input, one per line."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        super().__init__(errors[0].message)
        self.errors = tuple(errors)

    def lines(self) -> list[str]:
        """Return the first errors, and the number of others."""
        more = len(self.errors) - _MAX_ERRORS
        return [*map(str, self.errors[:_MAX_ERRORS]), *([f"{more:,} more errors"] if more > 0 else [])]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _shown(value: Any) -> str:
    """Return the beginning of the value as JSON. Rendering stops there, because YAML aliases can
    make a value huge."""
    text = ""
    try:
        for piece in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
            text += piece
            if len(text) > _MAX_VALUE_LENGTH:
                break
    except (ValueError, RecursionError):
        text += "…"  # a number that is too long for Python, or recursive nesting
    return text if len(text) <= _MAX_VALUE_LENGTH else text[: _MAX_VALUE_LENGTH - 1] + "…"


def most_informative_error(group: BaseExceptionGroup[E]) -> E:
    """Return the most informative error of a group of tasks; errors meant for users come first."""
    leaves = _leaves(group)
    return next((leaf for leaf in leaves if isinstance(leaf, SteersmanError)), leaves[0])


def _leaves(group: BaseExceptionGroup[E]) -> list[E]:
    leaves: list[E] = []
    for error in group.exceptions:
        leaves += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return leaves
