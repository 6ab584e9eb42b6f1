"""Values of options that need more than a string: durations, feature gates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from steersman.config import FeatureGates


def parse_seconds(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A callback: a duration as Go writes it, `10m` or `1h30m`, or a plain number of seconds."""
    if text is None:
        return None
    seconds = _seconds(text)
    if seconds is None or not 0 <= seconds < math.inf:
        raise click.BadParameter(f'{text!r} is not a duration; use for example "30s", "10m" or "1h30m"')
    return seconds


def _seconds(text: str) -> float | None:
    from steersman.config import Duration, DurationError

    try:
        return float(text)
    except ValueError:
        pass
    try:
        return Duration.parse(text).seconds
    except DurationError:
        return None


def parse_gates(text: str | None) -> FeatureGates | None:
    """The value of `--feature-gates`; raises `InputError`."""
    if text is None:
        return None
    from steersman.config import FeatureGates

    return FeatureGates.parse(text)
