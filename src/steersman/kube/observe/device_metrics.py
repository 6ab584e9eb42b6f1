# SPDX-License-Identifier: Apache-2.0
"""Metrics of DynamicResources: claims that it creates, and waits for devices that drivers
prepare."""

from __future__ import annotations

from collections.abc import Iterable

from steersman import api
from steersman.kube.observe.metrics import Metrics
from steersman.scheduler.plugins import DynamicResources
from steersman.scheduler.runtime import Profile


class DeviceMetrics:
    """Reports of one profile; implements `DeviceReports` of DynamicResources."""

    def __init__(self, metrics: Metrics, profile: str) -> None:
        self._metrics = metrics
        self._profile = profile

    def claim_created(self, is_success: bool) -> None:
        labels = ("success" if is_success else "failure", "false", "", "Pod")
        self._metrics.created_claims[labels].inc()

    def devices_awaited(self, claims: Iterable[api.ResourceClaim], seconds: float, status: str) -> None:
        """Observe the wait for each allocated device; those with binding conditions are counted,
        too."""
        allocations = (claim.status.allocation for claim in claims)
        for device in (result for found in allocations if found is not None for result in found.devices.results):
            labels = (self._profile, device.driver, status)
            self._metrics.device_wait_seconds[labels].observe(seconds)
            if device.binding_conditions:
                self._metrics.prepared_devices[labels].inc()


def measure_devices(metrics: Metrics, profile: Profile) -> None:
    """Count what the profile's DynamicResources does, if it has the plugin."""
    plugin = profile.plugins.get(DynamicResources.name)
    if isinstance(plugin, DynamicResources):
        plugin.report_to(DeviceMetrics(metrics, profile.name))
