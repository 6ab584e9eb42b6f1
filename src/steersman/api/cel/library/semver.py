# SPDX-License-Identifier: Apache-2.0
"""Semantic versions: `semver("1.2.3")`, also of device attributes of type version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from steersman.api.cel.arithmetic import MAX_INT, MAX_UINT
from steersman.api.cel.comparison import Equatable
from steersman.api.cel.errors import CelError, no_such_overload
from steersman.api.cel.meter import MAX_CACHED
from steersman.api.cel.values import Value, register
from steersman.api.go_text import quote

_UINT_DIGITS: Final = 20
_DIGITS: Final = re.compile(r"[0-9]*")
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Semver(Equatable):
    """Semantic version."""

    #: Major, minor, patch, and pre-release; a release sorts after its pre-releases.
    order: tuple[int, int, int, tuple[int, tuple[tuple[bool, int, str], ...]]]

    def equals(self, other: Value) -> bool:
        """Return whether the versions have equal precedence, which ignores build metadata."""
        if not isinstance(other, Semver):
            raise no_such_overload()
        return self.order == other.order


register(Semver, "kubernetes.Semver", "cel.Semver", hashable=False)


def parse(text: str) -> Semver:
    """Parse a version: exactly three numbers, optional pre-release, optional build metadata."""
    return _parse_short(text) if len(text) <= MAX_CACHED else _parse(text)


@lru_cache(maxsize=4096)
def _parse_short(text: str) -> Semver:
    return _parse(text)


def _parse(text: str) -> Semver:
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _number("major", parts[0]), _number("minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    patch_text, dash, release = rest.partition("-")
    patch = _number("patch", patch_text)
    pre = tuple(_pre_release(part) for part in release.split(".")) if dash else ()
    for part in build.split(".") if plus else ():
        _check_build(part)
    return Semver((major, minor, patch, (0 if pre else 1, pre)))


def _number(name: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise CelError(f"Invalid character(s) found in {name} number {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise CelError(f"{name.capitalize()} number must not contain leading zeroes {quote(text)}")
    return _parsed(text)


def _parsed(text: str) -> int:
    if not text:
        raise CelError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > _UINT_DIGITS or int(text) > MAX_UINT:
        raise CelError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return int(text)


def _pre_release(text: str) -> tuple[bool, int, str]:
    """Parse a pre-release identifier; numbers sort before words."""
    if not text:
        raise CelError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise CelError(f"Numeric PreRelease version must not contain leading zeroes {quote(text)}")
        return False, _parsed(text), ""
    if not _IDENTIFIER.fullmatch(text):
        raise CelError(f"Invalid character(s) found in prerelease {quote(text)}")
    return True, 0, text


def _check_build(text: str) -> None:
    if not text:
        raise CelError("Build meta data is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise CelError(f"Invalid character(s) found in build meta data {quote(text)}")


def _parse_relaxed(text: str, normalize: bool) -> Semver:
    return parse(_normalized(text) if normalize else text)


def _normalized(text: str) -> str:
    """Remove a leading `v` and leading zeros, and pad to three numbers."""
    parts = [_without_zeroes(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(sign in parts[-1] for sign in "+-"):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, *["0"] * (3 - len(parts))])


def _without_zeroes(part: str) -> str:
    if len(part) <= 1:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1] and stripped[0] in "0123456789" else "0" + stripped


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _parse_relaxed(text, normalize)
    except CelError:
        return False
    return True


def _compare(left: Semver, right: Semver) -> int:
    return (left.order > right.order) - (left.order < right.order)


def _is_greater(left: Semver, right: Semver) -> bool:
    return left.order > right.order


def _is_less(left: Semver, right: Semver) -> bool:
    return left.order < right.order


def _as_int(number: int) -> int:
    """Convert an unsigned number to int, with wrap-around."""
    return number if number <= MAX_INT else number - MAX_UINT - 1


def _major(version: Semver) -> int:
    return _as_int(version.order[0])


def _minor(version: Semver) -> int:
    return _as_int(version.order[1])


def _patch(version: Semver) -> int:
    return _as_int(version.order[2])
