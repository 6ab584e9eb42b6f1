"""The error of a configuration document: the stage that failed and every problem it found.

Raised by `loading`, `validation` and `building`; the command line prints `lines`, conformance compares `errors`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

import msgspec

from steersman.config.decode_log import DecodeKind
from steersman.config.field_errors import FieldError
from steersman.errors import InputError


class ConfigStage(StrEnum):
    DECODE = "decode"
    VALIDATE = "validate"
    BUILD = "build"


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong. `text` is kube-scheduler's where users see it; parts are set where they are known."""

    text: str
    type: str = ""
    field: str = ""
    bad_value: object = None
    detail: str = ""
    hint: str = ""

    @classmethod
    def of(cls, error: FieldError) -> Problem:
        return cls(error.text, error.type, error.field, error.bad_value, error.detail)

    @property
    def line(self) -> str:
        text = " ".join(self.text.split())
        return f"{text}; {self.hint}" if self.hint else text


class ConfigError(InputError):
    """A configuration cannot be used. `str()` is one line; `lines` has one line per problem."""

    def __init__(
        self,
        stage: ConfigStage,
        problems: Iterable[Problem],
        *,
        kind: DecodeKind | None = None,
        file: str | None = None,
    ) -> None:
        self.stage = stage
        #: Class of a decode error, `None` for the other stages.
        self.kind = kind
        self.errors: Sequence[Problem] = tuple(problems)
        super().__init__(_summary(self.errors), file=file)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are made from stage and problems; the message alone, which exceptions keep, is not enough."""
        return partial(ConfigError, kind=self.kind, file=self.file), (self.stage, self.errors), self.__dict__

    @property
    def lines(self) -> list[str]:
        """One line per problem, each with the file's name."""
        prefix = f"{self.file}: " if self.file is not None else ""
        return [prefix + problem.line for problem in self.errors]


def _summary(problems: Sequence[Problem]) -> str:
    if len(problems) == 1:
        return problems[0].line
    return f"{len(problems)} problems: " + " | ".join(problem.line for problem in problems)
