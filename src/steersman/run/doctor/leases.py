# SPDX-License-Identifier: Apache-2.0
"""Checks of the scheduler's own lease and of the leases of other schedulers."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import DEFAULT_SCHEDULER_NAME, timestamps
from steersman.kube.client import LEASE_LABELS, Lease
from steersman.run.doctor.finding import Finding, fail, ok, warn
from steersman.run.doctor.target import DoctorTarget, server_time

CHECK: Final = "lease"
OTHERS: Final = "schedulers"
KUBE_SCHEDULER: Final = "kube-system/kube-scheduler"


class ObservedLease(msgspec.Struct, frozen=True):
    """A lease at the time of the server's answer."""

    key: str
    holder: str
    #: Seconds since its renewal; None if it was never renewed.
    age: float | None
    duration: float

    @property
    def is_fresh(self) -> bool:
        return bool(self.holder) and self.age is not None and self.age <= self.duration


def seen(lease: Lease, now: float) -> ObservedLease:
    spec = lease.spec
    age = None if spec.renew_time is None else max(0.0, now - timestamps.parse(spec.renew_time))
    key = f"{lease.metadata.namespace}/{lease.metadata.name}"
    return ObservedLease(key, spec.holder_identity, age, float(spec.lease_duration_seconds))


async def check_lease(target: DoctorTarget) -> list[Finding]:
    election = target.configuration.leader_election
    if not election.leader_elect:
        advice = "run one replica only, or set leaderElection.leaderElect"
        return [warn(CHECK, "leader election is off: two replicas would both schedule", advice)]
    key = f"{election.resource_namespace}/{election.resource_name}"
    leases = await scheduler_leases(target)
    own = next((lease for lease in leases if lease.key == key), None)
    return [_own(own, key), *_shared(target, own, key), *_rivals(target, leases, key)]


async def scheduler_leases(target: DoctorTarget) -> list[ObservedLease]:
    """Return the scheduler's own lease, and those that look like other schedulers'."""
    election = target.configuration.leader_election
    answer = await target.get("/version")
    now = server_time(answer) or target.clock.now()
    key = f"{election.resource_namespace}/{election.resource_name}"
    found = ((lease, seen(lease, now)) for lease in await target.objects(Lease))
    return [each for lease, each in found if each.key == key or _is_schedulers(lease)]


def _is_schedulers(lease: Lease) -> bool:
    labels, name = lease.metadata.labels, lease.metadata.name
    return LEASE_LABELS.items() <= labels.items() or "scheduler" in name or "steersman" in name


def _own(lease: ObservedLease | None, key: str) -> Finding:
    if lease is None:
        return ok(CHECK, f"the lease {key} has never been held")
    if not lease.holder:
        return ok(CHECK, f"the lease {key} is free: its last holder gave it back")
    if lease.is_fresh:
        return ok(CHECK, f"the lease {key} is held by {lease.holder}, renewed {lease.age:.0f} s ago")
    since = "never" if lease.age is None else f"{lease.age:.0f} s ago"
    return warn(
        CHECK,
        f"the lease {key} is held by {lease.holder}, who renewed it {since} and should every {lease.duration:.0f} s",
        "no replica holds this lease: start one, or see why the holder hangs",
    )


def _shared(target: DoctorTarget, lease: ObservedLease | None, key: str) -> list[Finding]:
    """Warn about a scheduler beside kube-scheduler that shares kube-scheduler's lease."""
    beside = DEFAULT_SCHEDULER_NAME not in target.scheduler_names
    if key != KUBE_SCHEDULER or not beside or lease is None or not lease.is_fresh:
        return []
    text = f"{key} is kube-scheduler's lease: as long as it is renewed there, {', '.join(target.scheduler_names)} waits"
    return [warn(CHECK, text, "set leaderElection.resourceName to a name of its own")]


def _rivals(target: DoctorTarget, leases: list[ObservedLease], own: str) -> list[Finding]:
    fresh = [lease for lease in leases if lease.is_fresh and lease.key != own]
    if not fresh:
        return [ok(OTHERS, "no other scheduler holds a lease")]
    if DEFAULT_SCHEDULER_NAME in target.scheduler_names:
        rival = next((lease for lease in fresh if lease.key == KUBE_SCHEDULER), None)
        if rival is not None:
            text = f"kube-scheduler ({rival.holder}) is active too: both would place pods of {DEFAULT_SCHEDULER_NAME}"
            return [fail(OTHERS, text, "stop it, share its lease, or give the profile another schedulerName")]
    return [ok(OTHERS, f"other schedulers hold leases: {', '.join(f'{one.key} ({one.holder})' for one in fresh)}")]
