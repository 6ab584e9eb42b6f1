# SPDX-License-Identifier: Apache-2.0
"""Numbers of more digits than Python reads at once get upstream's answer."""

from __future__ import annotations

import pytest
from tests.cel.answers import failure, holds, rejection

NINES = "9" * 5000


@pytest.mark.parametrize("kind", ["int", "uint", "double"])
def test_texts_that_are_too_large_a_number_cannot_be_converted(kind: str) -> None:
    assert failure(f"{kind}('{NINES}' + '9') == {kind}('1')") == f"type conversion error from 'string' to '{kind}'"


def test_leading_zeroes_do_not_count() -> None:
    assert holds(f"int('{'0' * 5000}7') == 7")
    assert holds(f"int('-{'0' * 5000}7') == -7")
    assert holds(f"uint('{'0' * 5000}7') == 7u")


@pytest.mark.parametrize(
    ("literal", "kind"), [(NINES, "int"), (f"-{NINES}", "int"), (f"{NINES}u", "uint"), (f"0x{NINES}", "int")]
)
def test_literals_that_are_too_large_are_rejected(literal: str, kind: str) -> None:
    assert rejection(f"{literal} == 1").endswith(f"invalid {kind} literal")


@pytest.mark.parametrize(
    "expression",
    [
        f"isQuantity('{NINES}')",
        f"!quantity('{NINES}').isInteger()",
        f"quantity('{NINES}').asApproximateFloat() > 1.0e308",
        f"isQuantity('1.{NINES}')",
        f"!isQuantity('1e{NINES}')",
        f"!isSemver('1.1.1-{NINES}')",
        f"!isIP('{NINES}.1.1.1')",
        f"!isCIDR('10.0.0.0/{NINES}')",
        f"duration('0.{NINES}s') == duration('1s')",
        f"duration('1.{NINES}s') == duration('2s')",
        "duration('0.1234567890123456789s') == duration('123456789ns')",
        f"double('1e-{NINES}') == 0.0",
        f"timestamp('2020-01-01T00:00:00.{NINES}Z') > timestamp('2020-01-01T00:00:00Z')",
    ],
)
def test_other_functions_take_them(expression: str) -> None:
    assert holds(expression)


def test_messages_are_upstreams() -> None:
    assert failure(f"quantity('1e{NINES}').isInteger()") == "unable to parse quantity's suffix"
    assert failure(f"semver('{NINES}.1.1').major() == 1") == f'strconv.ParseUint: parsing "{NINES}": value out of range'
    zone = f"timestamp('2020-01-01T00:00:00Z').getHours('{NINES}:00') == 1"
    assert failure(zone) == f'strconv.Atoi: parsing "{NINES}": value out of range'
    assert "strconv.Atoi: parsing" in rejection(f"'%.{NINES}f'.format([1.0]) == ''")


@pytest.mark.parametrize(
    ("template", "size"),
    [
        ("%.500f", 246),
        ("%.1000001f", 67),
        ("%.256f", 3),
        ("%.10000010f", 10),
        ("%.400e", 400),
        ("%.70000e", 4464),
        ("%e", 13),
    ],
)
def test_precisions_are_cut_as_upstreams_printer_cuts_them(template: str, size: int) -> None:
    assert holds(f"'{template}'.format([1.5]).size() == {size}")


@pytest.mark.parametrize(
    ("zone", "year"), [("99999999:00", 1736), ("9223372036854775807:00", 2019), ("-99999999:00", 2303)]
)
def test_offsets_of_zones_wrap_around_as_upstreams_do(zone: str, year: int) -> None:
    assert holds(f"timestamp('2020-01-01T00:00:00Z').getFullYear('{zone}') == {year}")
