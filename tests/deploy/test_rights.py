# SPDX-License-Identifier: Apache-2.0
"""The scheduler's rights are those that it needs, and no more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tests.deploy.shipped import Document, manifests

from steersman import api
from steersman.framework.watching import WATCHED_KINDS
from steersman.kube.client.rights import LOOKUP, Right, cluster_rights, following, lease_rights

Rights = dict[tuple[str, str], set[str]]
ALL_VERSIONS: tuple[type[api.Object], ...] = (
    *WATCHED_KINDS,
    api.DeviceTaintRule,
    api.PodGroup,
    api.CompositePodGroup,
)
"""The kinds that the scheduler watches, whichever version of Kubernetes it emulates, and with any feature gates."""


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
    assert granted(manifests("manifests")["ClusterRole", "steersman"]) == table(cluster_rights(ALL_VERSIONS))


def test_a_shadow_may_list_and_watch_and_nothing_else() -> None:
    assert granted(manifests("shadow")["ClusterRole", "steersman-shadow"]) == table(following(ALL_VERSIONS))


def test_only_the_own_lease_may_be_read_and_written() -> None:
    role = manifests("manifests")["Role", "steersman"]
    needed = lease_rights("kube-system", "steersman")
    assert role["metadata"]["namespace"] == "kube-system"
    assert granted(role) == table(needed)
    for rule in role["rules"]:
        named = {right.name for right in needed if right.verb in rule["verbs"]}
        assert named == set(rule.get("resourceNames", [""]))


def test_who_vouches_for_clients_may_be_looked_up_and_nothing_else_in_that_namespace() -> None:
    role = manifests("manifests")["Role", "steersman-authentication"]
    assert role["metadata"]["namespace"] == LOOKUP.namespace
    assert granted(role) == table([LOOKUP])
    assert [rule["resourceNames"] for rule in role["rules"]] == [[LOOKUP.name]]


def test_no_rule_has_wildcards() -> None:
    for (kind, _), document in manifests("manifests", "monitoring", "shadow").items():
        if kind in ("Role", "ClusterRole"):
            assert not [rule for rule in document["rules"] if "*" in str(rule)]


def test_roles_are_bound_to_the_service_account_of_the_deployment() -> None:
    objects = manifests("manifests")
    deployment = objects["Deployment", "steersman"]
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    namespace = deployment["metadata"]["namespace"]
    assert objects["ServiceAccount", account]["metadata"]["namespace"] == namespace
    bindings = [key for key in objects if key[0] in ("ClusterRoleBinding", "RoleBinding")]
    assert len(bindings) == 3
    for key in bindings:
        bound, role = objects[key], key[0].removesuffix("Binding")
        assert objects[role, bound["roleRef"]["name"]]["metadata"].get("namespace") == bound["metadata"].get(
            "namespace"
        )
        assert bound["roleRef"]["kind"] == role
        assert bound["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
