# SPDX-License-Identifier: Apache-2.0
"""Makes `src/steersman/api/go_types.json`: the names that Go's JSON decoder gives to types and embedded structs.

    python -m scripts.go_types

OpenAPI knows `protocol` as a string, Go as a `v1.Protocol`, and says so when the value has another type. The table is made of
`types.go` of Kubernetes' Go modules, which `go mod download` fetches. `api.strict_decoding` says how it is read.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.protobuf_fields import MODULES, added_folders, module_folders

TARGET: Final = Path("src/steersman/api/go_types.json")
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(r"^\s*(?:\w+\s+)?([*\[\]\w.]+)\s+`json:\"([^\"]*)\"", re.MULTILINE)
_ALIAS: Final = re.compile(r"^type (\w+) (?:string|\[\]|map\[|u?int)", re.MULTILINE)
_NAME: Final = re.compile(r"(?:(\w+)\.)?([A-Z]\w*)")
_PACKAGES: Final = {"metav1": "v1", "corev1": "v1", "apiv1": "v1"}
"""Names of packages where imports rename them."""


def source_of(folder: Path) -> str:
    """Return the Go source of a package without comments."""
    text = "".join(file.read_text() for file in sorted(folder.glob("*.go")) if not file.name.startswith("zz_"))
    return re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)


def fields_of(bodies: dict[str, str], name: str, package: str, aliases: set[str], embedded: str = "") -> Iterator[str]:
    """Yield `field=type` for fields of named types, and `field@struct` for fields of embedded structs."""
    for kind, tag in _FIELD.findall(bodies.get(name, "")):
        field = tag.split(",")[0]
        bare = kind.lstrip("*")
        if not field:
            yield from fields_of(bodies, bare, package, aliases, bare)
        elif field != "-":
            if embedded:
                yield f"{field}@{embedded}"
            if any(found in aliases for _, found in _NAME.findall(bare)):
                yield f"{field}={_qualified(bare, package)}"


def _qualified(kind: str, package: str) -> str:
    return _NAME.sub(lambda name: f"{_PACKAGES.get(name[1], name[1]) if name[1] else package}.{name[2]}", kind)


def table_of(modules: dict[str, Path], added: dict[str, Path]) -> str:
    folders = {
        f"io.k8s.{module}.{'.'.join(file.parent.relative_to(modules[module]).parts)}": file.parent
        for module, pattern in MODULES.items()
        for file in sorted(modules[module].glob(f"{pattern}/generated.proto"))
    } | added
    sources = {name: source_of(folder) for name, folder in folders.items()}
    shared = source_of(modules["apimachinery"] / "pkg/types")
    aliases = {alias for source in (*sources.values(), shared) for alias in _ALIAS.findall(source)}
    table = {}
    for package, source in sources.items():
        bodies = dict(_STRUCT.findall(source))
        for name in bodies:
            found = list(fields_of(bodies, name, package.rpartition(".")[2], aliases))
            if found:
                table[f"{package}.{name}"] = " ".join(found)
    return json.dumps(table, separators=(",", ":"), sort_keys=True) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent.parent / TARGET).write_text(table_of(module_folders(), added_folders()))
    sys.exit()
