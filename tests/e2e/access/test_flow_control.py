# SPDX-License-Identifier: Apache-2.0
"""The API server gives the requests of a release outside of kube-system the level that the shipped FlowSchemas name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from tests.deploy.shipped import rendered
from tests.e2e.access.shipped_cluster import ShippedCluster, apply

from steersman.testing.control_plane import KubeClient, wait_until

NAMESPACE: Final = "evening"
GROUPS: Final = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated")


@pytest.fixture(scope="module")
def release(shipped_cluster: ShippedCluster) -> Iterator[KubeClient]:
    """The service account of a release in a namespace of its own."""
    admin = shipped_cluster.plane.admin
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    apply(admin, rendered({}, release="evening", namespace=NAMESPACE))
    with shipped_cluster.plane.client(f"system:serviceaccount:{NAMESPACE}:evening", GROUPS) as client:
        yield client


@pytest.fixture(scope="module")
def stranger(shipped_cluster: ShippedCluster) -> Iterator[KubeClient]:
    """Another service account of the same namespace."""
    with shipped_cluster.plane.client(f"system:serviceaccount:{NAMESPACE}:other", GROUPS) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "schema", "level"),
    [
        ("/api/v1/nodes", "evening", "evening"),
        ("/api/v1/pods", "evening", "evening"),
        ("/version", "evening", "evening"),
        (
            f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/evening",
            "evening-leader-election",
            "leader-election",
        ),
    ],
)
def test_its_requests_have_their_own_level_and_its_lease_that_of_leases(
    shipped_cluster: ShippedCluster, release: KubeClient, path: str, schema: str, level: str
) -> None:
    # The server takes a new FlowSchema into account some time after it was written.
    wait_until(lambda: dispatched_by(shipped_cluster, release, path) == (schema, level), what=f"{schema} for {path}")


def test_other_service_accounts_stay_where_they_were(
    shipped_cluster: ShippedCluster, release: KubeClient, stranger: KubeClient
) -> None:
    wait_until(lambda: dispatched_by(shipped_cluster, release, "/api/v1/nodes") == ("evening", "evening"))
    assert dispatched_by(shipped_cluster, stranger, "/api/v1/nodes") == ("service-accounts", "workload-low")


def dispatched_by(cluster: ShippedCluster, client: KubeClient, path: str) -> tuple[str, str]:
    """FlowSchema and priority level of a request, as the answer names them."""
    headers = client.raw("GET", path).headers
    names = {
        item["metadata"]["uid"]: item["metadata"]["name"]
        for kind in ("FlowSchema", "PriorityLevelConfiguration")
        for item in cluster.plane.admin.list(kind)
    }
    schema, level = (headers[f"x-kubernetes-pf-{part}-uid"] for part in ("flowschema", "prioritylevel"))
    return names[schema], names[level]
