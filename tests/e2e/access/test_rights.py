# SPDX-License-Identifier: Apache-2.0
"""With the shipped rights everything works, every right is used, and nothing else is allowed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest
from tests.deploy.shipped import manifests
from tests.deploy.test_rights import Rights, granted
from tests.e2e.access.shipped_cluster import ShippedCluster
from tests.e2e.access.working import Work
from tests.e2e.auditing import Entry
from tests.e2e.faults.proxy import FaultProxy

from steersman.testing.control_plane import KubeClient, ServerRefusal

#: What the API server lets everybody ask who has an account.
EVERYBODY = {
    ("authorization.k8s.io", "selfsubjectaccessreviews"): {"create"},
    ("authorization.k8s.io", "selfsubjectrulesreviews"): {"create"},
    ("authentication.k8s.io", "selfsubjectreviews"): {"create"},
}

#: Rights of the shipped role that are used on API servers of v1.37 only, or with the feature gates of pod groups.
OPTIONAL = {
    ("resource.k8s.io", "devicetaintrules"),
    ("scheduling.k8s.io", "compositepodgroups"),
    ("scheduling.k8s.io", "podgroups"),
    ("scheduling.k8s.io", "podgroups/status"),
}


@pytest.fixture(scope="module")
def requests(shipped_cluster: ShippedCluster) -> list[Entry]:
    """Everything that Steersman asked for while it did everything that it can do."""
    shipped_cluster.audit.forget()
    _remove_lease(shipped_cluster.plane.admin)
    with FaultProxy(shipped_cluster.plane, user="") as proxy, shipped_cluster.steersman(proxy.url) as steersman:
        Work(shipped_cluster.plane.admin, proxy, steersman).do_everything()
        assert steersman.stop() == 0
    return shipped_cluster.audit.entries()


@pytest.fixture
def client(shipped_cluster: ShippedCluster) -> Iterator[KubeClient]:
    with shipped_cluster.as_steersman() as acting:
        yield acting


def test_nothing_that_it_asks_for_is_forbidden(requests: list[Entry]) -> None:
    assert requests
    assert not [entry for entry in requests if entry.response_status.code == 403]


def test_every_right_is_used_and_no_other(requests: list[Entry]) -> None:
    used: Rights = defaultdict(set)
    for entry in requests:
        ref = entry.object_ref
        resource = f"{ref.resource}/{ref.subresource}" if ref.subresource else ref.resource
        used[ref.api_group, resource].add(entry.verb)
        if resource == "resourceclaims/status":
            # The server looks for this right as well, for those who write allocations.
            used[ref.api_group, "resourceclaims/binding"].add(entry.verb)
    expected = {right: verbs for right, verbs in shipped_rights("kube-system").items() if right not in OPTIONAL}
    assert used == expected


def test_the_server_knows_of_no_other_rights(client: KubeClient) -> None:
    for namespace in ("default", "kube-system"):
        review = {"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1"}
        answer = client.create({**review, "metadata": {}, "spec": {"namespace": namespace}})
        rules = {"rules": answer["status"]["resourceRules"]}
        assert granted(rules) == {**shipped_rights(namespace), **EVERYBODY}


@pytest.mark.parametrize(
    ("verb", "group", "resource"),
    [
        ("delete", "", "nodes"),
        ("patch", "", "nodes"),
        ("get", "", "secrets"),
        ("list", "", "secrets"),
        ("get", "", "configmaps"),
        ("create", "", "pods"),
        ("update", "", "pods"),
        ("create", "", "pods/exec"),
        ("create", "", "pods/eviction"),
        ("create", "", "serviceaccounts/token"),
        ("delete", "", "persistentvolumes"),
        ("bind", "rbac.authorization.k8s.io", "clusterroles"),
        ("impersonate", "", "users"),
        ("delete", "coordination.k8s.io", "leases"),
        ("list", "coordination.k8s.io", "leases"),
    ],
)
def test_what_a_scheduler_does_not_need_is_denied(client: KubeClient, verb: str, group: str, resource: str) -> None:
    name, _, subresource = resource.partition("/")
    attributes = {"verb": verb, "group": group, "resource": name, "subresource": subresource, "namespace": "default"}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {}}
    answer = client.create({**review, "spec": {"resourceAttributes": attributes}})
    assert answer["status"]["allowed"] is False


def test_the_lease_of_another_may_not_be_touched(client: KubeClient) -> None:
    with pytest.raises(ServerRefusal) as refusal:
        client.get("Lease", "kube-scheduler", "kube-system")
    assert refusal.value.code == 403


def _remove_lease(admin: KubeClient) -> None:
    """Of an earlier test: it has to be made anew."""
    if admin.find("Lease", "steersman", "kube-system"):
        admin.delete("Lease", "steersman", "kube-system")


def shipped_rights(namespace: str) -> Rights:
    """In a namespace: those of the cluster, and those of its own roles."""
    objects = manifests("manifests")
    rights = granted(objects["ClusterRole", "steersman"])
    for (kind, _), role in objects.items():
        if kind == "Role" and role["metadata"]["namespace"] == namespace:
            rights |= granted(role)
    return rights
