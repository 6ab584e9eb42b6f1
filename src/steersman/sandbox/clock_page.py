# SPDX-License-Identifier: Apache-2.0
"""The clock of a sandbox over its API: `GET /steersman/v1/clock` shows it, `POST` pauses, steps, resumes or changes its speed.

{"paused": true}    {"paused": false}    {"step": 60}    {"speed": "60x"}
"""

from __future__ import annotations

from typing import Final

from steersman.api import timestamps
from steersman.apiserver.statuses import bad_request
from steersman.embedded import Document
from steersman.errors import InputError
from steersman.host import ScaledClock, parse_speed

FIELDS: Final = ("paused", "step", "speed")


class ClockPage:
    """Shows and changes a clock."""

    def __init__(self, clock: ScaledClock) -> None:
        self._clock = clock

    def __call__(self, change: Document | None) -> Document:
        """The state after the change, None for no change; raises 400. A step may go on after the answer: see `stepping`."""
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
        try:
            self._apply(paused, step, None if speed is None else str(speed))
        except InputError as error:
            raise bad_request(str(error)) from error

    def _apply(self, paused: bool | None, step: float | None, speed: str | None) -> None:
        clock = self._clock
        if speed is not None:
            clock.speed = parse_speed(speed)
        if paused is not None:
            clock.pause() if paused else clock.resume()
        if step is not None:
            clock.step(float(step))


def speed_text(clock: ScaledClock) -> str:
    """`real`, `60x` or `max`."""
    speed = clock.speed
    return speed if isinstance(speed, str) else ("real" if speed == 1.0 else f"{speed:g}x")
