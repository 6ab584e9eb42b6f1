# SPDX-License-Identifier: Apache-2.0
"""Questions to the loop that schedules: handlers run elsewhere, and may not touch what belongs to it.

`of_a_scheduler` asks; a host with a second thread says how (`app.control_thread`), one with a single loop asks at once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from steersman.errors import SteersmanError

T = TypeVar("T")


class SchedulingLoopBusy(SteersmanError):
    """No answer in time. The text is shown to whoever asked, with status 503."""


class Ask(Protocol):
    async def __call__(self, question: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """What the question answers, asked in the loop that schedules. SchedulingLoopBusy when that takes too long."""


async def ask_here(question: Callable[[], Coroutine[Any, Any, T]], /) -> T:
    """In the running loop, which is the one that schedules."""
    return await question()
