"""The scheduler's rights are those that it needs, and no more."""

from __future__ import annotations

from collections import defaultdict

from tests.deploy.shipped import Document, manifests

from steersman.framework.watching import WATCHED_KINDS

Rights = dict[tuple[str, str], set[str]]


def granted(role: Document) -> Rights:
    rights: Rights = defaultdict(set)
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                rights[group, resource] |= set(rule["verbs"])
    return dict(rights)


def test_the_kinds_that_are_followed_may_be_listed_and_watched_and_no_others() -> None:
    followed = {(kind.API_VERSION.rpartition("/")[0], kind.PLURAL) for kind in WATCHED_KINDS}
    rights = granted(manifests("manifests")["ClusterRole", "steersman"])
    for verb in ("list", "watch"):
        assert {resource for resource, verbs in rights.items() if verb in verbs} == followed


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
