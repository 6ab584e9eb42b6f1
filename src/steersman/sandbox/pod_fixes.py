# SPDX-License-Identifier: Apache-2.0
"""`GET fixes?pod=NAMESPACE/NAME`: fixes of a pending pod, as by `steersman explain --fixes`.

The search tries changes on copies of the cluster and may take seconds of CPU time. It runs in a
separate process that reads the sandbox through its API, one at a time, for at most `MAX_SECONDS`.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.kube.serving import Answer, Request
from steersman.sandbox.web import WebRefusal, bad_request, json_page
from steersman.sandbox.web.answers import WebPart

MAX_SECONDS: Final = 60.0
PENDING_EXIT_CODE: Final = 1
"""Exit code of `steersman explain` for a pending pod."""


class PodFix(WebPart, frozen=True, omit_defaults=True):
    """A change that was tried and lets the pod schedule; `commands` carry it out, in this order."""

    kind: str
    summary: str
    commands: list[str]
    node: str = ""
    evicts: list[str] = []


class FixesPage(WebPart, frozen=True):
    """Fixes of a pod, the smallest changes first. `summary` is the state of the pod."""

    pod: str
    summary: str
    fixes: list[PodFix]


class PodFixes:
    """Searches for fixes of pods. `configuration` returns the scheduler's as YAML."""

    def __init__(self, kubeconfig: str, configuration: Callable[[], str], flags: Sequence[str] = ()) -> None:
        self._kubeconfig = kubeconfig
        self._configuration = configuration
        self._flags = tuple(flags)
        self._search = asyncio.Lock()

    async def answer(self, request: Request) -> Answer:
        namespace, slash, name = request.value("pod").partition("/")
        if not (namespace and slash and name) or "/" in name:
            raise bad_request("pod: Required value: use NAMESPACE/NAME")
        if self._search.locked():
            raise WebRefusal(429, "TooManyRequests", "fixes of another pod are being searched for: try again shortly")
        async with self._search:
            found = await self._explained(namespace, name)
        fixes = msgspec.convert(found["fixes"] or [], list[PodFix])
        return json_page(FixesPage(f"{namespace}/{name}", found["summary"], fixes))

    async def _explained(self, namespace: str, name: str) -> dict[str, Any]:
        """Return the document of `steersman explain`. Raise `WebRefusal` with its error output."""
        with tempfile.TemporaryDirectory(prefix="steersman-") as folder:
            file = Path(folder, "scheduler.yaml")
            file.write_text(self._configuration(), encoding="utf-8")
            words = ("--kubeconfig", self._kubeconfig, "--config", str(file), *self._flags, "--fixes", "-o", "json")
            command = (sys.executable, "-m", "steersman", "explain", *words, "-n", namespace, "--", name)
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
            try:
                out, errors = await asyncio.wait_for(process.communicate(), MAX_SECONDS)
            except TimeoutError:
                message = f"the search took longer than {MAX_SECONDS:.0f} s: run `steersman explain` in a terminal"
                raise WebRefusal(504, "Timeout", message) from None
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if process.returncode not in (0, PENDING_EXIT_CODE):
            raise WebRefusal(409, "Conflict", errors.decode(errors="replace").strip()[-500:])
        document: dict[str, Any] = msgspec.json.decode(out)
        return document
