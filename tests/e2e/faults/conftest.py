# SPDX-License-Identifier: Apache-2.0
"""One control plane for all faults: each test leaves it whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.auditing import BINDINGS, AuditLog
from tests.e2e.faults.arena import OBSERVER, Arena
from tests.e2e.faults.proxy import FaultProxy

from steersman.testing.control_plane import Binaries, ControlPlane, JsonObject


def binding(role: str, account: str) -> JsonObject:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": account},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
    }


def observer_token(plane: ControlPlane) -> str:
    """Of one who may read everything."""
    plane.admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": OBSERVER}})
    plane.admin.create(binding("cluster-admin", OBSERVER))
    return plane.admin.token(OBSERVER)


@pytest.fixture(scope="session")
def whole_arena(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    folder = tmp_path_factory.mktemp("faults")
    audit = AuditLog(folder / "audit", BINDINGS)
    with ControlPlane(binaries, folder / "plane", extra_flags=audit.flags) as plane:
        yield Arena(plane, audit, observer_token(plane))


@pytest.fixture
def arena(whole_arena: Arena) -> Iterator[Arena]:
    whole_arena.audit.forget()
    yield whole_arena
    whole_arena.clear()


@pytest.fixture
def proxy(arena: Arena) -> Iterator[FaultProxy]:
    with FaultProxy(arena.plane) as listening:
        yield listening
