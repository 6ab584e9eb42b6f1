# SPDX-License-Identifier: Apache-2.0
"""Errors of expressions: at evaluation (`CelError`), and at compilation (`Issue`).

Evaluation raises; compilation collects issues with positions, which `render` formats as upstream
does, with the line of the expression and a caret.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from steersman.base import SteersmanError

NO_SUCH_OVERLOAD: Final = "no such overload"
COST_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"

_MAX_ISSUES: Final = 100
_MAX_SNIPPET: Final = 16384
"""Maximum size in bytes of a displayed line."""


class CelError(SteersmanError):
    """The evaluation of an expression failed; the message is upstream's."""


class Aborted(CelError):
    """The evaluation was aborted; no operator absorbs this error."""


class CostExceeded(Aborted):
    """The evaluation exceeded the cost limit."""

    def __init__(self) -> None:
        super().__init__(COST_EXCEEDED)


class Issue(NamedTuple):
    """Error found by the parser, the checker or a validator."""

    #: Position in the expression, in characters.
    offset: int
    message: str


def no_such_overload() -> CelError:
    """Return the error for an operation that its operands do not support."""
    return CelError(NO_SUCH_OVERLOAD)


def render(issues: Iterable[Issue], source: str) -> str:
    """Format all issues in order of position, as upstream does."""
    ordered = sorted(issues, key=lambda issue: issue.offset)
    shown = [_shown(issue, source) for issue in ordered[:_MAX_ISSUES]]
    if len(ordered) > _MAX_ISSUES:
        shown.append(f"{len(ordered) - _MAX_ISSUES} more errors were truncated")
    return "\n".join(shown)


def _shown(issue: Issue, source: str) -> str:
    if issue.offset < 0:
        return f"ERROR: <input>:-1:0: {issue.message}"
    if not source:
        return f"ERROR: <input>:1:0: {issue.message}"
    start = source.rfind("\n", 0, issue.offset) + 1
    line, column = source.count("\n", 0, start) + 1, issue.offset - start
    text = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    snippet = source[start:].split("\n", 1)[0].replace("\t", " ")
    if len(snippet.encode()) > _MAX_SNIPPET:
        return text
    dots = "".join("." if char.isascii() else "\uff0e" for char in snippet[:column])
    caret = "^" if snippet[column : column + 1].isascii() else "\uff3e"
    return f"{text}\n | {snippet}\n | {dots}{caret}"
