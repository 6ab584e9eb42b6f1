# SPDX-License-Identifier: Apache-2.0
"""Resource amounts, rounded up to thousandths."""

from __future__ import annotations

from functools import lru_cache

from steersman.api import MILLI, Quantity, ResourceList, quantity


def rounded_up(resources: ResourceList) -> ResourceList:
    """Return the amounts rounded up to thousandths; the same object if all are."""
    for amount in resources.values():
        if _rounded(amount) is not amount:
            return {name: _rounded(amount) for name, amount in resources.items()}
    return resources


@lru_cache(maxsize=65536)
def _coarser(amount: Quantity) -> str | None:
    """Return the rounded amount, or None if it is a multiple of a thousandth."""
    exact = quantity.parse(amount)
    if exact.scale >= MILLI:
        return None
    divisor = 10 ** (MILLI - exact.scale)
    thousandths, rest = divmod(exact.unscaled, divisor)
    return quantity.canonical(exact._replace(unscaled=thousandths + 1, scale=MILLI, text=None)) if rest else None


def _rounded(amount: Quantity) -> Quantity:
    coarser = _coarser(amount)
    return amount if coarser is None else coarser
