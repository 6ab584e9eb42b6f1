# SPDX-License-Identifier: Apache-2.0
"""Go's float functions: where they agree with Python's, and where they must not."""

from __future__ import annotations

import math
import struct
from typing import Final

import pytest

from steersman.framework.go_math import go_log, go_round

#: FNV-1a of Go's math.Log of 1..20002, little-endian doubles: all weights that a cluster of 20,000 nodes needs.
GO_DIGEST: Final = 0xA0BB0810AB361C1D


def test_logarithm_is_within_one_bit_of_the_c_library() -> None:
    for n in range(1, 20_003):
        assert abs(go_log(n) - math.log(n)) <= math.ulp(math.log(n))


def test_logarithm_of_every_node_count_has_the_bits_that_go_gives() -> None:
    digest = 0xCBF29CE484222325
    for n in range(1, 20_003):
        for byte in struct.pack("<d", go_log(n)):
            digest = (digest ^ byte) * 0x100000001B3 % 2**64
    assert digest == GO_DIGEST


@pytest.mark.parametrize(
    ("x", "bits"),
    [
        (1, "0x0p+00"),
        (2, "0x1.62e42fefa39efp-01"),
        (3, "0x1.193ea7aad030ap+00"),
        (14, "0x1.51cca16d7bba8p+01"),
        (48, "0x1.ef8383c50bb74p+01"),
        (5002, "0x1.10901f6dc84b9p+03"),
    ],
)
def test_logarithm_has_the_bits_that_go_prints(x: int, bits: str) -> None:
    assert go_log(x) == float.fromhex(bits)


@pytest.mark.parametrize(
    ("x", "expected"),
    [(0.5, 1), (1.5, 2), (2.5, 3), (-0.5, -1), (-2.5, -3), (0.49999999999999994, 0), (2.4999, 2), (0.0, 0), (-1.2, -1)],
)
def test_halves_are_rounded_away_from_zero(x: float, expected: int) -> None:
    assert go_round(x) == expected


def test_large_values_are_rounded_exactly() -> None:
    assert go_round(float(2**53 - 1)) == 2**53 - 1
    assert go_round(4503599627370495.5) == 4503599627370496
