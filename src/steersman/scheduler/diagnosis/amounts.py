# SPDX-License-Identifier: Apache-2.0
"""Formats amounts of resources: cores, bytes with binary units, plain numbers for everything
else."""

from __future__ import annotations

from typing import Final

_UNITS: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def amount(resource: str, number: int) -> str:
    """Return `0.5` for cpu (from millicores), `1.5Gi` for memory."""
    if resource == "cpu":
        return f"{number / 1000:g}"
    if resource == "memory" or resource.endswith("storage") or resource.startswith("hugepages-"):
        for unit, size in _UNITS:
            if abs(number) >= size:
                return f"{round(number / size, 1):g}{unit}"
    return str(number)
