"""The scheduler's rights are those that it needs, and no more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tests.deploy.shipped import Document, manifests

from steersman.client.rights import Right, cluster_rights, lease_rights

Rights = dict[tuple[str, str], set[str]]


def granted(role: Document) -> Rights:
    rights: Rights = defaultdict(set)
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                rights[group, resource] |= set(rule["verbs"])
    return dict(rights)


def table(rights: Iterable[Right]) -> Rights:
    """As `granted` gives them."""
    needed: Rights = defaultdict(set)
    for right in rights:
        needed[right.group, right.resource].add(right.verb)
    return dict(needed)


def test_the_cluster_role_grants_what_the_table_names_and_nothing_else() -> None:
    assert granted(manifests("manifests")["ClusterRole", "steersman"]) == table(cluster_rights())


def test_only_the_own_lease_may_be_read_and_written() -> None:
    role = manifests("manifests")["Role", "steersman"]
    needed = lease_rights("kube-system", "steersman")
    assert role["metadata"]["namespace"] == "kube-system"
    assert granted(role) == table(needed)
    for rule in role["rules"]:
        named = {right.name for right in needed if right.verb in rule["verbs"]}
        assert named == set(rule.get("resourceNames", [""]))


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
