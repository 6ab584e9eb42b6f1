# SPDX-License-Identifier: Apache-2.0
"""Examinations of the API server of the tests."""

from __future__ import annotations

from tests.client.api_server import ApiServer
from tests.client.serving import run

from steersman import api, config
from steersman.api import timestamps
from steersman.base.clock import Clock, RealClock
from steersman.config import DEFAULT_VERSION, KubernetesVersion, SchedulerConfiguration
from steersman.framework.watching import WATCHED_KINDS
from steersman.kube.client import Connection, http_transport
from steersman.kube.client.events import Event
from steersman.kube.client.lease import Lease, LeaseSpec
from steersman.run.doctor import DoctorTarget, Examination, Finding, Level, examine


def examined(
    server: ApiServer,
    configuration: SchedulerConfiguration | None = None,
    clock: Clock | None = None,
    subject: str = "",
    fault: str = "",
    kinds: tuple[type[api.Object], ...] = WATCHED_KINDS,
    read_kinds: tuple[type[api.Object], ...] = (),
    version: KubernetesVersion = DEFAULT_VERSION,
) -> Examination:
    async def scenario() -> Examination:
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            chosen = configuration or config.default_configuration()
            target = DoctorTarget(transport, chosen, clock or RealClock(), subject, kinds, read_kinds, version)
            return await examine(target, address, fault)

    return run(scenario())


def of(report: Examination, check: str, level: Level) -> list[Finding]:
    return [finding for finding in report.findings if (finding.check, finding.level) == (check, level)]


def named(scheduler: str, lease: str = "steersman") -> SchedulerConfiguration:
    """One profile of that name, and a lease of its own."""
    return config.load(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        f"leaderElection: {{resourceName: {lease}}}\n"
        f"profiles: [{{schedulerName: {scheduler}}}]\n"
    )


def hold_lease(
    server: ApiServer, name: str, holder: str, seconds_ago: float = 1.0, labels: dict[str, str] | None = None
) -> None:
    renewed = timestamps.render_micro(RealClock().now() - seconds_ago)
    spec = LeaseSpec(holder_identity=holder, lease_duration_seconds=15, renew_time=renewed)
    metadata = api.ObjectMeta(name=name, namespace="kube-system", labels=labels or {})
    server.store.create(Lease(metadata=metadata, spec=spec))


def an_event(name: str, scheduler: str, instance: str, at: float) -> Event:
    return Event(
        metadata=api.ObjectMeta(name=name, namespace="default"),
        event_time=timestamps.render_micro(at),
        reporting_controller=scheduler,
        reporting_instance=instance,
    )
