# SPDX-License-Identifier: Apache-2.0
"""Quantities: what users write, and what the scheduler calculates with."""

import time

import pytest

from steersman.api import quantity
from steersman.base.errors import InputError


@pytest.mark.parametrize(
    ("text", "milli"),
    [("500m", 500), ("0.5", 500), ("2", 2000), ("250e-3", 250), ("1.5", 1500), ("0.1m", 1), ("100u", 1), ("1k", 10**6)],
)
def test_cpu_is_counted_in_thousandths_rounded_up(text: str, milli: int) -> None:
    assert quantity.milli_value_of(text) == milli


@pytest.mark.parametrize(
    ("text", "value"),
    [("1Ki", 1024), ("1.5Gi", 3 * 2**29), ("128M", 128 * 10**6), ("64e6", 64 * 10**6), ("100m", 1), ("1E", 10**18)],
)
def test_memory_is_counted_in_bytes_rounded_up(text: str, value: int) -> None:
    assert quantity.value_of(text) == value


def test_numbers_are_quantities_too() -> None:
    assert quantity.milli_value_of(2) == 2000
    assert quantity.milli_value_of(0.5) == 500
    assert quantity.value_of(64e6) == 64_000_000
    assert quantity.milli_value_of(1e-7) == 1


def test_blanks_around_a_text_are_ignored() -> None:
    assert quantity.value_of(" 5 ") == 5


def test_binary_quantities_are_capped_at_the_largest_int64() -> None:
    assert quantity.value_of("9Ei") == 2**63 - 1


def test_sums_are_exact_before_they_are_rounded() -> None:
    half = quantity.parse("500u")
    assert quantity.milli_value(quantity.add(half, half)) == 1
    assert 2 * quantity.milli_value(half) == 2


def test_a_sum_keeps_the_format_of_the_first_operand_that_is_not_zero() -> None:
    assert quantity.canonical(quantity.add(quantity.parse("0"), quantity.parse("1Gi"))) == "1Gi"
    assert quantity.canonical(quantity.add(quantity.parse("1Gi"), quantity.parse("1G"))) == "2073741824"


def test_the_canonical_text_has_no_fraction_and_the_largest_suffix() -> None:
    assert quantity.canonical(quantity.parse("1.5")) == "1500m"
    assert quantity.canonical(quantity.parse("1.5Gi")) == "1536Mi"
    assert quantity.canonical(quantity.parse("1000M")) == "1G"
    assert quantity.canonical(quantity.parse("0.001e6")) == "1e3"


def test_comparison_does_not_depend_on_notation() -> None:
    assert quantity.compare(quantity.parse("1024Mi"), quantity.parse("1Gi")) == 0
    assert quantity.compare(quantity.parse("999m"), quantity.parse("1")) == -1
    assert quantity.compare(quantity.parse("1e3"), quantity.parse("1Ki")) == -1
    assert quantity.compare(quantity.parse("1Gi"), quantity.parse("1G")) == 1


def test_the_sign_is_that_of_the_exact_value() -> None:
    assert [quantity.sign(quantity.parse(text)) for text in ("-1n", "0Gi", "1n")] == [-1, 0, 1]


def test_an_error_names_the_text_and_the_rule() -> None:
    with pytest.raises(InputError) as caught:
        quantity.parse("1 GB")
    assert str(caught.value).startswith("quantities must match the regular expression '^([+-]?[0-9.]+)")
    assert '(got "1 GB")' in str(caught.value)


def test_an_enormous_exponent_takes_no_time_and_no_memory() -> None:
    assert quantity.value_of("1e1000000000") == 0
    assert quantity.value_of("1e-1000000000") == 1
    assert quantity.compare(quantity.parse("1e1000000000"), quantity.parse("1")) == 1


def test_an_enormous_text_is_refused() -> None:
    with pytest.raises(InputError):
        quantity.parse("9" * 100_000)


def test_infinite_numbers_are_refused() -> None:
    with pytest.raises(InputError):
        quantity.parse(float("inf"))


@pytest.mark.parametrize("text", ["0" * 3000 + "x", "1" * 16_000 + "x", "." * 16_000, "1e" + "9" * 16_000 + "x"])
def test_a_long_text_that_is_no_quantity_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    with pytest.raises(InputError):
        quantity.parse(text)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("text", "value", "milli_value"),
    [
        ("9" * 5000, -1, -1000),
        ("1" + "0" * 5000, 0, 0),
        ("-" + "9" * 5000, 1, 1000),
        ("0" * 5000 + "7", 7, 7000),
        ("0." + "0" * 5000 + "1", 1, 1),
        ("9" * 5000 + "Ki", quantity.MAX_INT64, -1000),
    ],
)
def test_thousands_of_digits_are_read_as_upstream_reads_them(text: str, value: int, milli_value: int) -> None:
    assert (quantity.value_of(text), quantity.milli_value_of(text)) == (value, milli_value)


def test_thousands_of_digits_are_written_again() -> None:
    assert quantity.canonical(quantity.parse("9" * 5000)) == "9" * 5000
    assert quantity.canonical(quantity.parse("-" + "9" * 5000 + "k")) == "-" + "9" * 5000 + "k"
    assert quantity.canonical(quantity.parse("9" * 5000 + ".5")) == "9" * 5000 + "500m"


def test_an_exponent_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(InputError, match="suffix"):
        quantity.parse("1e" + "9" * 5000)
