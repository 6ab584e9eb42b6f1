# SPDX-License-Identifier: Apache-2.0
"""docs/engine.md speaks of modules that there are, leaves out none of the engine, and shows code that runs."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import steersman
import steersman.engine

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
EXAMPLE = (ROOT / "examples" / "plugins" / "spare_memory.py").read_text(encoding="utf-8")
PACKAGES = [module.name for module in pkgutil.iter_modules(steersman.__path__)]
#: `package.module`, perhaps with a class and a method.
NAMED = sorted(set(re.findall(rf"`((?:{'|'.join(PACKAGES)})\.[A-Za-z_.]+)`", PAGE)))
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
LINKS = re.findall(r"\]\(([^)#]+)\)", PAGE)
#: The way of a pod, in this order.
WAY = [
    "client.reflector",
    "ingest.handlers",
    "queue.scheduling_queue",
    "framework.pod_info.PodShapes",
    "assembly.scheduler.Scheduler.schedule_one",
    "cycle.schedule_one",
    "engine.columnar",
    "engine.signatures",
    "engine.row_totals",
    "engine.columns",
    "engine.signature",
    "engine.best_rows",
    "state.cache",
    "cycle.commit",
    "binding.cycle",
    "client.dispatcher",
    "client.binding_requests",
]


def test_every_module_of_the_engine_is_named() -> None:
    modules = {f"engine.{module.name}" for module in pkgutil.iter_modules(steersman.engine.__path__)}
    assert modules - {".".join(name.split(".")[:2]) for name in NAMED} == set()


def test_the_order_of_reading_in_the_package_names_every_module_too() -> None:
    modules = {module.name for module in pkgutil.iter_modules(steersman.engine.__path__)}
    assert modules - set(re.findall(r"`(\w+)`", steersman.engine.__doc__ or "")) == set()


@pytest.mark.parametrize("name", NAMED)
def test_what_is_named_is_there(name: str) -> None:
    found: object = steersman
    path = "steersman"
    for part in name.split("."):
        path = f"{path}.{part}"
        if not hasattr(found, part):
            found = importlib.import_module(path)
        else:
            found = getattr(found, part)


def test_the_pod_is_followed_in_the_order_in_which_it_goes() -> None:
    story = PAGE.partition("## One pod")[2].partition("## Three mechanisms")[0]
    places = [story.find(f"`{name}`") for name in WAY]
    assert -1 not in places
    assert places == sorted(places)


def test_the_code_is_that_of_the_example() -> None:
    assert len(BLOCKS) == 3
    assert [block for block in BLOCKS if block not in EXAMPLE] == []


@pytest.mark.parametrize("link", LINKS)
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / "docs" / link).exists()
