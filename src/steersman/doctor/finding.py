# SPDX-License-Identifier: Apache-2.0
"""A finding of a check: one line, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from steersman.explain.tables import hanging
from steersman.printable import printable


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    check: str
    level: Level
    message: str
    #: What to do; "" where nothing is to be done.
    advice: str = ""

    def lines(self, width: int | None = None) -> Iterator[str]:
        """The finding as text, in lines of at most `width` characters; None: as long as they are."""
        yield from hanging(f"{self.level:<5} {self.check:<11} ", printable(self.message), width)
        if self.advice:
            yield from hanging(f"{'':<18}→ ", printable(self.advice), width)


def ok(check: str, message: str) -> Finding:
    return Finding(check, Level.OK, message)


def warn(check: str, message: str, advice: str) -> Finding:
    return Finding(check, Level.WARN, message, advice)


def fail(check: str, message: str, advice: str) -> Finding:
    return Finding(check, Level.FAIL, message, advice)
