# SPDX-License-Identifier: Apache-2.0
"""`python -m scripts.kept`: writes the table of what is kept into docs/engine.md, from the declarations in the sources.

A declaration is a `steersman.kept.Kept` beside the class whose attributes it names. They are found by importing every module.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Final

import steersman
from scripts.lockfile import ROOT
from steersman.kept import VALIDATE_STATE, Kept

PAGE: Final = ROOT / "docs" / "engine.md"
BEGIN: Final = "<!-- what is kept: written by `python -m scripts.kept` -->"
END: Final = "<!-- end of what is kept -->"
#: In the order in which docs/engine.md speaks of them.
PACKAGES: Final = ("framework", "state", "engine", "runtime", "plugins", "preemption", "assembly")


def modules() -> Iterator[ModuleType]:
    """Every module of the packages in which something may be kept."""
    for package in PACKAGES:
        name = f"{steersman.__name__}.{package}"
        yield (imported := importlib.import_module(name))
        for found in sorted(pkgutil.walk_packages(imported.__path__, f"{name}."), key=lambda module: module.name):
            yield importlib.import_module(found.name)


def declarations() -> Iterator[tuple[ModuleType, Kept]]:
    """Each declaration with the module that has the class which keeps it."""
    for module in modules():
        for value in vars(module).values():
            if isinstance(value, Kept) and getattr(vars(module).get(owner(value)), "__module__", "") == module.__name__:
                yield module, value


def owner(declared: Kept) -> str:
    """The name of the class that has the first of its attributes."""
    return declared.attributes[0].partition(".")[0]


def table() -> str:
    """One line for each declaration, as Markdown."""
    lines = ["| what is kept | key | out of date when | bound | twin, and who compares |", "|---|---|---|---|---|"]
    for module, kept in declarations():
        where = f"`{module.__name__.removeprefix('steersman.')}.{owner(kept)}`"
        what = f"**{kept.name}** in {where}: {kept.holds}"
        twin = f"{kept.twin}; {f'`{VALIDATE_STATE}`' if kept.held_equal == VALIDATE_STATE else _link(kept.held_equal)}"
        stamps = f"{kept.stamps}{' (compared in line)' if kept.is_inline else ''}"
        cells = (what, kept.key, stamps, kept.bound, twin)
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines)


def _link(path: str) -> str:
    return f"[{path.removeprefix('tests/').removesuffix('.py')}](../{path})"


def rewritten(page: str) -> str:
    """The page with the table as it follows from the declarations."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> None:
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
