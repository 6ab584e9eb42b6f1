# SPDX-License-Identifier: Apache-2.0
"""Amounts of resources are kept in thousandths: what is finer is rounded up."""

from __future__ import annotations

from functools import lru_cache

from steersman.api import Quantity, ResourceList, quantity
from steersman.api.quantity import MILLI


def rounded_up(resources: ResourceList) -> ResourceList:
    """Amounts with nothing finer than a thousandth; the list itself if none has."""
    for amount in resources.values():
        if _rounded(amount) is not amount:
            return {name: _rounded(amount) for name, amount in resources.items()}
    return resources


@lru_cache(maxsize=65536)
def _coarser(amount: Quantity) -> str | None:
    """The amount rounded up, None if it is coarse enough."""
    exact = quantity.parse(amount)
    if exact.scale >= MILLI:
        return None
    divisor = 10 ** (MILLI - exact.scale)
    thousandths, rest = divmod(exact.unscaled, divisor)
    return quantity.canonical(exact._replace(unscaled=thousandths + 1, scale=MILLI, text=None)) if rest else None


def _rounded(amount: Quantity) -> Quantity:
    coarser = _coarser(amount)
    return amount if coarser is None else coarser
