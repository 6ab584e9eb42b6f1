"""The scheduler's rights are those that it needs, and no more."""

from __future__ import annotations

from collections import defaultdict

from tests.deploy.shipped import Document, manifests

from steersman.client.informers import FOLLOWED_KINDS

WRITES = {
    ("", "pods"): {"delete"},
    ("", "pods/binding"): {"create"},
    ("", "pods/status"): {"patch"},
    ("", "persistentvolumes"): {"update"},
    ("", "persistentvolumeclaims"): {"update"},
    ("events.k8s.io", "events"): {"create", "patch"},
    ("authentication.k8s.io", "tokenreviews"): {"create"},
    ("authorization.k8s.io", "subjectaccessreviews"): {"create"},
}
"""By API group and resource."""

Rights = dict[tuple[str, str], set[str]]


def granted(role: Document) -> Rights:
    rights: Rights = defaultdict(set)
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                rights[group, resource] |= set(rule["verbs"])
    return dict(rights)


def test_every_kind_that_is_followed_may_be_listed_and_watched_and_nothing_else_is_allowed() -> None:
    needed: Rights = {key: set(verbs) for key, verbs in WRITES.items()}
    for kind in FOLLOWED_KINDS:
        group = kind.API_VERSION.rpartition("/")[0]
        needed.setdefault((group, kind.PLURAL), set()).update({"list", "watch"})
    assert granted(manifests("manifests")["ClusterRole", "steersman"]) == needed


def test_only_the_own_lease_may_be_read_and_written() -> None:
    role = manifests("manifests")["Role", "steersman"]
    assert granted(role) == {("coordination.k8s.io", "leases"): {"create", "get", "update"}}
    for rule in role["rules"]:
        assert rule["verbs"] == ["create"] or rule["resourceNames"] == ["steersman"]


def test_no_rule_has_wildcards() -> None:
    for (kind, _), document in manifests("manifests", "monitoring").items():
        if kind in ("Role", "ClusterRole"):
            assert not [rule for rule in document["rules"] if "*" in str(rule)]


def test_roles_are_bound_to_the_service_account_of_the_deployment() -> None:
    objects = manifests("manifests")
    deployment = objects["Deployment", "steersman"]
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    namespace = deployment["metadata"]["namespace"]
    assert objects["ServiceAccount", account]["metadata"]["namespace"] == namespace
    for binding, role in (("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")):
        bound = objects[binding, "steersman"]
        assert (role, bound["roleRef"]["name"]) in objects
        assert bound["roleRef"]["kind"] == role
        assert bound["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
