"""How Go writes numbers into text: shortest floats.

Printed numbers have to read as kube-scheduler's do. Used by `yaml_tree` and `kinds`; depends on nothing. How Go quotes
strings is in `api.go_text`.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Final

_FIRST_WITH_EXPONENT: Final = 1e21


def json_float(value: float) -> str:
    """A JSON literal for a float64. As in Go, an integral value below 1e21 has neither fraction nor exponent.

    Its digits are the shortest that identify the float, filled up with zeros: 2^64 is 18446744073709552000.
    """
    shortest = repr(value)
    if value.is_integer() and abs(value) < _FIRST_WITH_EXPONENT:
        return str(int(Decimal(shortest)))
    return shortest


def shortest_float32(value: float) -> float:
    """The float that prints as the shortest decimal which still is `value` rounded to 32 bits; `inf` when too large."""
    rounded = _as_float32(value)
    if math.isinf(rounded) or rounded == 0:
        return rounded
    for digits in range(1, 10):
        candidate = float(f"{rounded:.{digits}g}")
        if _as_float32(candidate) == rounded:
            return candidate
    return rounded


def _as_float32(value: float) -> float:
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(rounded)
