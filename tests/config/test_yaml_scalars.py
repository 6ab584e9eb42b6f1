# SPDX-License-Identifier: Apache-2.0
"""Scalars mean what they mean to Kubernetes' YAML reader, which is neither YAML 1.2 nor PyYAML."""

from __future__ import annotations

import pytest

from steersman.config.yaml_scalars import Scalar, ScalarError, resolve


def _plain(text: str) -> Scalar:
    return resolve(None, True, text)


@pytest.mark.parametrize("text", ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
def test_words_for_true(text: str) -> None:
    assert _plain(text) is True


@pytest.mark.parametrize("text", ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
def test_words_for_false(text: str) -> None:
    assert _plain(text) is False


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_words_for_null(text: str) -> None:
    assert _plain(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("+5", 5),
        ("-0x1F", -31),
        ("0x10", 16),
        ("0b11", 3),
        ("-0b11", -3),
        ("0o17", 15),
        ("017", 15),
        ("1_000", 1000),
        ("1__0", 10),
        ("9223372036854775807", 2**63 - 1),
        ("18446744073709551615", 2**64 - 1),
    ],
)
def test_integers_with_base_prefixes_and_underscores(text: str, value: int) -> None:
    resolved = _plain(text)
    assert resolved == value
    assert type(resolved) is int


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e2", 100.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("09", 9.0),
        ("08.5", 8.5),
        ("18446744073709551616", 2.0**64),
    ],
)
def test_floats_include_what_is_no_integer_in_any_base(text: str, value: float) -> None:
    resolved = _plain(text)
    assert resolved == value
    assert type(resolved) is float


@pytest.mark.parametrize(
    "text",
    [
        "12:30",
        "190:20:30",
        "=",
        "<<",
        "2001-01-01",
        "1e400",
        "0x",
        "0b2",
        "0o8",
        "nan",
        "Infinity",
        "tRue",
        "1.2.3",
        "0x1p4",
    ],
)
def test_everything_else_is_a_string(text: str) -> None:
    assert _plain(text) == text


def test_quoted_scalars_are_strings() -> None:
    assert resolve(None, False, "yes") == "yes"


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [("str", "5", "5"), ("int", "0x10", 16), ("float", "7", 7.0), ("bool", "y", True), ("binary", "aGk=", "hi")],
)
def test_an_explicit_tag_decides(tag: str, text: str, value: Scalar) -> None:
    assert resolve(f"tag:yaml.org,2002:{tag}", False, text) == value


def test_an_unknown_tag_makes_a_string() -> None:
    assert resolve("!mine", False, "5") == "5"


@pytest.mark.parametrize(
    ("tag", "text"), [("int", "x"), ("bool", "1"), ("null", "x"), ("timestamp", "x"), ("binary", "*")]
)
def test_a_scalar_that_does_not_fit_its_tag_is_refused(tag: str, text: str) -> None:
    with pytest.raises(ScalarError):
        resolve(f"tag:yaml.org,2002:{tag}", False, text)


def test_a_timestamp_stays_text() -> None:
    assert resolve("tag:yaml.org,2002:timestamp", False, "2001-01-01") == "2001-01-01"
