# SPDX-License-Identifier: Apache-2.0
"""Go's int64 arithmetic, which wraps around and rounds towards zero, where Python's is exact and
rounds down.

Needed for unrealistic amounts in manifests: scores of such nodes must equal kube-scheduler's too.
Plugins use these functions where a result may overflow or be negative.
"""

from __future__ import annotations

from typing import Final

MIN_INT64: Final = -(1 << 63)
MAX_INT64: Final = (1 << 63) - 1


def int64(number: int) -> int:
    """Return the number wrapped around to int64."""
    return number if MIN_INT64 <= number <= MAX_INT64 else (number - MIN_INT64) % (1 << 64) + MIN_INT64


def int64_quotient(dividend: int, divisor: int) -> int:
    """Return the quotient, rounded towards zero."""
    quotient = abs(dividend) // abs(divisor)
    return int64(quotient if (dividend < 0) == (divisor < 0) else -quotient)


def int64_of_float(number: float) -> int:
    """Return the number rounded towards zero; if it is out of range, the smallest int64, as on
    64-bit x86 processors."""
    return int(number) if MIN_INT64 <= number < -MIN_INT64 else MIN_INT64
