# SPDX-License-Identifier: Apache-2.0
"""Moments of a record, as people write them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import click
import pytest

from steersman.base.errors import InputError
from steersman.cli.explain import explain
from steersman.cli.moments import parse_moment

BEGIN = datetime(2026, 11, 16, 20, 0, tzinfo=UTC)
END = datetime(2026, 11, 17, 14, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock is not UTC: records do not care."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def parsed(text: str) -> float | datetime:
    with click.Context(explain):
        return parse_moment(text, BEGIN.timestamp(), END.timestamp(), "--at")


def test_a_time_of_day_is_on_the_last_day_that_has_it() -> None:
    assert parsed("14:05") == datetime(2026, 11, 17, 14, 5, tzinfo=UTC)
    assert parsed("22:15:30") == datetime(2026, 11, 16, 22, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize("text", ["14:05Z", "15:05+01:00", "15:05:00+0100", "09:05-05:00", "00:05+10:00"])
def test_a_time_of_day_may_have_a_zone(text: str) -> None:
    assert parsed(text) == datetime(2026, 11, 17, 14, 5, tzinfo=UTC)


def test_a_date_has_its_zone_or_is_utc() -> None:
    assert parsed("2026-11-17T14:05:00Z") == datetime(2026, 11, 17, 14, 5, tzinfo=UTC)
    assert parsed("2026-11-17T15:05:00+01:00") == datetime(2026, 11, 17, 14, 5, tzinfo=UTC)
    assert parsed("2026-11-17T14:05:00") == datetime(2026, 11, 17, 14, 5, tzinfo=UTC)


def test_a_duration_is_after_the_start() -> None:
    assert (parsed("10m"), parsed("1h30m"), parsed("90")) == (600, 5400, 90)


@pytest.mark.parametrize("text", ["noon", "25:00", "14:05+25:00", "2026-13-01T00:00", "-5m", ""])
def test_what_is_no_time_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(InputError, match="14:05"):
        parsed(text)
