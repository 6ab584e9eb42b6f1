# SPDX-License-Identifier: Apache-2.0
"""The measures of a run: a result becomes a row of numbers.

Nothing in a row depends on the machine, the process or the hour: the same cell and seed give the same row, bit by bit. How
long a run took is in the journal.
"""

from __future__ import annotations

import hashlib
from typing import Final, TypeAlias

import msgspec

from steersman.scenario import ScenarioResult
from steersman.sim import Result

Value: TypeAlias = str | int | float | bool | None
Row: TypeAlias = dict[str, Value]

UTILISATION: Final = "utilisation."
"""Beginning of columns: the share of what all nodes offer that pods request, by resource."""
FRAGMENTATION: Final = "fragmentation."
"""Beginning of columns: the share of what nodes offer that is free at the end, but where no waiting pod fits, by resource."""
COUNTS: Final = frozenset(
    [
        "arrived",
        "pods",
        "scheduled",
        "pending",
        "preempted",
        "completed",
        "failed",
        "attempts",
        "maxPending",
        "nodes",
        "minNodes",
        "maxNodes",
        "nodesAdded",
        "nodesRemoved",
    ]
)
"""The measures that are whole numbers."""
TEXTS: Final = ("stopped", "error", "placements")
"""Why a run was stopped before it came to rest, what went wrong with it, and a digest of where all pods are."""


def measures(result: ScenarioResult) -> Row:
    """The columns of one run besides those that say which run it is."""
    row: Row = {name: _number(name, value) for name, value in result.numbers.items()}
    for resource, usage in sorted(result.utilisation.cluster.items()):
        if usage.allocatable:
            row[f"{UTILISATION}{resource}"] = usage.fraction
    for resource, shares in sorted(result.series.fragmentation.items()):
        if shares:
            row[f"{FRAGMENTATION}{resource}"] = shares[-1]
    row["stopped"] = result.stopped or None
    row["placements"] = placements_digest(result)
    return row


def failure(error: Exception) -> Row:
    """The columns of a run that could not be carried out."""
    return {"error": str(error)}


def placements_digest(result: Result) -> str:
    """Equal for results in which every pod has the same fate: node, time, attempts, reason, message."""
    fates = dict(sorted(result.placements.items()))
    return hashlib.sha256(msgspec.json.encode(fates, order="deterministic")).hexdigest()[:16]


def _number(name: str, value: float) -> int | float:
    return int(value) if name in COUNTS else float(value)
