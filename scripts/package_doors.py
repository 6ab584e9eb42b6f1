# SPDX-License-Identifier: Apache-2.0
"""`python -m scripts.package_doors`: lists imports that reach past the `__init__` of another package; `--fix` rewrites them.

The doors of `steersman` are its packages `steersman.X` and `steersman.X.Y`. A module may import modules of its own
top-level package by their full paths, and everything else through a door: `from steersman.api import Pod`. With `--fix`,
imports are rewritten, and the names that they need are added to the lists of the doors (`steersman.base.lazy_names`).
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Final, NamedTuple

from scripts.lockfile import ROOT

SOURCE: Final = ROOT / "src"
LAZY: Final = "steersman.base"
LAZY_HOME: Final = "steersman.base.lazy_names"
MAX_DOOR_DEPTH: Final = 3
"""`steersman.X.Y` is a door, `steersman.X.Y.Z` is not."""
EAGER: Final = {"steersman.plan"}
"""Doors that export functions with the names of their modules; their lists are written by hand."""

Names = dict[str, str]
"""The module that defines each name that a door exports."""


class DeepImport(NamedTuple):
    """An import statement that names a module behind the door of another top-level package."""

    path: Path
    node: ast.ImportFrom

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.node.lineno}: from {self.node.module} import …"


class Sources:
    """The modules under `src`, their doors and the imports between them."""

    def __init__(self, source: Path = SOURCE) -> None:
        self._source = source

    @cached_property
    def paths(self) -> Mapping[str, Path]:
        """The path of each module by its dotted name."""
        return {self._dotted(path): path for path in sorted(self._source.rglob("*.py"))}

    def door(self, module: str) -> str:
        """Return the package through which other packages import from a module."""
        parts = module.split(".")
        nested = ".".join(parts[:MAX_DOOR_DEPTH])
        return nested if self._is_package(nested) else ".".join(parts[: MAX_DOOR_DEPTH - 1])

    def deep_imports(self) -> Iterator[DeepImport]:
        """Yield the imports that reach past a door."""
        for name, path in self.paths.items():
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and self._is_deep(name, node):
                    yield DeepImport(path, node)

    def missing_exports(self) -> Mapping[str, Names]:
        """Return the names that are imported from doors and not exported by them, with the modules that define them."""
        exported = {door: self._exported(door) for door in self.paths if self._is_door(door)}
        missing: dict[str, Names] = {door: {} for door in self.paths if self._has_stale_exports(door)}
        for path in self.paths.values():
            importer = self._dotted(path)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module in exported and importer != node.module:
                    for alias in node.names:
                        if alias.name not in exported[node.module]:
                            self._find_missing(node.module, alias.name, missing)
        return missing

    def _has_stale_exports(self, door: str) -> bool:
        exported = _exports(ast.parse(self.paths[door].read_text(encoding="utf-8")), door)
        return self._is_door(door) and len(exported) > len(self._exported(door))

    def _find_missing(self, door: str, name: str, missing: dict[str, Names]) -> None:
        if f"{door}.{name}" not in self.paths:
            homes = [each for each in self.paths if self.door(each) == door != each and name in self._defined(each)]
            if len(homes) == 1:
                missing.setdefault(door, {})[name] = homes[0]
            else:
                print(f"{door}: {name} is defined in {homes or 'no module'}", file=sys.stderr)

    def _is_door(self, module: str) -> bool:
        return (
            module.count(".") > 0 and self._is_package(module) and self.door(module) == module and module not in EAGER
        )

    def _exported(self, door: str) -> Names:
        path = self.paths[door]
        exported = _exports(ast.parse(path.read_text(encoding="utf-8")), door)
        return {name: module for name, module in exported.items() if _has(path, door, module, name)}

    def _defined(self, module: str) -> frozenset[str]:
        return _defined_in(self.paths[module].read_text(encoding="utf-8"))

    def _is_deep(self, importer: str, node: ast.ImportFrom) -> bool:
        module = node.module or ""
        if node.level or not module.startswith("steersman."):
            return False
        top = importer.split(".")[1] if "." in importer else ""
        return module.split(".")[1] != top and module != self.door(module)

    def _is_package(self, module: str) -> bool:
        path = self.paths.get(module)
        return path is not None and path.name == "__init__.py"

    def _dotted(self, path: Path) -> str:
        parts = path.relative_to(self._source).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def fix(sources: Sources) -> None:
    """Rewrite deep imports, and add the names that they need to the doors."""
    needed: dict[str, Names] = defaultdict(dict)
    by_path: dict[Path, list[ast.ImportFrom]] = defaultdict(list)
    for found in sources.deep_imports():
        by_path[found.path].append(found.node)
    for path, nodes in by_path.items():
        _rewrite(path, nodes, sources, needed)
    for door, names in needed.items():
        if door in EAGER:
            print(f"{door}: add {names} by hand", file=sys.stderr)
            continue
        add_exports(sources.paths[door], door, names)
    for door, names in sources.missing_exports().items():
        add_exports(sources.paths[door], door, names)
        needed[door] |= names
    changed = [*by_path, *(sources.paths[door] for door in needed)]
    for arguments in (["check", "--fix", "--quiet", "--select", "I"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *arguments, *changed], cwd=ROOT, check=True)


def _defined_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    for target in node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]:
        yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name)) if target else ()


def _rewrite(path: Path, nodes: list[ast.ImportFrom], sources: Sources, needed: dict[str, Names]) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    for node in sorted(nodes, key=lambda each: each.lineno, reverse=True):
        module = node.module or ""
        by_door: dict[str, list[ast.alias]] = defaultdict(list)
        for alias in node.names:
            full = f"{module}.{alias.name}"
            is_module = full in sources.paths
            door = sources.door(full if is_module else module)
            if is_module and full.rpartition(".")[0] != door:
                print(
                    f"{path.relative_to(ROOT)}:{node.lineno}: {full} is a module behind a door; import its names",
                    file=sys.stderr,
                )
            if not is_module:
                other = needed[door].setdefault(alias.name, module)
                if other != module:
                    print(f"{door}: {alias.name} is in {other} and in {module}", file=sys.stderr)
            by_door[door].append(alias)
        lines[node.lineno - 1 : node.end_lineno] = [
            f"{' ' * node.col_offset}from {door} import ({', '.join(map(ast.unparse, aliases))})"
            for door, aliases in by_door.items()
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def add_exports(path: Path, door: str, names: Names) -> None:
    """Write the lists of a door: the names that it has, and those in `names`."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    exported = {**names, **{name: home for name, home in _exports(tree, door).items() if _has(path, door, home, name)}}
    lines = text.splitlines()
    for node in reversed([each for each in tree.body if _is_export_list(each, door)]):
        del lines[node.lineno - 1 : node.end_lineno]
    body = [each for each in ast.parse("\n".join(lines)).body if not _is_docstring(each)]
    future = next((each for each in body if isinstance(each, ast.ImportFrom) and each.module == "__future__"), None)
    docstring_end = next((each.end_lineno or 0 for each in ast.parse("\n".join(lines)).body if _is_docstring(each)), 0)
    at = (future.end_lineno or 0) if future else docstring_end
    lines[at:at] = ["", *_imports(door, exported), *_table(door, exported)]
    path.write_text(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n", encoding="utf-8")


def _has(path: Path, door: str, module: str, name: str) -> bool:
    """Report whether a module behind a door still exists and defines a name; an `__init__` may import it."""
    home = path.parent.joinpath(*module.removeprefix(f"{door}.").split("."))
    if home.is_dir():
        return bool(re.search(rf"\b{name}\b", (home / "__init__.py").read_text(encoding="utf-8")))
    home = home.with_suffix(".py")
    return home.exists() and name in _defined_in(home.read_text(encoding="utf-8"))


@cache
def _defined_in(text: str) -> frozenset[str]:
    """Return the names of the classes, functions and constants of a module."""
    return frozenset(name for node in ast.parse(text).body for name in _defined_names(node))


def _imports(door: str, exported: Names) -> Iterator[str]:
    """Yield the imports of a door: names that their own module would hide are imported at once."""
    yield "from typing import TYPE_CHECKING"
    yield (
        f"from {LAZY} import lazy_exports" if door != LAZY else f"from {LAZY_HOME} import lazy_exports as lazy_exports"
    )
    hidden = {name: module for name, module in exported.items() if module in (f"{door}.{name}", LAZY_HOME)}
    for name, module in hidden.items() if door != LAZY else ():
        yield f"from {module} import {name} as {name}"
    yield "__all__: list[str]"
    yield "if TYPE_CHECKING:"
    for module, names in _by_module({name: exported[name] for name in exported.keys() - hidden.keys()}).items():
        yield f"    from {module} import ({', '.join(f'{name} as {name}' for name in names)})"


def _table(door: str, exported: Names) -> Iterator[str]:
    yield "else:"
    yield "    __getattr__, __dir__, __all__ = lazy_exports("
    yield "        __name__,"
    yield "        {"
    for module, names in _by_module(exported).items():
        yield from _entry(module.removeprefix(f"{door}."), names)
    yield "        },"
    yield "    )"


def _entry(module: str, names: list[str]) -> Iterator[str]:
    """Yield the lines of a module in the table, at most 100 columns wide."""
    rows: list[list[str]] = [[]]
    for name in names:
        if sum(len(each) + 1 for each in rows[-1]) + len(name) > 80 - (len(module) if len(rows) == 1 else 0):
            rows.append([])
        rows[-1].append(name)
    if len(rows) == 1:
        yield f'            "{module}": "{" ".join(names)}",'
        return
    yield f'            "{module}": ('
    for number, row in enumerate(rows, start=1):
        yield f'                "{" ".join(row)}{" " if number < len(rows) else ""}"'
    yield "            ),"


def _by_module(exported: Names) -> dict[str, list[str]]:
    by_module: dict[str, list[str]] = defaultdict(list)
    for name, module in sorted(exported.items()):
        by_module[module].append(name)
    return dict(sorted(by_module.items()))


def _exports(tree: ast.Module, door: str) -> Names:
    """Return the names that an `__init__` exports already, eagerly or lazily."""
    public = set(_declared_all(tree))
    found: Names = {}
    for node in tree.body:
        block = node.body if _is_type_checking(node) and isinstance(node, ast.If) else [node]
        for each in block:
            if isinstance(each, ast.ImportFrom) and (each.module or "").startswith(f"{door}."):
                for alias in each.names:
                    if alias.asname or alias.name in public:
                        found[alias.asname or alias.name] = each.module or ""
    return found


def _declared_all(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            yield from ast.literal_eval(node.value)


def _is_export_list(node: ast.stmt, door: str) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module in ("typing", LAZY) or (node.module or "").startswith(f"{door}.")
    return _is_type_checking(node) or (isinstance(node, ast.Assign | ast.AnnAssign) and "__all__" in ast.unparse(node))


def _is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def main() -> int:
    sources = Sources()
    if "--fix" in sys.argv[1:]:
        fix(sources)
        sources = Sources()
    found = list(sources.deep_imports())
    print(*found, sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
