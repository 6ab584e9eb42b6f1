# SPDX-License-Identifier: Apache-2.0
"""Background coroutines of plugins or the scheduler, whose exceptions must not end the process."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any

from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, PluginError, describe_fault


class GuardedCoroutine(Coroutine[Any, Any, None]):
    """A coroutine that passes exceptions of the inner one to `on_fault` and ends, unless that
    raises.

    All steps are forwarded, including the cancellation before the first one, on which
    `binding.guarded` relies for cleanup.
    """

    def __init__(self, work: Coroutine[Any, Any, None], on_fault: Callable[[BaseException], None]) -> None:
        self._work = work
        self._on_fault = on_fault

    def send(self, value: Any, /) -> Any:
        return self._step(self._work.send, value)

    def throw(self, kind: Any, value: object = None, trace: TracebackType | None = None, /) -> Any:
        return self._step(self._work.throw, kind) if value is None else self._step(self._work.throw, kind, value, trace)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._work.__await__()

    def _step(self, resume: Callable[..., Any], *given: Any) -> Any:
        try:
            return resume(*given)
        except StopIteration:
            raise
        except PLUGIN_FAULTS as error:
            self._on_fault(error)
            raise StopIteration from error


def raise_as_error(fault: BaseException) -> None:
    """Raise the exception again; a SystemExit becomes a PluginError, because it would end the event
    loop."""
    if isinstance(fault, SystemExit):
        raise PluginError(f"a coroutine of a plugin raised {describe_fault(fault)}") from fault
    raise fault
