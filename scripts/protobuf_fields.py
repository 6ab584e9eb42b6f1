# SPDX-License-Identifier: Apache-2.0
"""Makes `src/steersman/cluster/apiserver/protobuf_fields.json`: the fields of Kubernetes' messages.

    python -m scripts.protobuf_fields

Called by `hatch_build.py` whenever the package is built or installed from a checkout; the file is in the wheel and not in git.
Numbers and types come from the `generated.proto` files of Kubernetes' Go modules, which `go mod download` fetches, the names in
JSON from the tags in their `types.go`. Only the versions that the sandbox serves are taken. `apiserver.protobuf_table` says how
the table is read, and what happens without it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

TARGET: Final = Path("src/steersman/cluster/apiserver/protobuf_fields.json")
VERSION: Final = "v0.36.4"
ADDED_VERSION: Final = "v0.37.1"
ADDED_PACKAGES: Final = ("scheduling/v1beta1", "scheduling/v1alpha3")
"""Packages of kinds in `api.added_definitions`; the tables of Go types have them, that of messages does not."""
FORMAT: Final = 2
"""Format of the table; `steersman.cluster.apiserver.protobuf_table` reads no other one."""
TRIES: Final = 4
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
    """What a Go struct says about a field: its name in JSON, "" if its own fields stand in its place, whether JSON
    leaves out its zero value, and whether it is a pointer, which protobuf leaves out when nil."""

    name: str
    omits_zero: bool
    is_pointer: bool = False

    @property
    def suffix(self) -> str:
        return "&" if self.is_pointer else "?" if self.omits_zero else ""


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
            ending = "" if prefix else tag.suffix
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
                tags[number] = Tag(json_name, "omitempty" in options or is_struct, kind.startswith("*"))
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


def added_folders() -> dict[str, Path]:
    """The packages of newer kinds that the sandbox serves with a feature gate, by the prefix of their names in OpenAPI."""
    module = module_folders(("api",), ADDED_VERSION)["api"]
    return {f"io.k8s.api.{package.replace('/', '.')}": module / package for package in ADDED_PACKAGES}


def module_folders(modules: Iterable[str] = tuple(MODULES), version: str = VERSION) -> dict[str, Path]:
    """Where Go keeps the modules, once they are downloaded. OSError without Go, or if they cannot be had."""
    names = [f"k8s.io/{module}@{version}" for module in modules]
    for attempt in range(1, TRIES + 1):
        done = subprocess.run(["go", "mod", "download", "-json", *names], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        if attempt < TRIES:  # a registry may answer 429 for a while
            time.sleep(5 * attempt)
    else:
        raise OSError(f"go mod download failed: {(done.stderr or done.stdout).strip()[-500:]}")
    found = _documents(done.stdout)
    return {str(one["Path"]).rpartition("/")[2]: Path(str(one["Dir"])) for one in found}


def _documents(text: str) -> Iterator[dict[str, object]]:
    decoder, position = json.JSONDecoder(), 0
    while text[position:].strip():
        document, end = decoder.raw_decode(text[position:].lstrip())
        position += len(text[position:]) - len(text[position:].lstrip()) + end
        yield document


def table_of(folders: dict[str, Path]) -> str:
    messages: dict[str, dict[str, str]] = {}
    packages: dict[str, str] = {}
    for module, pattern in MODULES.items():
        for file in sorted(folders[module].glob(f"{pattern}/generated.proto")):
            messages.update(tables(file.parent))
            if module != "apimachinery":
                packages.update(groups(file.parent))
    document = {"format": FORMAT, "packages": packages, "messages": messages}
    return json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n"


def make(root: Path) -> str:
    """Make the table below a checkout unless it is up to date; return why that is not possible, else ""."""
    target = root / TARGET
    if target.exists() and json.loads(target.read_text()).get("format") == FORMAT:
        return ""
    try:
        text = table_of(module_folders())
    except OSError as error:
        return f"the sandbox will neither read nor write protobuf, which kubectl sends: {error}"
    target.write_text(text)
    return ""


if __name__ == "__main__":
    sys.exit(make(Path(__file__).parent.parent) or 0)
