# SPDX-License-Identifier: Apache-2.0
"""Pages about the code name files that exist, in the order of a pod's way, and show code of the examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts.lockfile import ROOT

DOCS = ROOT / "docs"
STORY = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
WHERE = (DOCS / "contributing" / "where-to-look.md").read_text(encoding="utf-8")
KERNEL = (DOCS / "how-to" / "kernel.md").read_text(encoding="utf-8")
DRAWINGS = sorted((DOCS / "drawings").glob("*.svg"))
EXAMPLES = [(ROOT / "examples" / "plugins" / f"{name}.py").read_text() for name in ("spare_memory", "memory_scores")]
#: The way of a pod, in this order.
WAY = [
    "kube/client/reflector.py",
    "scheduler/ingest/handlers.py",
    "scheduler/state/",
    "scheduler/queue/",
    "scheduler/cycle/schedule_one.py",
    "scheduler/engine/",
    "scheduler/cycle/commit.py",
    "scheduler/binding/cycle.py",
    "kube/client/fence.py",
    "kube/http/",
]


def named_paths(text: str) -> set[str]:
    """Paths below `src/steersman` in backticks: `package/module.py` and `package/`."""
    return set(re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", text)) | set(re.findall(r"\b((?:\w+/)+\w+\.py)\b", text))


@pytest.mark.parametrize("path", sorted(named_paths(STORY) | named_paths(WHERE)))
def test_a_named_path_exists(path: str) -> None:
    assert (ROOT / "src" / "steersman" / path).exists() or (ROOT / path).exists()


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_paths_in_a_drawing_exist_and_the_page_shows_it(drawing: Path) -> None:
    assert f"](drawings/{drawing.name})" in STORY
    text = drawing.read_text(encoding="utf-8")
    paths = set(re.findall(r"\b((?:(?:scheduler|kube)/)[\w/]+(?:\.py|/))", text))
    assert [path for path in paths if not (ROOT / "src" / "steersman" / path).exists()] == []


def test_the_pod_is_followed_in_the_order_in_which_it_goes() -> None:
    places = [STORY.partition("## 1.")[2].find(f"`{name}`") for name in WAY]
    assert -1 not in places
    assert places == sorted(places)


def test_the_code_of_kernels_is_that_of_the_examples() -> None:
    blocks = [block for block in re.findall(r"```python\n(.*?)```", KERNEL, re.DOTALL) if "check_plugin(" not in block]
    assert len(blocks) == 6
    assert [block for block in blocks if not any(block in example for example in EXAMPLES)] == []
