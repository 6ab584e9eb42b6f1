# SPDX-License-Identifier: Apache-2.0
"""Tests of `python -m scripts.package_doors` on a small source tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.package_doors import Sources, add_exports


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    package = tmp_path / "steersman"
    for folder in ("api", "run", "scheduler", "scheduler/queue", "scheduler/queue/heap"):
        (package / folder).mkdir(parents=True)
        (package / folder / "__init__.py").write_text('"""A package."""\n')
    (package / "api" / "pod.py").write_text("class Pod: ...\n")
    (package / "scheduler" / "queue" / "hints.py").write_text("class Hint: ...\n")
    return Sources(tmp_path)


@pytest.mark.parametrize(
    ("module", "door"),
    [
        ("steersman.api.pod", "steersman.api"),
        ("steersman.api", "steersman.api"),
        ("steersman.scheduler.queue.hints", "steersman.scheduler.queue"),
        ("steersman.scheduler.queue.heap", "steersman.scheduler.queue"),
    ],
)
def test_the_door_of_a_module_is_its_package_or_the_package_below(sources: Sources, module: str, door: str) -> None:
    assert sources.door(module) == door


@pytest.mark.parametrize(
    ("statement", "is_deep"),
    [
        ("from steersman.api import Pod", False),
        ("from steersman.scheduler.queue import Hint", False),
        ("from steersman.run.program import Program", False),
        ("from steersman.api.pod import Pod", True),
        ("def f():\n    from steersman.scheduler.queue.hints import Hint", True),
    ],
)
def test_an_import_of_a_module_of_another_package_is_deep(
    tmp_path: Path, sources: Sources, statement: str, is_deep: bool
) -> None:
    (tmp_path / "steersman" / "run" / "loop.py").write_text(statement)
    assert bool(list(sources.deep_imports())) is is_deep


def test_an_exported_name_is_imported_when_it_is_used(tmp_path: Path, sources: Sources) -> None:
    door = tmp_path / "steersman" / "api" / "__init__.py"
    add_exports(door, "steersman.api", {"Pod": "steersman.api.pod"})
    add_exports(door, "steersman.api", {"Node": "steersman.api.node"})
    text = door.read_text()
    assert text.startswith('"""A package."""\n')
    assert '"node": "Node",' in text
    assert '"pod": "Pod",' in text
    assert text.count("lazy_exports(") == 1


def test_a_name_that_its_own_module_would_hide_is_imported_at_once(tmp_path: Path, sources: Sources) -> None:
    door = tmp_path / "steersman" / "api" / "__init__.py"
    add_exports(door, "steersman.api", {"pod": "steersman.api.pod"})
    assert "\nfrom steersman.api.pod import pod as pod\n" in door.read_text()


def test_a_name_that_a_door_defines_itself_is_exported(
    tmp_path: Path, sources: Sources, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "steersman" / "api" / "__init__.py").write_text('"""A package."""\n\nVERSIONS = ("v1",)\n')
    (tmp_path / "steersman" / "run" / "loop.py").write_text("from steersman.api import VERSIONS\n")
    assert not sources.missing_exports()
    assert not capsys.readouterr().err
