# SPDX-License-Identifier: Apache-2.0
"""Comparison of our result with the expected one, at the strictest level of the corpus' FORMAT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steersman.testing.conformance.difference import GoldenDifference

Document = Mapping[str, Any]

PLAIN_KEYS = (
    "outcome",
    "feasible",
    "top",
    "selected",
    "nominatedPath",
    "excluded",
    "preEnqueue",
    "volumeBindings",
    "volumeProvisions",
    "allocations",
    "extenderCalls",
    "boundByExtender",
)
POST_FILTER_KEYS = (
    "status",
    "nominating",
    "nominatedNode",
    "victims",
    "pdbViolations",
    "candidates",
    "ties",
    "clearedNominations",
)


def compare(expected: Document, actual: Document) -> Iterator[GoldenDifference]:
    for key in (*PLAIN_KEYS, "nextIndex"):
        yield from _differing(key, expected.get(key), actual.get(key))
    yield from _compare_pre_filter(expected.get("preFilter"), actual.get("preFilter"))
    yield from _differing("rejected", _by_node(expected), _by_node(actual))
    for key in ("unschedulablePlugins", "pendingPlugins"):
        yield from _differing(key, expected.get(key), actual.get(key))
    yield from _compare_scores(expected, actual)
    if expected["outcome"] != "error":
        yield from _compare_messages(expected, actual)


def _compare_messages(expected: Document, actual: Document) -> Iterator[GoldenDifference]:
    if expected["outcome"] in ("noProfile", "gated", "skipped"):
        return
    theirs, ours = expected.get("postFilter") or {}, actual.get("postFilter") or {}
    for key in POST_FILTER_KEYS:
        yield from _differing(f"postFilter.{key}", theirs.get(key), ours.get(key))
    yield from _differing("message", expected.get("message"), actual.get("message"))


def _compare_pre_filter(expected: Document | None, actual: Document | None) -> Iterator[GoldenDifference]:
    expected, actual = expected or {}, actual or {}
    for key in ("skipped", "status", "restricted", "nodes"):
        yield from _differing(f"preFilter.{key}", expected.get(key), actual.get(key))


def _compare_scores(expected: Document, actual: Document) -> Iterator[GoldenDifference]:
    theirs, ours = expected.get("scores"), actual.get("scores")
    if theirs is None or ours is None:
        yield from _differing("scores", theirs, ours)
        return
    nodes = expected.get("feasible") or []
    yield from _differing("scores.skipped", theirs.get("skipped"), ours.get("skipped"))
    wanted = _plugin_scores(theirs, nodes)
    got = _plugin_scores(ours, actual.get("feasible") or [])
    yield from _differing("scores.plugins", list(wanted), list(got))
    for name in wanted.keys() & got.keys():
        yield from _differing(f"scores.{name}", wanted[name], got[name])
    for key in ("total", "withoutExtenders"):
        if key in theirs or key in ours:
            columns = (_column(scores.get(key, 0), nodes) for scores in (theirs, ours))
            yield from _differing(f"scores.{key}", *columns)


def _plugin_scores(scores: Document, nodes: Sequence[str]) -> dict[str, Document]:
    return {
        plugin["name"]: {
            "weight": plugin["weight"],
            "raw": dict(zip(nodes, _column(plugin["raw"], nodes), strict=True)),
            "norm": dict(zip(nodes, _column(plugin["norm"], nodes), strict=True)),
        }
        for plugin in scores["plugins"]
    }


def _column(values: int | Sequence[int], nodes: Sequence[str]) -> list[int]:
    """Expand a single number, which the corpus uses if all nodes have the same."""
    return [values] * len(nodes) if isinstance(values, int) else list(values)


def _by_node(result: Document) -> dict[str, tuple[str, str | None, tuple[str, ...]]]:
    return {
        node: (group["code"], group.get("plugin"), tuple(sorted(group.get("reasons") or ())))
        for group in result.get("rejected") or ()
        for node in group["nodes"]
    }


def _differing(path: str, expected: object, actual: object) -> Iterator[GoldenDifference]:
    if (expected or None) != (actual or None):
        yield GoldenDifference(path, expected, actual)
