# SPDX-License-Identifier: Apache-2.0
"""requirements/*.lock, as `uv pip compile --generate-hashes` writes them: which release of what, with which files, for whom."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
REQUIREMENTS: Final = ROOT / "requirements"

_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+?))?(?: \\)?")
_HASH = re.compile(r" {4}--hash=(?P<algorithm>[a-z0-9]+):(?P<digest>[0-9a-f]+)(?: \\)?")
_VIA = re.compile(r" {4}#(?: via)?(?: +(?:-c [^ ]+|(?P<user>[^ (]+)(?: \(.+\))?))?")


class LockError(Exception):
    """A lock file with a line that `uv pip compile` would not write."""


@dataclass(slots=True)
class LockedPackage:
    name: str
    version: str
    #: An environment marker; empty where the package is installed everywhere.
    marker: str
    #: SHA-256 of every file of the release: wheels and sources.
    digests: list[str] = field(default_factory=list)
    #: The packages that need this one; the project itself among them for direct dependencies.
    required_by: list[str] = field(default_factory=list)


def read_lock(path: Path) -> list[LockedPackage]:
    """In the order of the file. One package may be there in several releases, with markers that exclude each other."""
    packages: list[LockedPackage] = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.startswith("#"):
            continue
        if not _read_line(line, packages):
            raise LockError(f"{path}:{number}: not a line of a lock file: {line!r}; run `make lock`")
    return packages


def _read_line(line: str, packages: list[LockedPackage]) -> bool:
    if pin := _PIN.fullmatch(line):
        packages.append(LockedPackage(pin["name"], pin["version"], pin["marker"] or ""))
    elif packages and (digest := _HASH.fullmatch(line)) and digest["algorithm"] == "sha256":
        packages[-1].digests.append(digest["digest"])
    elif packages and (via := _VIA.fullmatch(line)):
        if via["user"]:
            packages[-1].required_by.append(via["user"])
    else:
        return False
    return True
