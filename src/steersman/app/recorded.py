# SPDX-License-Identifier: Apache-2.0
"""`steersman run --record`: the record of this process, with its metrics."""

from __future__ import annotations

import msgspec

from steersman.app.recording import NotRecorded
from steersman.app.settings import Effective, RecordOptions
from steersman.clock import Clock
from steersman.config import SchedulerConfiguration
from steersman.observe import Metrics
from steersman.record.frames import LIVE, RunBody
from steersman.record.live_recording import LiveRecording
from steersman.record.recorded_setup import run_body
from steersman.record.segments import Limits
from steersman.redaction import hide_passwords

SEGMENTS = 4
"""A record is kept in so many segments at least: the oldest is removed as a whole."""


class Recorded(LiveRecording, NotRecorded):
    """The record of a running scheduler."""

    def __init__(self, options: RecordOptions, settings: Effective, seed: int, clock: Clock) -> None:
        """Raises `InputError` if the directory cannot be written to."""
        limits = Limits(total_bytes=options.total_bytes, age_seconds=options.age_seconds)
        smaller = min(limits.segment_bytes, options.total_bytes // SEGMENTS)
        limits = msgspec.structs.replace(limits, segment_bytes=smaller)
        super().__init__(options.directory, limits, _run_body(settings, seed, clock.now()), clock)
        self.directory = options.directory

    def show(self, metrics: Metrics) -> None:
        metrics.recorded_bytes.set(self.bytes)
        metrics.record_gaps.set(self.gaps)
        metrics.is_recording.set(not self.is_failing)


def _run_body(settings: Effective, seed: int, start: float) -> RunBody:
    configuration = _without_secrets(settings.configuration)
    body = run_body(LIVE, configuration, settings.gates, settings.registry, seed, start)
    return msgspec.structs.replace(
        body,
        controllers=False,
        max_in_unschedulable=settings.max_in_unschedulable,
        begins_bindings=True,
    )


def _without_secrets(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """Extenders without passwords and certificates: a replay asks nobody."""
    extenders = tuple(
        msgspec.structs.replace(one, url_prefix=hide_passwords(one.url_prefix), tls_config=None, enable_https=False)
        for one in configuration.extenders
    )
    return msgspec.structs.replace(configuration, extenders=extenders)
