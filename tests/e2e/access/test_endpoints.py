# SPDX-License-Identifier: Apache-2.0
"""Who sees what on the scheduler's port: the API server decides, by the shipped rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.deploy.shipped import manifests
from tests.e2e.access.shipped_cluster import ShippedCluster

from steersman.testing.control_plane import Steersman

PROTECTED = ("/metrics", "/configz", "/debug/cache", "/debug/queue", "/debug/decisions")


@pytest.fixture(scope="module")
def steersman(shipped_cluster: ShippedCluster) -> Iterator[Steersman]:
    shipped_cluster.plane.admin.apply(manifests("monitoring")["ClusterRole", "steersman-metrics-reader"])
    with shipped_cluster.steersman() as running:
        yield running
        running.stop()  # gives the lease back


def account(cluster: ShippedCluster, name: str, *roles: str) -> str:
    """A token of a new service account with these roles."""
    admin = cluster.plane.admin
    admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}})
    for role in roles:
        admin.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"{name}-{role}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
            }
        )
    return admin.token(name)


@pytest.mark.parametrize("path", PROTECTED)
def test_open_endpoints_need_no_authentication(steersman: Steersman, path: str) -> None:
    assert steersman.get(path)[0] == 401
    assert steersman.get(path, token="made-up")[0] == 401


@pytest.mark.parametrize("path", PROTECTED)
def test_a_user_without_permissions_is_refused(
    shipped_cluster: ShippedCluster, steersman: Steersman, path: str
) -> None:
    code, text = steersman.get(path, token=account(shipped_cluster, "stranger"))
    assert code == 403
    assert "system:serviceaccount:default:stranger" in text


def test_the_shipped_reader_of_metrics_sees_metrics_and_nothing_else(
    shipped_cluster: ShippedCluster, steersman: Steersman
) -> None:
    token = account(shipped_cluster, "prometheus", "steersman-metrics-reader")
    answers = {path: steersman.get(path, token=token) for path in PROTECTED}
    assert {path: code for path, (code, _) in answers.items()} == {
        path: 200 if path == "/metrics" else 403 for path in PROTECTED
    }
    assert "scheduler_schedule_attempts_total" in answers["/metrics"][1]


def test_an_administrator_sees_everything(shipped_cluster: ShippedCluster, steersman: Steersman) -> None:
    token = account(shipped_cluster, "boss", "cluster-admin")
    assert [steersman.get(path, token=token)[0] for path in PROTECTED] == [200] * len(PROTECTED)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_open_to_all(steersman: Steersman, path: str) -> None:
    assert steersman.get(path)[0] == 200
