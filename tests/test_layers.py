# SPDX-License-Identifier: Apache-2.0
"""The layers that `make check` enforces name every package, and the map in CONTRIBUTING.md shows them in that order."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from scripts.package_doors import Sources

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "steersman"
CONTRACTS: dict[str, dict[str, Any]] = {
    contract["name"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
}
LAYERS = CONTRACTS["Packages import only from those below them"]
SCHEDULER = CONTRACTS["The scheduler's packages import only from those below them"]
CLUSTER = CONTRACTS["The embedded cluster's packages import only from those below them"]
#: The commands `bench` and `conformance` are the only ones that may import `testing`.
MAY_IMPORT_TESTING = {"cli", "testing"}
MAX_ENTRIES = 18
CONSTRUCT_A_SCHEDULER = {
    "record/scheduler_replay.py",
    "run/app/program.py",
    "sandbox/scheduling.py",
    "scheduler/what_if/what_if_scheduler.py",
    "simulation/virtual_time/driver.py",
    "testing/bench/api_server_host.py",
    "testing/bench/embedded_host.py",
}


def packages(folder: Path = SOURCE) -> set[str]:
    return {path.parent.name for path in folder.glob("*/__init__.py")}


def layers() -> list[list[str]]:
    """The names of each layer, from the top."""
    return [re.findall(r"steersman\.(\w+)", layer) for layer in LAYERS["layers"]]


def mapped() -> list[list[str]]:
    """The names in each row of the map, from the top."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| package | what lives there |")[2].partition("\n\n")[0]
    return [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines()[2:]]


def test_every_package_has_a_layer() -> None:
    assert {name for layer in layers() for name in layer} == packages()


def test_few_entries_are_directly_under_the_package() -> None:
    assert len([path for path in SOURCE.iterdir() if path.name not in ("__pycache__", "__init__.pyi")]) <= MAX_ENTRIES


@pytest.mark.parametrize(("folder", "contract"), [("scheduler", SCHEDULER), ("cluster", CLUSTER)])
def test_every_sub_package_has_a_layer(folder: str, contract: dict[str, Any]) -> None:
    named = {name for layer in contract["layers"] for name in re.findall(r"\w+", layer)}
    assert named == packages(SOURCE / folder)


def test_no_package_may_import_the_testing_tools() -> None:
    named = {
        module.removeprefix("steersman.")
        for module in CONTRACTS["Nothing that ships imports the testing tools"]["source_modules"]
    }
    assert named == packages() - MAY_IMPORT_TESTING


def test_every_module_beside_the_in_tree_plugins_is_kept_apart_from_the_others() -> None:
    assert CONTRACTS["In-tree plugins do not know each other"]["modules"] == ["steersman.scheduler.plugins.*"]


def test_the_map_names_every_package_and_module_once() -> None:
    names = [name for row in mapped() for name in row]
    assert sorted(names) == sorted(name for layer in layers() for name in layer)


def test_the_map_has_packages_in_the_order_of_the_layers() -> None:
    depth = {name: number for number, layer in enumerate(layers()) for name in layer}
    order = [depth[name] for row in mapped() for name in row if name in packages()]
    assert order == sorted(order)


def test_only_hosts_and_the_what_if_scheduler_construct_a_scheduler() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"(?<![\w.])Scheduler\(\s*[^:]", path.read_text(encoding="utf-8"))
    }
    assert found == CONSTRUCT_A_SCHEDULER


def test_imports_from_another_package_go_through_its_init() -> None:
    """`python -m scripts.package_doors --fix` rewrites those that do not."""
    assert [str(found) for found in Sources().deep_imports()] == []


def test_a_module_imports_nothing_through_the_init_of_its_own_package() -> None:
    """The contracts of import-linter do not see what an `__init__` imports when a name is used."""
    assert [str(found) for found in Sources().own_door_imports()] == []


def test_the_stubs_of_packages_are_generated_from_their_tables() -> None:
    """`python -m scripts.package_doors --fix` generates them."""
    assert [str(path) for path in Sources().stale_stubs()] == []
