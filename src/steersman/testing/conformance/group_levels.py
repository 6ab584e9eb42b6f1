# SPDX-License-Identifier: Apache-2.0
"""Comparison of results of scenarios with pod groups, at three levels.

Level 1 has the sequence of cycles with outcomes, nodes and placements, and where pods wait. Level 2
adds attempts, scores, nominations, victims and claims, level 3 all texts. Which devices were taken
does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.testing.conformance.difference import GoldenDifference, differences

Document = Mapping[str, Any]

LEVELS: Final = (1, 2, 3)

_TEXTS: Final = frozenset({"message", "reason", "reasons"})
_SUMMARY: Final = ("entity", "pod", "group", "round", "outcome", "selected", "placement")
_IDENTITY: Final = ("entity", "pod", "group", "round")


def agreed_level(expected: Document, actual: Document) -> int:
    """Return the highest level at which the results agree, or 0."""
    agreed = [level for level in LEVELS if _view(expected, level) == _view(actual, level)]
    return max(agreed, default=0)


def located_differences(expected: Document, actual: Document) -> Iterator[tuple[str, GoldenDifference]]:
    """Yield the differences at the strictest level with their place; nothing after the first cycle
    of another entity."""
    theirs, ours = (_view(result, LEVELS[-1]) for result in (expected, actual))
    for number, (wanted, got) in enumerate(zip(theirs["cycles"], ours["cycles"], strict=False), start=1):
        place = f"cycle {number}, {wanted.get('pod') or wanted.get('group')}"
        if _identity(wanted) != _identity(got):
            yield place, GoldenDifference("cycle", _identity(wanted), _identity(got))
            return
        for difference in differences("", wanted, got):
            yield place, difference
    if len(theirs["cycles"]) != len(ours["cycles"]):
        yield "", GoldenDifference("number of cycles", len(theirs["cycles"]), len(ours["cycles"]))
    rest = ({name: part for name, part in result.items() if name != "cycles"} for result in (theirs, ours))
    for difference in differences("", *rest):
        yield "", difference


def _identity(cycle: Document) -> str:
    return " ".join(str(cycle[name]) for name in _IDENTITY if name in cycle)


def _view(result: Document, level: int) -> dict[str, Any]:
    """Return the part of a result that counts at this level."""
    view: dict[str, Any] = _without_devices(result)
    if level == LEVELS[-1]:
        return view
    view = _without_texts(view)
    return view if level > 1 else _summary(view)


def _summary(result: Document) -> dict[str, Any]:
    cycles = [
        {
            **{name: cycle.get(name) for name in _SUMMARY},
            "pods": [(pod["pod"], pod.get("node")) for pod in cycle.get("pods", ())],
        }
        for cycle in result["cycles"]
    ]
    final = [(pod["pod"], pod.get("node"), pod.get("queue"), pod.get("gone")) for pod in result["final"]]
    return {"cycles": cycles, "queues": result.get("queues"), "final": final}


def _without_devices(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_devices(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: bool(item) if name == "allocation" else _without_devices(item)
        for name, item in value.items()
        if name != "allocations"
    }


def _without_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_texts(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _without_texts(item) for name, item in value.items() if name not in _TEXTS}
