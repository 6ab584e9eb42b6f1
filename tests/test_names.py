# SPDX-License-Identifier: Apache-2.0
"""One word, one meaning: a class name stands for one thing in the whole project, and docstrings say of what they speak."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

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
#: First words that speak of something outside the docstring.
DANGLING = re.compile(r"(What(?!-)|Those|They|The same|It|Its|As|Of|See|All of them|Base of all of them|Until|Also)\b")
#: Texts for users: help of commands, and of tools for assistants.
FOR_USERS = ("cli/plan.py", "cli/plan_compare.py", "mcp/tools.py")

Documented: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_a_public_class_name_stands_for_one_class() -> None:
    where = defaultdict(list)
    for path, node in _documented():
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            where[node.name].append(f"{path}:{node.lineno}")
    twice = {name: places for name, places in where.items() if len(places) > 1}
    assert {name: places for name, places in twice.items() if name not in SHARED} == {}, "one word has one meaning"
    assert set(SHARED) <= set(twice), "names that are no longer shared"


def test_docstrings_name_their_subject() -> None:
    texts = [(path, ast.get_docstring(node) or "") for path, node in _documented() if path not in FOR_USERS]
    dangling = [f"{path}: {text.splitlines()[0]}" for path, text in texts if DANGLING.match(text)]
    assert len(texts) > 5000
    assert dangling == [], "say what it is of: the docstring can be read alone"


def _documented() -> Iterator[tuple[str, Documented]]:
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Documented):
                yield path.relative_to(SOURCES).as_posix(), node
