# SPDX-License-Identifier: Apache-2.0
"""Quantities against a plain model: exact fractions."""

from fractions import Fraction
from math import ceil

from hypothesis import assume, given, strategies as st

from steersman.api import quantity
from steersman.api.quantity import Amount

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
MAX = 2**63 - 1

digits = st.text("0123456789", max_size=12)
numbers = st.tuples(digits, digits).filter(any).map(".".join)
exponents = st.integers(-12, 18)
suffixes = st.sampled_from([*DECIMAL, *BINARY]) | exponents.map("e{}".format) | exponents.map("E{}".format)
texts = st.tuples(st.sampled_from(["", "+", "-"]), numbers, suffixes).map("".join)


def factor(suffix: str) -> Fraction:
    if suffix in BINARY:
        return Fraction(2) ** BINARY[suffix]
    return Fraction(10) ** (DECIMAL[suffix] if suffix in DECIMAL else int(suffix[1:]))


def away_from_zero(number: Fraction) -> int:
    return ceil(number) if number >= 0 else -ceil(-number)


def model(text: str) -> Fraction:
    """The exact value, rounded up to whole nano-units, binary ones capped."""
    suffix = text.lstrip("+-.0123456789")
    number = text.removesuffix(suffix) if suffix else text
    whole, _, fraction = number.lstrip("+-").partition(".")
    exact = Fraction(int(whole + fraction or "0"), 10 ** len(fraction)) * factor(suffix)
    rounded = Fraction(away_from_zero(exact * 10**9), 10**9)
    capped = min(rounded, Fraction(MAX)) if suffix in BINARY else rounded
    return -capped if number.startswith("-") else capped


def exact(amount: Amount) -> Fraction:
    return amount.unscaled * Fraction(10) ** amount.scale


@given(texts)
def test_parsing_agrees_with_the_model(text: str) -> None:
    assert exact(quantity.parse(text)) == model(text)


@given(texts)
def test_values_are_rounded_up_wherever_they_fit(text: str) -> None:
    number = model(text)
    assume(0 <= number <= MAX // 1000)
    assert quantity.value_of(text) == ceil(number)
    assert quantity.milli_value_of(text) == ceil(number * 1000)


@given(texts)
def test_values_always_fit_an_int64(text: str) -> None:
    assert -MAX - 1 <= quantity.value_of(text) <= MAX
    assert -MAX - 1 <= quantity.milli_value_of(text) <= MAX


@given(texts, texts)
def test_comparison_agrees_with_the_model(left: str, right: str) -> None:
    expected = (model(left) > model(right)) - (model(left) < model(right))
    assert quantity.compare(quantity.parse(left), quantity.parse(right)) == expected


@given(texts, texts)
def test_addition_and_subtraction_are_exact(left: str, right: str) -> None:
    a, b = quantity.parse(left), quantity.parse(right)
    assert exact(quantity.add(a, b)) == model(left) + model(right)
    assert exact(quantity.sub(a, b)) == model(left) - model(right)


@given(texts)
def test_the_canonical_text_loses_nothing(text: str) -> None:
    amount = quantity.parse(text)
    assume(abs(exact(amount)) < 10**21)  # beyond, Kubernetes has no suffix
    again = quantity.parse(quantity.canonical(amount))
    assert exact(again) == exact(amount)


@given(texts)
def test_the_canonical_text_of_a_calculated_amount_is_stable(text: str) -> None:
    amount = quantity.parse(text)._replace(text=None)
    assume(abs(exact(amount)) < 10**21)
    once = quantity.canonical(amount)
    assert quantity.canonical(quantity.parse(once)._replace(text=None)) == once
