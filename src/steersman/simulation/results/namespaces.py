# SPDX-License-Identifier: Apache-2.0
"""Placements added up by namespace: waiting times, slowdown, resources held, and how equal they are (Jain's index).

`Result.by_namespace` and the table `namespaces` show them. Times are in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from steersman.simulation.results.placements import Placement


class NamespaceSummary(msgspec.Struct, frozen=True, rename="camel"):
    """The pods of one namespace in numbers. A pod that is pending has waited until the end of the run."""

    namespace: str
    pods: int
    scheduled: int
    pending: int
    #: Pods that succeeded or failed.
    finished: int
    wait_mean: float
    wait_max: float
    #: Mean over finished pods of the time from creation to end, divided by the time on a node; None if none has run.
    slowdown_mean: float | None
    #: Time with a node divided by time since creation, over all pods: 0 to 1.
    served: float
    #: Requested cores times seconds on a node.
    cpu_seconds: float
    #: Requested bytes times seconds on a node.
    memory_seconds: float


def summaries(placements: Iterable[Placement], end: float) -> dict[str, NamespaceSummary]:
    """Summarise placements at the time `end`, by namespace in alphabetical order."""
    found: dict[str, list[Placement]] = {}
    for placement in placements:
        found.setdefault(placement.pod.partition("/")[0], []).append(placement)
    return {name: _summary(name, found[name], end) for name in sorted(found)}


def jain_index(values: Sequence[float]) -> float:
    """Return (Σx)² / (n·Σx²): 1 if all values are equal, 1/n if one has everything; 1 without values or if all are 0."""
    squares = len(values) * math.fsum(value * value for value in values)
    return round(math.fsum(values) ** 2 / squares, 6) if squares else 1.0


def _summary(namespace: str, placements: Sequence[Placement], end: float) -> NamespaceSummary:
    bound = [each for each in placements if each.at is not None]
    waits = [(end if each.at is None else each.at) - each.created for each in placements]
    held = [_end(each, end) - (each.at or 0.0) for each in bound]
    lived = math.fsum(_end(each, end) - each.created for each in placements)
    slowdowns = [
        (each.finished - each.created) / time
        for each, time in zip(bound, held, strict=True)
        if each.finished is not None and time > 0
    ]
    return NamespaceSummary(
        namespace,
        len(placements),
        len(bound),
        len(placements) - len(bound),
        sum(each.finished is not None for each in placements),
        round(math.fsum(waits) / len(waits), 6),
        round(max(waits), 6),
        round(math.fsum(slowdowns) / len(slowdowns), 6) if slowdowns else None,
        round(math.fsum(held) / lived if lived > 0 else len(bound) / len(placements), 6),
        round(_held_amount("cpu", bound, held) / 1000, 6),
        round(_held_amount("memory", bound, held), 6),
    )


def _end(placement: Placement, end: float) -> float:
    return end if placement.finished is None else placement.finished


def _held_amount(resource: str, bound: Sequence[Placement], held: Sequence[float]) -> float:
    return math.fsum(each.requests.get(resource, 0) * time for each, time in zip(bound, held, strict=True))
