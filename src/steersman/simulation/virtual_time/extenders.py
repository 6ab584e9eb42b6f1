# SPDX-License-Identifier: Apache-2.0
"""Extenders in simulations: called over HTTP in real time, while virtual time is stopped.

`Simulation.load(extenders=True)` gives the scheduler `RealTimeExtender`s. Each call blocks, so no
virtual time passes in a cycle. Requests run in an event loop in a thread that all simulations of
the process share; the configured timeouts apply.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar
from weakref import finalize

from steersman import api, config
from steersman.base import InputError
from steersman.base.graph_copy import shared_by_copies
from steersman.config import in_call_order
from steersman.framework import ExtenderError, ExtenderFilterOutcome, NodeVictims, PodInfo, PodsOn
from steersman.kube.client import HttpExtender, RawObjects

T = TypeVar("T")

CLOSE_SECONDS: Final = 5.0


@shared_by_copies
class RealTimeExtender:
    """Implements `framework.extender.Extender`: an HTTP extender with blocking calls.

    It never binds, because it would bind in a real cluster instead of the simulated one.
    """

    is_binder = False

    def __init__(self, settings: config.Extender) -> None:
        self._settings = settings
        self._http = HttpExtender(settings, RawObjects())
        self.name = self._http.name
        self.is_ignorable = self._http.is_ignorable
        self.is_filter = self._http.is_filter
        self.is_prioritizer = self._http.is_prioritizer
        self.supports_preemption = self._http.supports_preemption
        self.weight = self._http.weight
        finalize(self, _close, self._http)

    def __reduce__(self) -> tuple[type[RealTimeExtender], tuple[config.Extender]]:
        """Copies, also in other processes, open their own connections."""
        return RealTimeExtender, (self._settings,)

    def is_interested(self, pod: PodInfo) -> bool:
        return self._http.is_interested(pod)

    async def filter(self, pod: PodInfo, nodes: Sequence[api.Node]) -> ExtenderFilterOutcome:
        return _wait_for(self._http.filter(pod, nodes))

    async def prioritize(self, pod: PodInfo, nodes: Sequence[api.Node]) -> Mapping[str, int]:
        return _wait_for(self._http.prioritize(pod, nodes))

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        raise ExtenderError(f"extender {self.name} is not called to bind in a simulation")

    async def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
    ) -> Mapping[str, NodeVictims]:
        return _wait_for(self._http.process_preemption(pod, victims, pods_on))


def real_time_extenders(configuration: config.SchedulerConfiguration) -> tuple[RealTimeExtender, ...]:
    """Return the extenders of a configuration in calling order. Raises `InputError` for unusable
    certificates."""
    try:
        return tuple(RealTimeExtender(settings) for settings in in_call_order(configuration.extenders))
    except ExtenderError as error:
        raise InputError(str(error)) from error


@cache
def _real_time_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop for requests, started on first use."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="extenders of simulations", daemon=True).start()
    return loop


def _wait_for(request: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(request, _real_time_loop()).result()


def _close(extender: HttpExtender) -> None:
    """Close open connections, if any."""
    if _real_time_loop.cache_info().currsize:
        asyncio.run_coroutine_threadsafe(extender.close(), _real_time_loop()).result(CLOSE_SECONDS)
