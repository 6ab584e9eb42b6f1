# SPDX-License-Identifier: Apache-2.0
"""Writes `src/steersman/apiserver/protobuf_fields.json`: the numbers, names and types of the fields of Kubernetes' messages.

    python -m scripts.protobuf_fields ~/go/pkg/mod/k8s.io 0.36.4

Numbers and types come from the `generated.proto` files of the Go modules, the names in JSON from the tags in their
`types.go`. Only the versions that the sandbox serves are taken. `apiserver.protobuf` says how the table is read.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

TARGET: Final = Path("src/steersman/apiserver/protobuf_fields.json")
MODULES: Final = {
    "api": "*/v[12]",
    "apimachinery": "pkg/**",
    "apiextensions-apiserver": "pkg/apis/apiextensions/v1",
    "kube-aggregator": "pkg/apis/apiregistration/v1",
}
SCALARS: Final = {"string": "s", "bool": "b", "bytes": "y", "double": "d", "int32": "i", "int64": "i", "uint32": "i"}
_MESSAGE: Final = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(
    r"^\s+(optional|repeated|required)?\s*(map<string, ([\w.]+)>|[\w.]+) (\w+) = (\d+)", re.MULTILINE
)
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_TAGGED: Final = re.compile(r"^\s*(?:\w+\s+)?([*\[\]\w.]+)\s+`json:\"([^\"]*)\"[^`]*protobuf:\"\w+,(\d+)", re.MULTILINE)


class Tag(NamedTuple):
    """What a Go struct says about a field: its name in JSON, "" if its own fields stand in its place, and whether a
    zero value is
    left out."""

    name: str
    omits_zero: bool


def tables(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Every message of a package and its fields."""
    text = _without_comments((folder / "generated.proto").read_text())
    found = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    if found is None:
        return
    package, tags = found[1], dict(_tags(folder))
    for name, body in _MESSAGE.findall(text):
        known = tags.get(name, {})
        fields = {}
        for label, kind, map_value, field, number in _FIELD.findall(body):
            tag = known.get(number, Tag(field, True))
            prefix = "%" if map_value else "*" if label == "repeated" else ""
            ending = "?" if tag.omits_zero and not prefix else ""
            fields[number] = f"{tag.name} {prefix}{_type(map_value or kind, package)}{ending}"
        yield f"{package}.{name}", fields


def _tags(folder: Path) -> Iterator[tuple[str, dict[str, Tag]]]:
    for file in sorted(folder.glob("*.go")):
        if file.name.startswith(("generated", "zz_")):
            continue
        for name, body in _STRUCT.findall(_without_comments(file.read_text())):
            tags = {}
            for kind, tag, number in _TAGGED.findall(body):
                json_name, *options = tag.split(",")
                is_struct = kind[0].isupper() or "." in kind
                omits = not kind.startswith("*") and ("omitempty" in options or is_struct)
                tags[number] = Tag(json_name, omits)
            yield name, tags


def _type(name: str, package: str) -> str:
    if name in SCALARS:
        return SCALARS[name]
    return name[1:] if name.startswith(".") else f"{package}.{name}"


def _without_comments(text: str) -> str:
    return re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)


def groups(folder: Path) -> Iterator[tuple[str, str]]:
    """`apps/v1` and the package of its messages."""
    register = folder / "register.go"
    found = re.search(r'GroupName\s*=\s*"([^"]*)"', register.read_text()) if register.exists() else None
    parent = folder.parent / "register.go"
    if found is None and parent.exists():
        found = re.search(r'GroupName\s*=\s*"([^"]*)"', parent.read_text())
    package = re.search(r"^package ([\w.]+);", (folder / "generated.proto").read_text(), re.MULTILINE)
    if found is not None and package is not None:
        yield (f"{found[1]}/{folder.name}" if found[1] else folder.name), package[1]


def main(modules: str, version: str) -> None:
    messages: dict[str, dict[str, str]] = {}
    packages: dict[str, str] = {}
    for module, pattern in MODULES.items():
        root = Path(modules, f"{module}@v{version}")
        for file in sorted(root.glob(f"{pattern}/generated.proto")):
            messages.update(tables(file.parent))
            if module != "apimachinery":
                packages.update(groups(file.parent))
    document = {"packages": packages, "messages": messages}
    TARGET.write_text(json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n")
    print(f"{TARGET}: {len(messages)} messages")


if __name__ == "__main__":
    main(*sys.argv[1:3])
