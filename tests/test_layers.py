# SPDX-License-Identifier: Apache-2.0
"""The layers that `make check` enforces name every package, and the map in CONTRIBUTING.md shows them in that order."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "steersman"
CONTRACTS: dict[str, dict[str, Any]] = {
    contract["type"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
}
#: Packages that ship but that nothing else in `src` may import.
TOOLS = {"testing"}
#: Asked by NodeResourcesFit, which scores devices that back extended resources.
KNOWN_TO_OTHERS = {"dynamic_resources"}


def packages() -> set[str]:
    return {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def layers() -> list[list[str]]:
    """The names of each layer, from the top."""
    return [re.findall(r"steersman\.(\w+)", layer) for layer in CONTRACTS["layers"]["layers"]]


def mapped() -> list[list[str]]:
    """The names in each row of the map, from the top."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| package | what lives there |")[2].partition("\n\n")[0]
    return [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines()[2:]]


def test_every_package_has_a_layer() -> None:
    modules = {path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("__")}
    assert {name for layer in layers() for name in layer} == packages() - TOOLS | modules


def test_no_package_may_import_the_testing_tools() -> None:
    named = {module.removeprefix("steersman.") for module in CONTRACTS["forbidden"]["source_modules"]}
    assert named == packages() - TOOLS


def test_every_in_tree_plugin_is_kept_apart_from_the_others() -> None:
    plugins = {path.stem for path in (SOURCE / "plugins").glob("[a-z]*") if path.stem != "in_tree"}
    named = {module.rpartition(".")[2] for module in CONTRACTS["independence"]["modules"]}
    assert {name for name in plugins if not name.endswith("_columns")} - KNOWN_TO_OTHERS == named


def test_the_map_names_every_package_and_module_once() -> None:
    names = [name for row in mapped() for name in row]
    assert sorted(names) == sorted(name for layer in layers() for name in layer)


def test_the_map_has_packages_in_the_order_of_the_layers() -> None:
    depth = {name: number for number, layer in enumerate(layers()) for name in layer}
    order = [depth[name] for row in mapped() for name in row if name in packages()]
    assert order == sorted(order)
