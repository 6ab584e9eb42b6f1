# SPDX-License-Identifier: Apache-2.0
"""What a type checker says of the methods of a plugin: mypy reads plugins of every point, in the long and in the short form."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

HEADER = """
from collections.abc import Sequence

from steersman import api
from steersman import framework as fw
"""

#: Base class, and a method as it should be.
RIGHT = [
    ("PreEnqueuePlugin", "def pre_enqueue(self, pod: fw.PodInfo) -> fw.Status | None: ..."),
    ("QueueSortPlugin", "def sort_key(self, queued: fw.QueuedPod) -> tuple[str, int]: ..."),
    ("QueueSortPlugin", "def less(self, a: fw.QueuedPod, b: fw.QueuedPod) -> bool: ..."),
    (
        "PreFilterPlugin",
        "def pre_filter(self, state: fw.CycleState, pod: fw.PodInfo, nodes: Sequence[fw.NodeInfo]) -> fw.Status: ...",
    ),
    (
        "PreFilterPlugin",
        "def pre_filter(self, pod: fw.PodInfo, nodes: Sequence[fw.NodeInfo]) -> fw.PreFilterResult | None: ...",
    ),
    ("PreFilterPlugin", "def add_pod(self, pod: fw.PodInfo, added: fw.PodInfo, node: fw.NodeInfo) -> None: ..."),
    ("FilterPlugin", "def filter(self, state: fw.CycleState, pod: fw.PodInfo, node: fw.NodeInfo) -> bool | str: ..."),
    ("FilterPlugin", "def filter(self, pod: fw.PodInfo, node: fw.NodeInfo) -> fw.Status | None: ..."),
    ("FilterPlugin", "def filter(self, *anything: object) -> fw.Status | None: ..."),
    (
        "PostFilterPlugin",
        "def post_filter(self, state: fw.CycleState, pod: fw.PodInfo, statuses: fw.NodeStatusReader)"
        " -> tuple[fw.PostFilterResult | None, fw.Status]: ...",
    ),
    ("PostFilterPlugin", "def post_filter(self, pod: fw.PodInfo, statuses: fw.NodeStatusReader) -> fw.Status: ..."),
    ("PreScorePlugin", "def pre_score(self, pod: fw.PodInfo, nodes: Sequence[fw.NodeInfo]) -> fw.Status | None: ..."),
    ("ScorePlugin", "def score(self, state: fw.CycleState, pod: fw.PodInfo, node: fw.NodeInfo) -> int: ..."),
    ("ScorePlugin", "def score(self, pod: fw.PodInfo, node: fw.NodeInfo) -> int: ..."),
    ("ScorePlugin", "def normalize_scores(self, pod: fw.PodInfo, scores: Sequence[fw.NodeScore]) -> None: ..."),
    ("ReservePlugin", "def reserve(self, pod: fw.PodInfo, node_name: str) -> fw.Status | None: ..."),
    ("ReservePlugin", "def unreserve(self, state: fw.CycleState, pod: fw.PodInfo, node_name: str) -> None: ..."),
    ("PermitPlugin", "def permit(self, pod: fw.PodInfo, node_name: str) -> fw.PermitResult | None: ..."),
    ("PreBindPlugin", "async def pre_bind(self, pod: fw.PodInfo, node_name: str) -> fw.Status | None: ..."),
    ("PreBindPlugin", "def pre_bind(self, state: fw.CycleState, pod: fw.PodInfo, node_name: str) -> None: ..."),
    ("BindPlugin", "async def bind(self, state: fw.CycleState, pod: fw.PodInfo, node_name: str) -> fw.Status: ..."),
    ("PostBindPlugin", "def post_bind(self, pod: fw.PodInfo, node_name: str) -> None: ..."),
]

#: Base class, and a method with swapped arguments, too few of them, or an answer that means nothing.
WRONG = [
    ("PreEnqueuePlugin", "def pre_enqueue(self, pod: api.Node) -> None: ..."),
    ("QueueSortPlugin", "def sort_key(self, queued: fw.PodInfo) -> tuple[int]: ..."),
    ("QueueSortPlugin", "def less(self, a: fw.QueuedPod) -> bool: ..."),
    ("PreFilterPlugin", "def pre_filter(self, nodes: Sequence[fw.NodeInfo], pod: fw.PodInfo) -> None: ..."),
    ("PreFilterPlugin", "def remove_pod(self, pod: fw.PodInfo, node: fw.NodeInfo, removed: fw.PodInfo) -> None: ..."),
    ("FilterPlugin", "def filter(self, node: fw.NodeInfo, pod: fw.PodInfo) -> bool: ..."),
    ("FilterPlugin", "def filter(self, pod: fw.PodInfo, state: fw.CycleState, node: fw.NodeInfo) -> bool: ..."),
    ("FilterPlugin", "def filter(self, node: fw.NodeInfo) -> bool: ..."),
    ("PostFilterPlugin", "def post_filter(self, statuses: fw.NodeStatusReader, pod: fw.PodInfo) -> fw.Status: ..."),
    ("PreScorePlugin", "def pre_score(self, nodes: Sequence[fw.NodeInfo], pod: fw.PodInfo) -> None: ..."),
    ("ScorePlugin", "def score(self, node: fw.NodeInfo, pod: fw.PodInfo) -> int: ..."),
    ("ScorePlugin", "def score(self, state: fw.CycleState, node: fw.NodeInfo, pod: fw.PodInfo) -> int: ..."),
    ("ScorePlugin", "def score(self, pod: fw.PodInfo, node: fw.NodeInfo) -> str: ..."),
    ("ScorePlugin", "def normalize_scores(self, scores: Sequence[fw.NodeScore], pod: fw.PodInfo) -> None: ..."),
    ("ReservePlugin", "def reserve(self, node_name: str, pod: fw.PodInfo) -> None: ..."),
    ("PermitPlugin", "def permit(self, node_name: str, pod: fw.PodInfo) -> None: ..."),
    ("PreBindPlugin", "async def pre_bind(self, node_name: str, pod: fw.PodInfo) -> None: ..."),
    ("BindPlugin", "async def bind(self, node_name: str, pod: fw.PodInfo) -> None: ..."),
    ("PostBindPlugin", "def post_bind(self, node_name: str, pod: fw.PodInfo) -> None: ..."),
]

Findings = Callable[[str, str], list[str]]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Says what mypy has against a method of a class; all of them are in one file."""
    methods = RIGHT + WRONG
    classes = [
        f"class P{n}(fw.{base}):\n    {method}  # type: ignore[empty-body]" for n, (base, method) in enumerate(methods)
    ]
    file = tmp_path_factory.mktemp("plugin") / "plugins.py"
    text = "\n\n".join([HEADER, *classes])
    file.write_text(text)
    messages = _mypy(file)

    def of(base: str, method: str) -> list[str]:
        line = text[: text.index(f"class P{methods.index((base, method))}(")].count("\n") + 2
        return messages.get(line, [])

    return of


def _mypy(file: Path) -> dict[int, list[str]]:
    """Errors by line."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-warn-unused-ignores", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    errors: dict[int, list[str]] = {}
    for line, message in re.findall(r"plugins\.py:(\d+): error: (.*)", done.stdout):
        errors.setdefault(int(line), []).append(message)
    return errors


@pytest.mark.parametrize(("base", "method"), RIGHT)
def test_both_forms_of_a_method_are_fine(findings: Findings, base: str, method: str) -> None:
    assert findings(base, method) == []


@pytest.mark.parametrize(("base", "method"), WRONG)
def test_swapped_arguments_and_meaningless_answers_are_found(findings: Findings, base: str, method: str) -> None:
    found = findings(base, method)
    assert len(found) == 1
    assert "[override]" in found[0]
