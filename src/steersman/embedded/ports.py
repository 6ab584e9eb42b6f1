# SPDX-License-Identifier: Apache-2.0
"""Ports of kubelets and controllers, which their host provides: calling back later, and events about objects.

The driver of virtual (or real) time implements `Timers`: it is told what to call when, and moves the clock. A sandbox writes
events, a simulation has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from steersman.api import Object


class Timers(Protocol):
    """Calls back later; `time` is on the scale of `Clock.monotonic`, and may have passed already.

    What is in the background (another try that may never succeed, the next run of a schedule that has no end) happens when its
    time comes, but nobody waits for it: a simulation ends when nothing else is left.
    """

    def call_at(self, time: float, callback: Callable[[], None], *, is_background: bool = False) -> object: ...


class ObjectEventRecorder(Protocol):
    """Notes what a kubelet or a controller did to an object: a `Normal` event, or a `Warning`."""

    def __call__(self, obj: Object, reason: str, message: str, *, is_warning: bool = False) -> None: ...


def ignore_event(obj: Object, reason: str, message: str, *, is_warning: bool = False) -> None:
    """The recorder of clusters without events."""
