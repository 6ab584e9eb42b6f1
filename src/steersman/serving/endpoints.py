# SPDX-License-Identifier: Apache-2.0
"""The pages of the server, as the host provides them; `handlers` turns them into answers.

Pages may be asked for beside the loop that schedules and may not touch what belongs to it: they ask (`Ask`). A host with a
second thread says how (`app.control_thread`), one with a single loop asks at once (`ask_here`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from steersman.errors import SteersmanError
from steersman.observe import DecisionRecord
from steersman.serving.health import Health
from steersman.serving.http import Handler

if TYPE_CHECKING:
    from steersman.explain import Explanation

T = TypeVar("T")


# -- questions to the scheduling loop ----------------------------------------------------------------------------------


class SchedulingLoopBusy(SteersmanError):
    """The scheduling loop has not answered in time. The text is shown to whoever asked, with status 503."""


class Ask(Protocol):
    """How a handler asks something of the loop that schedules."""

    async def __call__(self, question: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """The answer to the question, asked in the loop that schedules. SchedulingLoopBusy when that takes too long."""


async def ask_here(question: Callable[[], Coroutine[Any, Any, T]], /) -> T:
    """Asks in the running loop, where it is the one that schedules."""
    return await question()


# -- what is shown -----------------------------------------------------------------------------------------------------


class Decisions(msgspec.Struct, frozen=True):
    """An `observe.DecisionLog`, asked from elsewhere."""

    recent: Callable[[int], Awaitable[Sequence[DecisionRecord]]]
    of: Callable[[str], Awaitable[Sequence[DecisionRecord]]]
    explain: Callable[[str], Awaitable[Explanation | None]]


class ProcessFacts(msgspec.Struct, frozen=True):
    """The facts about a process that `/statusz` shows."""

    #: Of this program, and of Kubernetes whose behaviour it has.
    version: str
    emulated_version: str
    runtime: str
    #: Wall-clock seconds.
    started: float
    now: Callable[[], float]


class Endpoints(msgspec.Struct, frozen=True):
    """All that the server shows. Callables are called in the server's event loop when somebody looks; `SchedulingLoopBusy` is
    answered with 503."""

    metrics: Callable[[], Awaitable[bytes]]
    #: `/metrics/resources`: what pods ask for.
    resources: Callable[[], Awaitable[bytes]]
    #: `/metrics/slis`: results of health checks.
    health: Callable[[], bytes]
    #: The configuration in use, as a v1 document.
    configuration: Callable[[], Mapping[str, Any]]
    cache: Callable[[], Awaitable[str]]
    queue: Callable[[], Awaitable[str]]
    decisions: Decisions
    #: `/debug/tasks`; None: there is no such path.
    tasks: Callable[[], Awaitable[str]] | None = None
    #: `/flagz`: the command line, by flag; None: there is no such path.
    flags: Mapping[str, str] | None = None
    #: `/statusz`; None: there is no such path.
    process: ProcessFacts | None = None
    #: All other paths; None: there are none.
    others: Handler | None = None
    #: So long the bodies of requests may be; 0: none has any.
    body_bytes: int = 0
    healthz: Health = msgspec.field(default_factory=lambda: Health("healthz"))
    livez: Health = msgspec.field(default_factory=lambda: Health("livez"))
    readyz: Health = msgspec.field(default_factory=lambda: Health("readyz"))
