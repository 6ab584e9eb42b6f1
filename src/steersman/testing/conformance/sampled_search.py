# SPDX-License-Identifier: Apache-2.0
"""Golden scenarios in which kube-scheduler stops a search after enough feasible nodes.

Steersman evaluates every node unless a percentage is configured, so the percentage that
kube-scheduler computes from the number of nodes is written into the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steersman.scheduler.engine import NodeSearch

_PERCENTAGE: Final = "percentageOfNodesToScore"
_MIN_PERCENTAGE: Final = 5


def with_adaptive_percentage(configuration: Mapping[str, Any], nodes: int) -> dict[str, Any]:
    """Return the configuration with kube-scheduler's percentage where none is set."""
    adaptive = max(_MIN_PERCENTAGE, 50 - nodes // 125)
    profiles = [
        {**profile, _PERCENTAGE: adaptive} if profile.get(_PERCENTAGE) == 0 else profile
        for profile in configuration.get("profiles", ())
    ]
    return {**configuration, "profiles": profiles, _PERCENTAGE: configuration.get(_PERCENTAGE) or adaptive}


def searched_document(result: Mapping[str, Any], search: NodeSearch) -> dict[str, Any]:
    """Return the parts of a result that a sampled search affects: next index and rejections."""
    visited = search.visited_names()
    document: dict[str, Any] = {"nextIndex": search.index}
    if visited is not None and "rejected" in result:
        groups = [{**group, "nodes": sorted(visited.intersection(group["nodes"]))} for group in result["rejected"]]
        document["rejected"] = [group for group in groups if group["nodes"]]
    return document
