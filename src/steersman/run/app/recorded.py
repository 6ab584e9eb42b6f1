# SPDX-License-Identifier: Apache-2.0
"""Recording by `steersman run --record`, with metrics."""

from __future__ import annotations

import msgspec

from steersman.base import Clock, hide_passwords
from steersman.config import SchedulerConfiguration
from steersman.kube.observe import Metrics
from steersman.record import LIVE, Limits, LiveRecording, RunBody, run_body
from steersman.run.app.settings import EffectiveSettings, RecordOptions

SEGMENTS = 4
"""Minimum number of segments of a record: the oldest one is removed as a whole."""


class FileRecorder(LiveRecording):
    """A `Recorder` that writes a record, with metrics."""

    def __init__(self, options: RecordOptions, settings: EffectiveSettings, seed: int, clock: Clock) -> None:
        """Open the record. Raise `InputError` if the directory cannot be written."""
        limits = Limits(total_bytes=options.total_bytes, age_seconds=options.age_seconds)
        smaller = min(limits.segment_bytes, options.total_bytes // SEGMENTS)
        limits = msgspec.structs.replace(limits, segment_bytes=smaller)
        super().__init__(options.directory, limits, _run_body(settings, seed, clock.now()), clock)
        self.directory = options.directory

    def show(self, metrics: Metrics) -> None:
        metrics.recorded_bytes.set(self.bytes)
        metrics.record_gaps.set(self.gaps)
        metrics.is_recording.set(not self.is_failing)


def _run_body(settings: EffectiveSettings, seed: int, start: float) -> RunBody:
    configuration = _without_secrets(settings.configuration)
    body = run_body(LIVE, configuration, settings.gates, settings.registry, seed, start)
    return msgspec.structs.replace(
        body,
        controllers=False,
        max_in_unschedulable=settings.max_in_unschedulable,
        begins_bindings=True,
    )


def _without_secrets(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """Return the configuration without extenders' passwords and certificates."""
    extenders = tuple(
        msgspec.structs.replace(one, url_prefix=hide_passwords(one.url_prefix), tls_config=None, enable_https=False)
        for one in configuration.extenders
    )
    return msgspec.structs.replace(configuration, extenders=extenders)
