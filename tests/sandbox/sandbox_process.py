# SPDX-License-Identifier: Apache-2.0
"""`steersman sandbox` as a process, and a client that finds it by its kubeconfig."""

from __future__ import annotations

import base64
import http.client
import json
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

START_SECONDS = 120.0


class SandboxProcess:
    """Runs between `__enter__` and `__exit__`."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.kubeconfig = directory / "kubeconfig"
        self._arguments: Sequence[str] = arguments
        self._log = directory / "sandbox.log"

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "steersman", "sandbox", "--kubeconfig", str(self.kubeconfig), *self._arguments]
        with self._log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            self._wait()
        except BaseException:
            self.kill()
            raise
        self._connect()
        return self

    def _wait(self) -> None:
        """Until it says what to type next."""
        deadline = time.monotonic() + START_SECONDS
        while "Ctrl-C" not in self.output:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    @property
    def output(self) -> str:
        return self._log.read_text()

    def end(self) -> int:
        """Asks it to end, and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=START_SECONDS)

    def kill(self) -> None:
        """Without a warning: SIGKILL."""
        self.process.kill()
        self.process.wait()

    def request(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """Code and document of the answer; raises OSError when there is none, or only a part of one."""
        data = None if body is None else json.dumps(body).encode()
        fields = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.url + path, data, fields, method=method)
        try:
            with urllib.request.urlopen(request, context=self._tls, timeout=START_SECONDS) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.load(refusal)
        except http.client.HTTPException as cut:
            raise ConnectionError(f"{method} {path}: the answer is not whole") from cut

    def _connect(self) -> None:
        document = yaml.safe_load(self.kubeconfig.read_text())
        cluster = document["clusters"][0]["cluster"]
        self.url: str = cluster["server"]
        self._token: str = document["users"][0]["user"]["token"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._tls = ssl.create_default_context(cadata=authority)
