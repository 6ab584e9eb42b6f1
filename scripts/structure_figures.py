# SPDX-License-Identifier: Apache-2.0
"""`python -m scripts.structure_figures`: prints figures about the size and the structure of the sources and the docs.

With the path of another checkout as its argument it prints those figures side by side, and the difference.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from scripts.lockfile import ROOT

PACKAGE: Final = "steersman"
LONGEST_PROSE_LINE: Final = 120
_FENCE: Final = re.compile(r"^\s*(```|~~~)")


class Module(NamedTuple):
    """A module of the package: its dotted name, text and syntax tree."""

    name: str
    text: str
    tree: ast.Module
    is_package: bool

    @property
    def top_level(self) -> str:
        """Return the top-level package that the module is in; "" for `steersman` itself."""
        return self.name.split(".")[1] if "." in self.name else ""

    def code_lines(self) -> int:
        """Count lines that are neither blank nor comments nor docstrings."""
        omitted = {number for node in ast.walk(self.tree) for number in _docstring_lines(node)}
        lines = enumerate(self.text.splitlines(), start=1)
        return sum(
            1 for number, line in lines if line.strip() and not line.lstrip().startswith("#") and number not in omitted
        )

    def imported(self) -> Iterator[str]:
        """Yield the modules that import statements name; `from steersman import api` names only `steersman`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                yield node.module

    def foreign_imports(self) -> Iterator[str]:
        """Yield imports of other top-level packages of Steersman."""
        for name in self.imported():
            parts = name.split(".")
            if parts[0] == PACKAGE and len(parts) > 1 and parts[1] != self.top_level:
                yield name


class Checkout:
    """A checkout whose figures are counted."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sources = root / "src" / PACKAGE

    @cached_property
    def _modules(self) -> list[Module]:
        return [_module(path, self._sources.parent) for path in sorted(self._sources.rglob("*.py"))]

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return [node for module in self._modules for node in ast.walk(module.tree)]

    def figures(self) -> dict[str, int]:
        """Return all figures by name, in the order in which they are printed."""
        foreign = [name for module in self._modules for name in module.foreign_imports()]
        packages = {module.name for module in self._modules if module.is_package}
        deep = sum(name not in packages or name.count(".") > 2 for name in foreign)
        readme, contributing, changelog = (
            self._root / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")
        )
        pages = [readme, contributing, changelog, *sorted((self._root / "docs").rglob("*.md"))]
        return {
            "lines": sum(len(module.text.splitlines()) for module in self._modules),
            "code lines": sum(module.code_lines() for module in self._modules),
            "modules": len(self._modules),
            "entries directly under src/steersman": sum(map(_is_python, self._sources.iterdir())),
            "imports into another package past its doors": deep,
            "imports of another package through its doors": len(foreign) - deep,
            "reads of another object's private attributes": sum(map(_is_private_read, self._nodes)),
            "constructions of Scheduler": sum(map(_is_scheduler_construction, self._nodes)),
            "Any": sum(isinstance(node, ast.Name) and node.id == "Any" for node in self._nodes),
            "words of README": _words(readme),
            "words of CONTRIBUTING": _words(contributing),
            "words of all docs": sum(map(_words, pages)),
            "prose lines over 120 characters": sum(map(_long_prose_lines, pages)),
        }


def _module(path: Path, folder: Path) -> Module:
    parts = path.relative_to(folder).with_suffix("").parts
    text = path.read_text("utf-8")
    is_package = parts[-1] == "__init__"
    return Module(".".join(parts[:-1] if is_package else parts), text, ast.parse(text), is_package)


def _is_python(path: Path) -> bool:
    return path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__")


def _docstring_lines(node: ast.AST) -> range:
    """Return the lines of a string that stands alone, as docstrings of modules, functions and constants do."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return range(0)


def _is_private_read(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
        return False
    return not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))


def _is_scheduler_construction(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Scheduler"


def _words(page: Path) -> int:
    return len(page.read_text("utf-8").split())


def _long_prose_lines(page: Path) -> int:
    """Count long lines outside of code blocks and tables."""
    is_prose, count = True, 0
    for line in page.read_text("utf-8").splitlines():
        if _FENCE.match(line):
            is_prose = not is_prose
        count += is_prose and len(line) > LONGEST_PROSE_LINE and not line.startswith("|")
    return count


def main(roots: list[str]) -> int:
    here = Checkout(ROOT).figures()
    there = Checkout(Path(roots[0])).figures() if roots else None
    width = max(map(len, here))
    for name, value in here.items():
        more = "" if there is None else f" {there[name]:>9,} {value - there[name]:>+9,}"
        print(f"{name:<{width}} {value:>9,}{more}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
