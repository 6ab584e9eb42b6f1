# SPDX-License-Identifier: Apache-2.0
"""Contents of the server's pages, provided by the host; `handlers` turns them into answers.

Handlers may run in another loop and use `LoopRunner` for data of the scheduling loop. A host with a
second thread implements it (`app.control_thread`), one with a single loop uses `ask_here`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from steersman.base import SteersmanError
from steersman.kube.observe import DecisionRecord
from steersman.kube.serving.health import Health
from steersman.kube.serving.http import Handler

if TYPE_CHECKING:
    from steersman.scheduler.diagnosis import Explanation

T = TypeVar("T")


# -- access to the scheduling loop -------------------------------------------------------------------------------------


class SchedulingLoopBusy(SteersmanError):
    """Error: the scheduling loop has not answered in time. The text is sent with status 503."""


class LoopRunner(Protocol):
    """Runs a handler's coroutine in the scheduling loop."""

    async def __call__(self, question: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """Return the result of the coroutine. Raise `SchedulingLoopBusy` on timeout."""


async def ask_here(question: Callable[[], Coroutine[Any, Any, T]], /) -> T:
    """Run the coroutine in the current loop, for hosts whose only loop is the scheduling loop."""
    return await question()


# -- contents of the pages ---------------------------------------------------------------------------------------------


class Decisions(msgspec.Struct, frozen=True):
    """Asynchronous access to an `observe.DecisionLog`."""

    recent: Callable[[int], Awaitable[Sequence[DecisionRecord]]]
    of_pod: Callable[[str], Awaitable[Sequence[DecisionRecord]]]
    explain: Callable[[str], Awaitable[Explanation | None]]


class ProcessFacts(msgspec.Struct, frozen=True):
    """Facts about the process for `/statusz`."""

    #: Versions of this program and of the emulated Kubernetes.
    version: str
    emulated_version: str
    runtime: str
    #: Start in seconds since 1970.
    started: float
    now: Callable[[], float]


class Endpoints(msgspec.Struct, frozen=True):
    """Contents of all pages. Callables run in the server's event loop per request;
    `SchedulingLoopBusy` is answered with 503."""

    metrics: Callable[[], Awaitable[bytes]]
    #: `/metrics/resources`: requests and limits of pods.
    resources: Callable[[], Awaitable[bytes]]
    #: `/metrics/slis`: results of health checks.
    health: Callable[[], bytes]
    #: The current configuration as a v1 document.
    configuration: Callable[[], Mapping[str, Any]]
    cache: Callable[[], Awaitable[str]]
    queue: Callable[[], Awaitable[str]]
    decisions: Decisions
    #: `/debug/tasks`; None to omit the path.
    tasks: Callable[[], Awaitable[str]] | None = None
    #: `/flagz`: the command line by flag; None to omit the path.
    flags: Mapping[str, str] | None = None
    #: `/statusz`; None to omit the path.
    process: ProcessFacts | None = None
    #: Handler of all other paths, if any.
    others: Handler | None = None
    #: Limit of request bodies in bytes; 0 to refuse them.
    body_bytes: int = 0
    healthz: Health = msgspec.field(default_factory=lambda: Health("healthz"))
    livez: Health = msgspec.field(default_factory=lambda: Health("livez"))
    readyz: Health = msgspec.field(default_factory=lambda: Health("readyz"))
