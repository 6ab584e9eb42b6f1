# SPDX-License-Identifier: Apache-2.0
"""`make spdx`: every source file says its licence in its first lines; `--fix` writes the line where it is missing.

Sources are the files that git does not ignore in these languages: Python, shell, Makefiles, Dockerfiles, JavaScript,
TypeScript, Svelte, CSS.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from scripts.lockfile import ROOT

LICENCE: Final = "SPDX-License-Identifier: Apache-2.0"
_FIRST_LINES: Final = 3
_COMMENTS: Final = {
    ".py": "# {}",
    ".sh": "# {}",
    ".js": "// {}",
    ".mjs": "// {}",
    ".ts": "// {}",
    ".css": "/* {} */",
    ".svelte": "<!-- {} -->",
}
"""How the languages of sources write a comment; that of other files, which are known by their names, begins with `#`."""
_NAMES: Final = ("Makefile", "Dockerfile")


def is_source(path: Path) -> bool:
    """By its name, or by a first line that names an interpreter."""
    if path.suffix in _COMMENTS or path.name in _NAMES:
        return True
    if path.suffix or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def licence_line(path: Path) -> str:
    """The line as a comment in the language of the file."""
    return _COMMENTS.get(path.suffix, "# {}").format(LICENCE)


def has_licence(text: str, line: str) -> bool:
    return line in text.splitlines()[:_FIRST_LINES]


def with_licence(text: str, line: str) -> str:
    """The line comes first, or second after `#!`. An empty file gets nothing else."""
    first, separator, rest = text.partition("\n")
    if first.startswith("#!"):
        return f"{first}\n{line}\n{rest}"
    return f"{line}\n{first}{separator}{rest}"


def sources(root: Path) -> list[Path]:
    """What git knows, and what it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    paths = (root / name for name in sorted(set(listed.split("\0"))) if name)
    return [path for path in paths if path.exists() and is_source(path)]


def without_licence(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if not has_licence(path.read_text(), licence_line(path))]


def main() -> None:
    if sys.argv[1:] not in ([], ["--fix"]):
        sys.exit("usage: python -m scripts.spdx [--fix]")
    missing = without_licence(sources(ROOT))
    if sys.argv[1:]:
        for path in missing:
            path.write_text(with_licence(path.read_text(), licence_line(path)))
        print(f"spdx: {len(missing)} files changed")
        return
    for path in missing:
        print(f"{path.relative_to(ROOT)}: {licence_line(path)!r} is not in its first {_FIRST_LINES} lines")
    if missing:
        sys.exit(f"spdx: {len(missing)} files without a licence line; `make spdx SPDX=--fix` writes it")


if __name__ == "__main__":
    main()
