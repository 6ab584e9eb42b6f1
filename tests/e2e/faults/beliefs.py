# SPDX-License-Identifier: Apache-2.0
"""What `/debug/cache` shows, read back: which pods the scheduler believes to be where."""

from __future__ import annotations

import re
from collections.abc import Iterable

from steersman.testing.control_plane import JsonObject, bound_to

_NODE = re.compile(r"Node name: (\S+)")
_POD = re.compile(r"name: \S+, namespace: \S*, uid: (\S+),")


def believed(dump: str) -> dict[str, set[str]]:
    """Uids of pods by node."""
    found: dict[str, set[str]] = {}
    for section in dump.split("\n\n"):
        node = _NODE.search(section)
        if node is not None:
            scheduled, _, _ = section.partition("Nominated Pods(")
            found[node[1]] = set(_POD.findall(scheduled))
    return found


def true(nodes: Iterable[JsonObject], pods: Iterable[JsonObject]) -> dict[str, set[str]]:
    """The same, as the API server has it. A pod on a node that does not exist is on none."""
    found: dict[str, set[str]] = {node["metadata"]["name"]: set() for node in nodes}
    for pod in pods:
        if bound_to(pod) in found:
            found[bound_to(pod)].add(pod["metadata"]["uid"])
    return found
