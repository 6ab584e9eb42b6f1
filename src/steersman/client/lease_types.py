# SPDX-License-Identifier: Apache-2.0
"""The Lease of coordination.k8s.io/v1: who may act, and until when. Read and written by `lease`."""

from __future__ import annotations

from typing import ClassVar

from steersman.api import Int32, Object, Struct


class LeaseSpec(Struct, frozen=True):
    """Times have microseconds; a lease that nobody holds has no holder."""

    holder_identity: str = ""
    lease_duration_seconds: Int32 = 0
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 = 0
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Object, frozen=True):
    KIND: ClassVar[str] = "Lease"
    API_VERSION: ClassVar[str] = "coordination.k8s.io/v1"
    PLURAL: ClassVar[str] = "leases"

    spec: LeaseSpec = LeaseSpec()
