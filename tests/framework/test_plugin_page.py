# SPDX-License-Identifier: Apache-2.0
"""docs/plugins.md is a reference: every point, event resource, action, and everything of the harness is on it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from steersman import framework, testing
from steersman.framework import ActionType, EventResource
from steersman.framework.watching import WATCHED_KINDS, event_resource
from steersman.scheduler.runtime.registry import POINT_OF_CLASS
from steersman.testing import Harness, make_node, make_pod

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")

METHODS = [
    name for base in (*POINT_OF_CLASS, framework.EnqueueExtensions) for name in {**base.__annotations__, **vars(base)}
]
RESOURCES = [
    *(value for name, value in vars(EventResource).items() if name.isupper()),
    *(event_resource(kind) for kind in WATCHED_KINDS),
]


@pytest.mark.parametrize("method", sorted({name for name in METHODS if not name.startswith("_")}))
def test_every_method_of_a_point_is_there(method: str) -> None:
    assert f"`{method}(" in PAGE or f" {method}(" in PAGE


@pytest.mark.parametrize("base", sorted(base.__name__ for base in POINT_OF_CLASS))
def test_every_base_class_is_there(base: str) -> None:
    assert f"`{base}`" in PAGE


@pytest.mark.parametrize("resource", sorted(set(RESOURCES)))
def test_every_event_resource_is_there(resource: str) -> None:
    assert f"`{resource}`" in PAGE


@pytest.mark.parametrize("action", [action.name for action in ActionType])
def test_every_action_is_there(action: str) -> None:
    assert f"`{action}`" in PAGE


@pytest.mark.parametrize("parameter", list(inspect.signature(Harness).parameters))
def test_every_parameter_of_the_harness_is_there(parameter: str) -> None:
    assert f"`{parameter}`" in PAGE


@pytest.mark.parametrize("method", [name for name in vars(Harness) if not name.startswith("_")])
def test_every_method_of_the_harness_is_there(method: str) -> None:
    assert f"`{method}(" in PAGE


@pytest.mark.parametrize("builder", [name for name in testing.__all__ if name.startswith("make_")])
def test_every_builder_is_there(builder: str) -> None:
    if builder != "make_device":  # part of a slice, no object
        assert f"`{builder}`" in PAGE


def sample(tmp_path: Path, name: str) -> Path:
    """The code block that defines the class, as a file."""
    [code] = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if f"class {name}(" in code]
    file = tmp_path / "sample.py"
    file.write_text(code, encoding="utf-8")
    return file


def test_the_sample_with_a_custom_resource_runs(tmp_path: Path) -> None:
    quota = {"apiVersion": "example.com/v1", "kind": "Quota", "metadata": {"name": "q"}, "spec": {"maxPods": 3}}
    harness = Harness(plugins=[sample(tmp_path, "Quotas")], nodes=[make_node("n")])
    harness.add(make_pod("early"))
    harness.run()
    assert "no quota" in harness.message(make_pod("early"))
    harness.add(quota)
    assert harness.place(make_pod("web")) == "n"


def test_the_sample_with_a_service_runs(tmp_path: Path) -> None:
    file = sample(tmp_path, "NodeLoad")
    file.write_text("async def ask_the_service():\n    return {'n1': 0.2}\n\n" + file.read_text(encoding="utf-8"))
    harness = Harness(plugins=[file], nodes=[make_node("n1"), make_node("n2")])
    assert harness.scores(make_pod("web"))["NodeLoad"] == {"n1": 80, "n2": 50}
