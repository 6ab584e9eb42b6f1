# SPDX-License-Identifier: Apache-2.0
"""A control plane with RBAC, the shipped objects, and a log of everything that their service account asks for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.deploy.shipped import manifests
from tests.e2e.access.shipped_cluster import USER, ShippedCluster, apply
from tests.e2e.auditing import AuditLog, requests_of

from steersman.testing.control_plane import Binaries, ControlPlane


@pytest.fixture(scope="session")
def shipped_cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShippedCluster]:
    folder = tmp_path_factory.mktemp("access")
    audit = AuditLog(folder / "audit", requests_of(USER))
    with ControlPlane(binaries, folder / "plane", authorization="RBAC", extra_flags=audit.flags) as plane:
        apply(plane.admin, manifests("manifests"))
        yield ShippedCluster(plane, audit)
