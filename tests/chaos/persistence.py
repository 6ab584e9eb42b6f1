# SPDX-License-Identifier: Apache-2.0
"""How the harness of a chaos run goes on while the server comes and goes: requests are repeated, threads are watched."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from steersman.testing.control_plane import KubeClient, ServerRefusal

T = TypeVar("T")

RETRY_SECONDS: Final = 0.2
#: The object is there already, is gone, or its namespace ends: an earlier attempt or the chaos itself was faster.
SETTLED: Final = frozenset({403, 404, 409})
_LOSSES: Final = (OSError, http.client.HTTPException)


class Persistent:
    """Tries until the server has decided, or until the run ends."""

    def __init__(self, client: KubeClient, ended: threading.Event) -> None:
        self.client = client
        self.ended = ended

    def __call__(self, act: Callable[[], T]) -> T | None:
        """What the server answered; None when it has refused for good, or the run is over."""
        while not self.ended.is_set():
            try:
                return act()
            except ServerRefusal as refusal:
                if refusal.code in SETTLED:
                    return None
                if (
                    refusal.code != http.HTTPStatus.TOO_MANY_REQUESTS
                    and refusal.code < http.HTTPStatus.INTERNAL_SERVER_ERROR
                ):
                    raise
            except _LOSSES:
                pass
            self.ended.wait(RETRY_SECONDS)
        return None


class HarnessThread(threading.Thread):
    """A part of the harness that runs beside the others; `check` raises what went wrong in it."""

    def __init__(self, act: Callable[[], object], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._act = act
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._act()
        except BaseException as error:
            self._error = error

    def check(self) -> None:
        if self._error is not None:
            raise RuntimeError(f"{self.name} of the harness has failed: {self._error!r}") from self._error
