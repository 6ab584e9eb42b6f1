# SPDX-License-Identifier: Apache-2.0
"""Durations: a number of seconds, a duration such as `1m30s`, or a distribution such as
`uniform(10, 60)`.

Annotations and policies contain them as text. A draw from a distribution depends on a text that
names the occasion (the seed, the pod, the container, the number of the run), so that a repeated
simulation has the same result.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import msgspec

from steersman.api import SECOND, Duration, DurationError
from steersman.base import InputError

NOT_A_DURATION: Final = "is not a number of seconds"
MAX_SECONDS: Final = 100 * 366 * 86_400.0
DURATION_HINT: Final = (
    'use a number of seconds such as "30", a duration such as "1m30s", or a distribution: "exponential(mean=30)", '
    '"uniform(10, 60)", "normal(mean=30, sd=5)", "lognormal(median=30, sigma=0.5)"'
)
_CALL: Final = re.compile(r"\s*(?P<name>[a-z]+)\s*\((?P<arguments>[^()]*)\)\s*")
_RESOLUTION: Final = 2.0**53
_MAX_EXPONENT: Final = 700.0


class RandomDuration(msgspec.Struct, frozen=True):
    """A constant (`fixed`, with a single parameter) or a distribution; `seconds` draws from it."""

    distribution: str
    parameters: tuple[float, ...]

    @property
    def is_fixed(self) -> bool:
        """Whether the duration is constant."""
        return self.distribution == FIXED

    def seconds(self, occasion: str) -> float:
        """Draw a number of seconds, at least 0; equal for equal occasions."""
        if self.is_fixed:
            return self.parameters[0]
        drawn = _DISTRIBUTIONS[self.distribution].draw(self.parameters, _chances(occasion))
        return min(max(0.0, drawn), MAX_SECONDS)


class _Distribution(msgspec.Struct, frozen=True):
    parameters: tuple[str, ...]
    draw: Callable[[tuple[float, ...], tuple[float, float]], float]


def _chances(occasion: str) -> tuple[float, float]:
    """Return two independent numbers in (0, 1)."""
    digest = hashlib.blake2b(occasion.encode(), digest_size=16).digest()
    first, second = (int.from_bytes(half, "big") >> 11 for half in (digest[:8], digest[8:]))
    return (first + 0.5) / _RESOLUTION, (second + 0.5) / _RESOLUTION


def chance(occasion: str) -> float:
    """Return a number in (0, 1), equal for equal occasions."""
    return _chances(occasion)[0]


def _gaussian(chances: tuple[float, float]) -> float:
    """Return a normally distributed number (Box-Muller transform)."""
    return math.sqrt(-2.0 * math.log(chances[0])) * math.cos(2.0 * math.pi * chances[1])


def _exponential(exponent: float) -> float:
    return math.exp(min(exponent, _MAX_EXPONENT))


FIXED: Final = "fixed"
_DISTRIBUTIONS: Final = {
    "exponential": _Distribution(("mean",), lambda p, chances: -p[0] * math.log(chances[0])),
    "uniform": _Distribution(("low", "high"), lambda p, chances: p[0] + (p[1] - p[0]) * chances[0]),
    "normal": _Distribution(("mean", "sd"), lambda p, chances: p[0] + p[1] * _gaussian(chances)),
    "lognormal": _Distribution(("median", "sigma"), lambda p, chances: p[0] * _exponential(p[1] * _gaussian(chances))),
}


def parse_duration(text: str | float) -> RandomDuration:
    """Parse a duration. Raises `InputError`."""
    return _parsed(text) if isinstance(text, str) else _fixed(float(text), text)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> RandomDuration:
    call = _CALL.fullmatch(text)
    if call is None:
        return _fixed(_seconds(text, text), text)
    distribution = _DISTRIBUTIONS.get(call["name"])
    if distribution is None:
        raise _refused(text)
    values = _arguments(call["arguments"], distribution.parameters, text)
    if call["name"] == "uniform" and values[0] > values[1]:
        raise InputError("has a lower end above its upper end", value=text, hint="write the smaller number first")
    return RandomDuration(call["name"], values)


def _arguments(text: str, names: tuple[str, ...], whole: str) -> tuple[float, ...]:
    """Parse the arguments, each given once, by position or by name."""
    found: dict[str, float] = {}
    for index, argument in enumerate(text.split(",")):
        name, equals, value = (part.strip() for part in argument.rpartition("="))
        name = name if equals else names[index] if index < len(names) else ""
        if name not in names or name in found:
            raise _refused(whole)
        found[name] = _seconds(value, whole)
    if len(found) != len(names):
        raise _refused(whole)
    return tuple(found[name] for name in names)


def _seconds(text: str, whole: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = Duration.parse(text.strip()).nanoseconds / SECOND
        except DurationError:
            raise _refused(whole) from None
    if not 0 <= seconds <= MAX_SECONDS:
        raise _refused(whole)
    return seconds


def _fixed(seconds: float, text: object) -> RandomDuration:
    if not 0 <= seconds <= MAX_SECONDS:
        raise _refused(text)
    return RandomDuration(FIXED, (seconds,))


def _refused(value: object) -> InputError:
    return InputError(NOT_A_DURATION, value=value, hint=DURATION_HINT)
