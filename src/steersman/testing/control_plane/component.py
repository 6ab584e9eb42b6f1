# SPDX-License-Identifier: Apache-2.0
"""Control-plane process that tests can stop, kill, pause and restart. Linux only: reads /proc."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self, TypeVar

from steersman.base import SteersmanError

T = TypeVar("T")

INTERVAL: Final = 0.05
"""Polling interval in seconds."""


def wait_until(condition: Callable[[], T], timeout: float = 30.0, *, what: str = "", interval: float = INTERVAL) -> T:
    """Call `condition` until its result is true, and return it, or raise `TimeoutError`."""
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{what or 'the condition'} did not come true within {timeout:g} s; last answer: {answer!r}"
            )
        time.sleep(interval)
    return answer


# -- components --------------------------------------------------------------------------------------------------------


READY_SECONDS: Final = 90.0
STOP_SECONDS: Final = 30.0
_LOG_LINES: Final = 12
"""Number of last log lines in the error if a program does not start."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")


_PARENT_DEATH_SIGNAL: Final = 1
_LIBC: Final = ctypes.CDLL(None)


def _kill_with_parent() -> None:
    """Make the kernel kill this process when the thread that started it ends."""
    _LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


class ComponentError(SteersmanError):
    """Error: a program did not start, or ended unexpectedly."""


class Component:
    """One program. Its output is appended to `log`."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        ready: Callable[[], bool] = lambda: True,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._ready = ready
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._paused = False

    @property
    def pid(self) -> int:
        return self._started().pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while it runs, negative if a signal ended it."""
        return self._started().poll()

    def start(self, *, wait: bool = True) -> Self:
        """Start the program and, if `wait`, wait until it is ready."""
        if self.running:
            raise ComponentError(f"{self.name} runs already, with pid {self.pid}")
        with self.log.open("ab") as output:
            # A new session: Ctrl-C reaches only the tests, which stop processes in order.
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
                preexec_fn=_kill_with_parent,
            )
        self._paused = False
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, timeout: float = READY_SECONDS) -> None:
        deadline = time.monotonic() + timeout
        while not self._ready():
            if not self.running:
                raise ComponentError(
                    f"{self.name} ended with exit code {self.exit_code}; {self.log} ends: {self._tail()}"
                )
            if time.monotonic() > deadline:
                raise ComponentError(f"{self.name} was not ready after {timeout:g} s; {self.log} ends: {self._tail()}")
            time.sleep(INTERVAL)

    def stop(self, timeout: float = STOP_SECONDS) -> int:
        """Send SIGTERM and return the exit code. On timeout, kill it and raise `ComponentError`."""
        if self.running:
            self.resume()
            self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def wait(self, timeout: float = STOP_SECONDS) -> int:
        """Wait for the end and return the exit code."""
        try:
            return self._started().wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ComponentError(f"{self.name} had not ended after {timeout:g} s and was killed") from None

    def kill(self) -> None:
        """Send SIGKILL, like a crash."""
        if self.running:
            self.signal(signal.SIGKILL)
            self._started().wait(STOP_SECONDS)

    def restart(self, *, wait: bool = True) -> None:
        self.stop()
        self.start(wait=wait)

    def pause(self) -> None:
        """Send SIGSTOP: the process hangs and its connections stay open."""
        self.signal(signal.SIGSTOP)
        self._paused = True

    def resume(self) -> None:
        if self._paused:
            self.signal(signal.SIGCONT)
            self._paused = False

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def rss(self) -> int:
        """Return the resident memory in bytes."""
        return self._memory("VmRSS:")

    def peak_rss(self) -> int:
        """Return the peak resident memory in bytes."""
        return self._memory("VmHWM:")

    def cpu_seconds(self) -> float:
        """Return the user and system time of all threads."""
        after_name = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / _TICKS

    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ComponentError(f"{self.name} has not been started")
        return self._process

    def _memory(self, field: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
        raise ComponentError(f"{self.name} has no {field} in /proc/{self.pid}/status: it has ended")

    def _tail(self) -> str:
        return " | ".join(self.log_text().splitlines()[-_LOG_LINES:])
