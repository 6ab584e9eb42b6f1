# SPDX-License-Identifier: Apache-2.0
"""Background coroutines of plugins or the scheduler, whose exceptions must not end the process."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from steersman.base import WrappedCoroutine
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, PluginError, describe_fault


class GuardedCoroutine(WrappedCoroutine[None]):
    """A coroutine that passes exceptions of the inner one to `on_fault` and ends, unless that
    raises.

    All steps are forwarded, including the cancellation before the first one, on which
    `binding.guarded` relies for cleanup.
    """

    def __init__(self, work: Coroutine[Any, Any, None], on_fault: Callable[[BaseException], None]) -> None:
        super().__init__(work)
        self._on_fault = on_fault

    def _step(self, resume: Callable[[], Any], raised: object = None) -> Any:
        try:
            return resume()
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
