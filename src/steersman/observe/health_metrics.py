# SPDX-License-Identifier: Apache-2.0
"""Results of health checks: `/metrics/slis`. They count whenever somebody looks at the summary of a path."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, generate_latest

from steersman.observe.exposition import WithoutCreationTimes
from steersman.observe.series import MetricSet

SUCCESS: Final = "success"
ERROR: Final = "error"


class HealthMetrics(MetricSet):
    """In a registry of its own, as upstream has it."""

    def __init__(self) -> None:
        super().__init__(CollectorRegistry())
        self.last = self.gauges("kubernetes_healthcheck", "1 if the check succeeded last.", "name", "type")
        self.results = self.counters("kubernetes_healthchecks_total", "Checks by result.", "name", "type", "status")

    def checked(self, path: str, name: str, failed: bool) -> None:
        """`path`: `healthz`, `livez` or `readyz`."""
        self.last[name, path].set(not failed)
        self.results[name, path, ERROR if failed else SUCCESS].inc()

    def render(self) -> bytes:
        return generate_latest(WithoutCreationTimes(self.registry))
