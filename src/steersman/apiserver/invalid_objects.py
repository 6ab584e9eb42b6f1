# SPDX-License-Identifier: Apache-2.0
"""The refusal of an invalid object: 422 with a cause for each field error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steersman.api.validation.field_errors import FieldError
from steersman.embedded.errors import StatusCause, StatusError


class InvalidObject(StatusError):
    """An object with problems: 422, with a cause for each."""

    code = 422
    reason = "Invalid"

    def __init__(self, group_kind: str, name: str, problems: Sequence[FieldError]) -> None:
        texts = list(dict.fromkeys(map(str, problems)))
        why = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        causes = [StatusCause(problem.reason, problem.body, problem.field) for problem in problems]
        super().__init__(f'{group_kind} "{name}" is invalid: {why}', causes)
        self.problems = tuple(problems)


def refuse(api_version: str, kind: str, name: str, problems: Iterable[FieldError]) -> None:
    """Raises `InvalidObject` if there are problems."""
    found = list(problems)
    if found:
        group = api_version.rpartition("/")[0]
        raise InvalidObject(f"{kind}.{group}" if group else kind, name, found)
