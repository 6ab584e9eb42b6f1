# SPDX-License-Identifier: Apache-2.0
"""The clock of this machine against that of the API server, which tells whole seconds."""

from __future__ import annotations

import pytest
from tests.client.api_server import ApiServer
from tests.run.doctor.examining import examined, of

from steersman.base.clock import ManualClock, RealClock
from steersman.run.doctor import Level
from steersman.run.doctor.clock_skew import skew


@pytest.mark.parametrize(
    ("told", "asked", "answered", "ahead"),
    [
        (100.0, 100.2, 100.3, 0.0),
        (100.0, 100.9, 101.1, 0.0),
        (100.0, 99.0, 103.0, 0.0),
        (100.0, 111.0, 111.5, 10.0),
        (100.0, 89.0, 90.0, -10.0),
    ],
)
def test_what_rounding_and_travel_explain_is_no_skew(told: float, asked: float, answered: float, ahead: float) -> None:
    assert skew(told, asked, answered) == ahead


def test_clocks_that_agree_are_fine() -> None:
    assert of(examined(ApiServer()), "clock", Level.OK)


@pytest.mark.parametrize(("seconds", "level"), [(20.0, Level.WARN), (-20.0, Level.WARN), (3600.0, Level.FAIL)])
def test_a_clock_that_is_off_is_reported(seconds: float, level: Level) -> None:
    off = ManualClock(RealClock().now() + seconds)
    (finding,) = of(examined(ApiServer(), clock=off), "clock", level)
    assert ("ahead of" if seconds > 0 else "behind") in finding.message
