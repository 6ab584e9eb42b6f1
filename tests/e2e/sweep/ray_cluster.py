# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster on the loopback interface: two nodes with one core each, started by `ray start`, without a dashboard.

Nodes are killed as a machine that loses power: all their processes at once, without a word.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from tempfile import mkdtemp
from typing import Self

SOURCES = Path(__file__).parents[3] / "src"
STORE_BYTES = 100_000_000
STARTED = "Ray runtime started"
OPTIONS = ("--node-ip-address=127.0.0.1", "--num-cpus=1", f"--object-store-memory={STORE_BYTES}", "--block")


def environment() -> dict[str, str]:
    """Ray's workers inherit it: that is how they find Steersman."""
    return {**os.environ, "PYTHONPATH": str(SOURCES), "RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}


class RayNode:
    """One `ray start`, and everything that it has started."""

    def __init__(self, python: str, *arguments: str) -> None:
        command = [str(Path(python).with_name("ray")), "start", *arguments, *OPTIONS]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment()
        )
        assert self._process.stdout is not None
        said: list[str] = []
        for line in self._process.stdout:
            said.append(line)
            if STARTED in line:
                return
        raise AssertionError("".join(said))

    def has(self, process: int) -> bool:
        """Whether a process is one of this node's."""
        return process in descendants(self._process.pid)

    def kill(self) -> None:
        for process in (self._process.pid, *descendants(self._process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class RayCluster:
    """A context: starts both nodes, and kills what is left of them."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._folder = mkdtemp(prefix="ray-", dir="/tmp")  # paths of sockets must be short
        self.address = f"127.0.0.1:{free_port()}"

    def __enter__(self) -> Self:
        port = self.address.partition(":")[2]
        head = ("--head", f"--port={port}", "--include-dashboard=false", "--disable-usage-stats")
        self.nodes = [RayNode(self._python, *head, f"--temp-dir={self._folder}")]
        self.nodes.append(RayNode(self._python, f"--address={self.address}"))
        return self

    def __exit__(self, *_: object) -> None:
        for node in reversed(self.nodes):
            node.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def descendants(process: int) -> list[int]:
    """Children, their children, and so on, as /proc has them now."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                stat = (entry / "stat").read_text()
                parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found, waiting = [], [process]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found
