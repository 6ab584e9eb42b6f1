# SPDX-License-Identifier: Apache-2.0
"""How full nodes are, before and after: for the heat maps of reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from steersman.report import HeatMap
from steersman.sim import Result

Fractions: TypeAlias = dict[str, dict[str, float]]
"""resource → node → what is requested of it, from 0 to 1."""
SHOWN: Final = ("cpu", "memory", "pods")


def fractions(result: Result) -> Fractions:
    nodes = result.utilisation.nodes
    return {
        name: {node: round(usages[name].fraction, 4) for node, usages in nodes.items() if name in usages}
        for name in SHOWN
        if any(name in usages for usages in nodes.values())
    }


def heat_maps(before: Fractions, after: Fractions) -> Iterator[HeatMap]:
    """A map per resource."""
    return (HeatMap(f"{name} requested", before[name], after.get(name, {})) for name in before)
