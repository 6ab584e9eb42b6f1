# SPDX-License-Identifier: Apache-2.0
"""Finding of a check: one line, and advice."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from steersman.base import printable, wrap_hanging


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    check: str
    level: Level
    message: str
    #: Remedy; "" if none is needed.
    advice: str = ""

    def lines(self, width: int | None = None) -> Iterator[str]:
        """Yield the finding as text, folded at `width` characters unless None."""
        yield from wrap_hanging(f"{self.level:<5} {self.check:<11} ", printable(self.message), width)
        if self.advice:
            yield from wrap_hanging(f"{'':<18}→ ", printable(self.advice), width)


def ok(check: str, message: str) -> Finding:
    return Finding(check, Level.OK, message)


def warn(check: str, message: str, advice: str) -> Finding:
    return Finding(check, Level.WARN, message, advice)


def fail(check: str, message: str, advice: str) -> Finding:
    return Finding(check, Level.FAIL, message, advice)
