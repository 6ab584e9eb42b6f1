# SPDX-License-Identifier: Apache-2.0
"""Times in API objects."""

import pytest

from steersman.api import timestamps
from steersman.base.errors import InputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2031-01-01T00:00:00Z", 1924992000.0),
        ("2031-01-01T01:00:00+01:00", 1924992000.0),
        ("2031-01-01T00:00:00.250000Z", 1924992000.25),
    ],
)
def test_times_are_read_as_seconds(text: str, seconds: float) -> None:
    assert timestamps.parse(text) == seconds


def test_times_are_written_in_whole_seconds_or_microseconds() -> None:
    assert timestamps.render(1924992000.75) == "2031-01-01T00:00:00Z"
    assert timestamps.render_micro(1924992000.75) == "2031-01-01T00:00:00.750000Z"


def test_what_is_written_is_read_back() -> None:
    assert timestamps.parse(timestamps.render(1924992000)) == 1924992000


def test_times_of_other_years_are_written_as_the_first_or_last_second_of_four_digits() -> None:
    assert timestamps.render(-1e18) == "0001-01-01T00:00:00Z"
    assert timestamps.render(1e18) == "9999-12-31T23:59:59Z"
    assert timestamps.render_micro(1e12) == "9999-12-31T23:59:59.000000Z"


def test_other_texts_are_refused() -> None:
    with pytest.raises(InputError, match=r'is not a time \(got "yesterday"\); use RFC 3339'):
        timestamps.parse("yesterday")
