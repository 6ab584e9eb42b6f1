# SPDX-License-Identifier: Apache-2.0
"""Cron schedules; expected times are those of robfig/cron v3."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from steersman.api.cron_schedule import parse_schedule
from steersman.base.errors import InputError

UTC = ZoneInfo("UTC")


def _next(schedule: str, after: str, zone: str = "UTC", times: int = 1) -> list[str]:
    parsed, moment = (
        parse_schedule(schedule, zone),
        datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone)).timestamp(),
    )
    result = list[str]()
    for _ in range(times):
        following = parsed.next_after(moment)
        assert following is not None
        moment = following
        result.append(datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S"))
    return result


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("* * * * *", "2026-07-09 14:45:00", "2026-07-09 14:46:00"),
        ("0/15 * * * *", "2026-07-09 14:45:00", "2026-07-09 15:00:00"),
        ("20-35/15 * * * *", "2026-07-09 15:45:00", "2026-07-09 16:20:00"),
        ("5/15 * * * *", "2026-07-09 14:50:00", "2026-07-09 15:05:00"),
        ("0 9-17 * * mon-fri", "2026-07-10 17:00:00", "2026-07-13 09:00:00"),
        ("0 0 1 */3 *", "2026-07-09 00:00:00", "2026-10-01 00:00:00"),
        ("0 0 * Feb Mon", "2026-07-09 23:35:00", "2027-02-01 00:00:00"),
        ("30 3 29 2 *", "2026-03-01 00:00:00", "2028-02-29 03:30:00"),
        ("0 0 13 * 5", "2026-07-09 00:00:00", "2026-07-10 00:00:00"),
        ("0 0 */13 * 5", "2026-07-11 00:00:00", "2026-07-14 00:00:00"),
        ("0 0 ? * 5", "2026-07-09 00:00:00", "2026-07-10 00:00:00"),
        ("1,2,50 4 * * *", "2026-07-09 04:02:00", "2026-07-09 04:50:00"),
        ("@hourly", "2026-07-09 04:02:00", "2026-07-09 05:00:00"),
        ("@daily", "2026-07-09 04:02:00", "2026-07-10 00:00:00"),
        ("@weekly", "2026-07-09 04:02:00", "2026-07-12 00:00:00"),
        ("@monthly", "2026-07-09 04:02:00", "2026-08-01 00:00:00"),
        ("@yearly", "2026-07-09 04:02:00", "2027-01-01 00:00:00"),
        ("@every 1h30m", "2026-07-09 04:02:00", "2026-07-09 05:32:00"),
    ],
)
def test_the_next_time(schedule: str, after: str, expected: str) -> None:
    assert _next(schedule, after) == [expected]


def test_seconds_of_the_moment_do_not_matter() -> None:
    assert _next("* * * * *", "2026-07-09 14:45:59.7") == ["2026-07-09 14:46:00"]


def test_schedules_are_of_their_time_zone() -> None:
    assert parse_schedule("0 9 * * *", "America/New_York").next_after(
        datetime(2026, 7, 9, 12, tzinfo=UTC).timestamp()
    ) == pytest.approx(datetime(2026, 7, 9, 13, tzinfo=UTC).timestamp())


def test_a_time_that_does_not_exist_is_passed_over() -> None:
    assert _next("30 2 * * *", "2026-03-07 03:00:00", "America/New_York", times=2) == [
        "2026-03-09 02:30:00",
        "2026-03-10 02:30:00",
    ]


def test_a_time_that_exists_twice_comes_twice() -> None:
    assert _next("30 1 * * *", "2026-10-31 12:00:00", "America/New_York", times=3) == [
        "2026-11-01 01:30:00",
        "2026-11-01 01:30:00",
        "2026-11-02 01:30:00",
    ]


def test_a_zone_may_stand_in_front() -> None:
    moment = datetime(2026, 7, 9, tzinfo=UTC).timestamp()
    assert parse_schedule("CRON_TZ=Asia/Tokyo 0 6 * * *").next_after(moment) == pytest.approx(
        datetime(2026, 7, 9, 21, tzinfo=UTC).timestamp()
    )


def test_a_day_that_never_comes_has_no_next_time() -> None:
    assert parse_schedule("0 0 31 2 *").next_after(0) is None


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@often", "unrecognized descriptor: @often"),
        ("@every soon", "failed to parse duration @every soon"),
    ],
)
def test_what_is_no_schedule_is_refused(schedule: str, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_schedule(schedule)
    assert message in str(refusal.value)


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InputError, match="unknown time zone Mars/Olympus"):
        parse_schedule("* * * * *", "Mars/Olympus")
