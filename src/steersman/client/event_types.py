# SPDX-License-Identifier: Apache-2.0
"""The Event of events.k8s.io/v1. Written by `events`."""

from __future__ import annotations

from typing import ClassVar

from steersman.api import Int32, Object, ObjectReference, Struct


class EventSeries(Struct, frozen=True):
    count: Int32 = 0
    last_observed_time: str | None = None


class Event(Object, frozen=True):
    """Something that happened to `regarding`; with a series, more than once."""

    KIND: ClassVar[str] = "Event"
    API_VERSION: ClassVar[str] = "events.k8s.io/v1"
    PLURAL: ClassVar[str] = "events"

    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
