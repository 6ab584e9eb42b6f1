# SPDX-License-Identifier: Apache-2.0
"""The sandbox clock over its API: `/steersman/v1/clock` shows it (GET) or changes it (POST).

{"paused": true}    {"paused": false}    {"step": 60}    {"speed": "60x"}    {"decisions": 1}

While the clock is paused, the scheduler makes only the number of `decisions` requested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.api import timestamps
from steersman.base import InputError
from steersman.cluster.apiserver import bad_request
from steersman.cluster.store import Document
from steersman.scheduler.host import ScaledClock, parse_speed

FIELDS: Final = ("paused", "step", "speed", "decisions")
MAX_DECISIONS: Final = 10_000


class ClockPage:
    """Shows and changes a clock. `step_decisions` lets a paused scheduler decide that many pods."""

    def __init__(self, clock: ScaledClock, step_decisions: Callable[[int], None] | None = None) -> None:
        self._clock = clock
        self._step_decisions = step_decisions

    def __call__(self, change: Document | None) -> Document:
        """Return the state after a change, or without one. Raise 400. A step may still be running
        afterwards: see `stepping`."""
        if change is not None:
            self._change(change)
        clock = self._clock
        return {
            "now": timestamps.render_micro(clock.now()),
            "paused": clock.is_paused,
            "stepping": clock.is_stepping,
            "speed": speed_text(clock),
        }

    def _change(self, change: Document) -> None:
        unknown = [name for name in change if name not in FIELDS]
        if unknown or not change:
            named = f"unknown field {unknown[0]!r}" if unknown else "nothing to change"
            raise bad_request(f'{named}: use {", ".join(FIELDS)}, for example {{"step": 60}}')
        paused, step, speed = change.get("paused"), change.get("step"), change.get("speed")
        if paused is not None and not isinstance(paused, bool):
            raise bad_request(f"paused: Invalid value: {paused!r}: use true or false")
        if step is not None and (not isinstance(step, (int, float)) or isinstance(step, bool)):
            raise bad_request(f"step: Invalid value: {step!r}: use a number of seconds")
        decisions = self._checked_decisions(change.get("decisions"))
        try:
            self._apply(paused, step, None if speed is None else str(speed))
        except InputError as error:
            raise bad_request(str(error)) from error
        if decisions and self._step_decisions is not None:
            self._clock.pause()
            self._step_decisions(decisions)

    def _checked_decisions(self, decisions: object) -> int:
        """Return the requested number of decisions, 0 for none; raise 400 if it is invalid."""
        if decisions is None:
            return 0
        if self._step_decisions is None:
            raise bad_request("decisions: Forbidden: this sandbox has no scheduler")
        if type(decisions) is not int or not 1 <= decisions <= MAX_DECISIONS:
            raise bad_request(f"decisions: Invalid value: {decisions!r}: use a number from 1 to {MAX_DECISIONS}")
        return decisions

    def _apply(self, paused: bool | None, step: float | None, speed: str | None) -> None:
        clock = self._clock
        if speed is not None:
            clock.speed = parse_speed(speed)
        if paused is not None:
            clock.pause() if paused else clock.resume()
        if step is not None:
            clock.step(float(step))


def speed_text(clock: ScaledClock) -> str:
    """Return `real`, `60x` or `max`."""
    speed = clock.speed
    return speed if isinstance(speed, str) else ("real" if speed == 1.0 else f"{speed:g}x")
