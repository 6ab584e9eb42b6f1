# SPDX-License-Identifier: Apache-2.0
"""One word, one meaning: a class name stands for one thing in the whole project."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TypeVar

from scripts.lockfile import ROOT

SOURCES = ROOT / "src" / "steersman"

#: Names that two classes share, and why they may.
SHARED = {
    "Column": "a column of nodes, which kernels read; a column of a report's table, which users write",
    "Event": "a Kubernetes Event: as it is written to a server, and as a simulation notes it",
    "Extender": "upstream's word in the configuration, and upstream's word in the framework",
    "NodeAffinity": "upstream's word for the field of a pod, and upstream's name of the plugin",
    "Scheduled": "a pod that found a node: in a cycle, and in the trial of a fix",
    "WatchedChange": "a line of a watch: as it is read, and as it is recorded",
}


def test_a_public_class_name_stands_for_one_class() -> None:
    where = defaultdict(list)
    for path, node in _nodes(ast.ClassDef):
        if not node.name.startswith("_"):
            where[node.name].append(f"{path}:{node.lineno}")
    twice = {name: places for name, places in where.items() if len(places) > 1}
    assert {name: places for name, places in twice.items() if name not in SHARED} == {}, "one word has one meaning"
    assert set(SHARED) <= set(twice), "names that are no longer shared"


T = TypeVar("T", bound=ast.AST)


def _nodes(*kinds: type[T]) -> Iterator[tuple[str, T]]:
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kinds):
                yield str(path.relative_to(SOURCES)), node
