# SPDX-License-Identifier: Apache-2.0
"""Floating-point functions with bit-identical results to Go's `math` package.

Scores must equal kube-scheduler's, and a logarithm that differs in its last bit may round a score
the other way. Plugins that score with floats use these functions instead of Python's.
"""

from __future__ import annotations

import math
from typing import Final

_HALF_SQRT2: Final = 0.7071067811865476
_LN2_HIGH: Final = 6.93147180369123816490e-01
_LN2_LOW: Final = 1.90821492927058770002e-10
# Coefficients of the minimax polynomial of fdlibm's logarithm, in s², s⁴, … s¹⁴.
_L1: Final = 6.666666666666735130e-01
_L2: Final = 3.999999999940941908e-01
_L3: Final = 2.857142874366239149e-01
_L4: Final = 2.222219843214978396e-01
_L5: Final = 1.818357216161805012e-01
_L6: Final = 1.531383769920937332e-01
_L7: Final = 1.479819860511658591e-01


def go_log(x: float) -> float:
    """Return the natural logarithm of a finite x > 0, by fdlibm's polynomial as Go evaluates it.

    x = 2ᵏ·(1+f) with 1+f in √½..√2, and log(1+f) = f − (f²/2 − s·(f²/2 + R)) with s = f/(2+f). The
    order of operations determines the last bit.
    """
    fraction, exponent = math.frexp(x)
    if fraction < _HALF_SQRT2:
        fraction *= 2
        exponent -= 1
    f = fraction - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (_L1 + s4 * (_L3 + s4 * (_L5 + s4 * _L7)))
    even = s4 * (_L2 + s4 * (_L4 + s4 * _L6))
    half_square = 0.5 * f * f
    return exponent * _LN2_HIGH - ((half_square - (s * (half_square + (odd + even)) + exponent * _LN2_LOW)) - f)


def go_round(x: float) -> int:
    """Return the nearest integer of a finite x, halves away from zero (Python's `round` rounds them
    to even)."""
    whole = math.trunc(x)
    # The difference is exact. Adding 0.5 before truncating would not be, next to 0.5 and above
    # 2**52.
    if abs(x - whole) >= 0.5:
        return whole + (1 if x > 0 else -1)
    return whole
