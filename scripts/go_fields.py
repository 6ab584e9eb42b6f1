# SPDX-License-Identifier: Apache-2.0
"""Makes `src/steersman/api/go_fields.json`: how Kubernetes' Go structs write fields that have no value.

    python -m scripts.go_fields

The table is made of the types and JSON tags in `types.go` of Kubernetes' Go modules, which `go mod download` fetches. It is
kept in git: 40 kB, of the versions that the sandbox serves. `api.go_values` says how it is read.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.protobuf_fields import MODULES, added_folders, module_folders

TARGET: Final = Path("src/steersman/api/go_fields.json")
ALWAYS, NULL, POINTER, UNLESS_ZERO = "+", "~", "*", "-"
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(r"^\s*(?:\w+\s+)?([*\[\]\w.]+)\s+`json:\"([^\"]*)\"", re.MULTILINE)
_ALIAS: Final = re.compile(r"^type (\w+) (?:string|\[\]|map\[|u?int)", re.MULTILINE)
_SCALARS: Final = re.compile(r"\*?(\[|map\[|string$|bool$|u?int\d*$|float\d*$)")


def source_of(folder: Path) -> str:
    """The Go source of a package without comments."""
    text = "".join(file.read_text() for file in sorted(folder.glob("*.go")) if not file.name.startswith("zz_"))
    return re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)


def structs(folder: Path, package: str, aliases: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Every struct of a package, by its name in OpenAPI, and those of its fields that are not as most are."""
    bodies = dict(_STRUCT.findall(source_of(folder)))
    for name in bodies:
        yield f"{package}.{name}", sorted(_fields(bodies, name, aliases))


def _fields(bodies: dict[str, str], name: str, aliases: set[str]) -> Iterator[str]:
    for kind, tag in _FIELD.findall(bodies.get(name, "")):
        field, *options = tag.split(",")
        if not field:  # its fields stand in its place
            yield from _fields(bodies, kind.rpartition(".")[2], aliases)
            continue
        mark = _mark(kind, options, aliases)
        if mark and field != "-":
            yield mark + field


def _mark(kind: str, options: list[str], aliases: set[str]) -> str:
    """ "" for plain values that are left out when they are empty, and for structs behind pointers."""
    bare = kind.lstrip("*").rpartition(".")[2]
    is_plain = bool(_SCALARS.match(kind)) or bare in aliases
    if kind.startswith("*"):
        return (POINTER if is_plain else "") if "omitempty" in options else NULL
    if "omitzero" in options:
        return UNLESS_ZERO
    return "" if is_plain and "omitempty" in options else ALWAYS


def table_of(modules: dict[str, Path], added: dict[str, Path]) -> str:
    packages = {
        f"io.k8s.{module}.{'.'.join(file.parent.relative_to(modules[module]).parts)}": file.parent
        for module, pattern in MODULES.items()
        for file in sorted(modules[module].glob(f"{pattern}/generated.proto"))
    } | added
    sources = [*packages.values(), modules["apimachinery"] / "pkg/types"]
    aliases = {alias for folder in sources for alias in _ALIAS.findall(source_of(folder))}
    found = [one for package, folder in packages.items() for one in structs(folder, package, aliases)]
    table = {name: " ".join(marked) for name, marked in found if marked}
    return json.dumps(table, separators=(",", ":"), sort_keys=True) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent.parent / TARGET).write_text(table_of(module_folders(), added_folders()))
    sys.exit()
