# SPDX-License-Identifier: Apache-2.0
"""Go's int64 arithmetic, which wraps around and cuts towards zero, where Python's is exact and rounds down.

For amounts that no cluster has but a manifest may name: scores of such nodes must equal kube-scheduler's, too. Plugins
use these where a result may leave the range, or be negative.
"""

from __future__ import annotations

from typing import Final

MIN_INT64: Final = -(1 << 63)
MAX_INT64: Final = (1 << 63) - 1


def int64(number: int) -> int:
    """The number modulo 2**64, from -2**63 on."""
    return number if MIN_INT64 <= number <= MAX_INT64 else (number - MIN_INT64) % (1 << 64) + MIN_INT64


def int64_quotient(dividend: int, divisor: int) -> int:
    """Cut towards zero."""
    quotient = abs(dividend) // abs(divisor)
    return int64(quotient if (dividend < 0) == (divisor < 0) else -quotient)


def int64_of_float(number: float) -> int:
    """Cut towards zero; beyond int64, the smallest int64, as 64-bit x86 processors answer."""
    return int(number) if MIN_INT64 <= number < -MIN_INT64 else MIN_INT64
