# SPDX-License-Identifier: Apache-2.0
"""Interfaces that the host provides to kubelets and controllers: timers, and events about objects.

The driver of virtual or real time implements `Timers` and advances the clock. A sandbox writes
events, a simulation ignores them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from steersman.api import Object


class Timers(Protocol):
    """Timers on the scale of `Clock.monotonic`; a time may already have passed.

    Background timers (a retry that may never succeed, the next run of an endless schedule) fire
    when due, but a simulation ends when no other timers are left.
    """

    def call_at(self, time: float, callback: Callable[[], None], *, is_background: bool = False) -> object: ...


class ObjectEventRecorder(Protocol):
    """Records a `Normal` or `Warning` event about an object."""

    def __call__(self, obj: Object, reason: str, message: str, *, is_warning: bool = False) -> None: ...


def ignore_event(obj: Object, reason: str, message: str, *, is_warning: bool = False) -> None:
    """Ignore the event; the recorder of clusters without events."""
