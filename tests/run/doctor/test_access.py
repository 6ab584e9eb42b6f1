# SPDX-License-Identifier: Apache-2.0
"""Every right that is needed is asked about."""

from __future__ import annotations

from tests.client.api_server import SERVED_KINDS, ApiServer
from tests.run.doctor.examining import examined, named, of

from steersman import api
from steersman.framework.watching import with_custom
from steersman.kube.client import cluster_rights, lease_rights
from steersman.run.doctor import Level

RATES = api.custom_kind("example.com/v1", "Rate", "rates")


def test_all_rights_of_the_table_are_asked_about_and_granted() -> None:
    server = ApiServer()
    report = examined(server)
    needed = len(cluster_rights()) + len(lease_rights("", "")) + 1
    (finding,) = of(report, "access", Level.OK)
    assert finding.message == f"{needed} of {needed} rights are granted"
    assert len(server.discovery.reviews) == needed
    assert not report.has_failed


def test_a_missing_right_fails_and_says_what_it_is_for() -> None:
    server = ApiServer()
    server.discovery.refused = {"create pods/binding", "watch csinodes"}
    report = examined(server)
    (finding,) = of(report, "access", Level.FAIL)
    following = "watch csinodes.storage.k8s.io (for following the cluster)"
    assert finding.message.endswith(f"missing: {following}; create pods/binding (for binding pods)")
    assert report.has_failed


def test_the_lease_is_asked_about_by_its_name() -> None:
    server = ApiServer()
    examined(server, named("night", lease="night"))
    leases = [review["resourceAttributes"] for review in server.discovery.reviews]
    asked = {(one["verb"], one["name"], one["namespace"]) for one in leases if one["resource"] == "leases"}
    assert asked == {
        ("create", "", "kube-system"),
        ("get", "night", "kube-system"),
        ("update", "night", "kube-system"),
    }


def test_the_permissions_of_another_user_may_be_checked() -> None:
    server = ApiServer()
    report = examined(server, subject="system:serviceaccount:kube-system:steersman")
    assert of(report, "access", Level.OK)[0].message.endswith(" to system:serviceaccount:kube-system:steersman")
    review = server.discovery.reviews[0]
    assert review["user"] == "system:serviceaccount:kube-system:steersman"
    assert review["groups"] == [
        "system:authenticated",
        "system:serviceaccounts",
        "system:serviceaccounts:kube-system",
    ]


def test_what_it_can_do_without_is_a_warning() -> None:
    server = ApiServer()
    server.discovery.refused = {"get configmaps"}
    (finding,) = of(examined(server), "access", Level.WARN)
    assert "missing: get configmaps extension-apiserver-authentication in kube-system (for client" in finding.message


def test_rights_for_what_plugins_look_at_are_asked_about_too() -> None:
    server = ApiServer(kinds=(*SERVED_KINDS, RATES))
    server.discovery.refused = {"watch rates"}
    report = examined(server, kinds=with_custom([RATES]))
    (finding,) = of(report, "access", Level.FAIL)
    assert finding.message.endswith("missing: watch rates.example.com (for watching objects that plugins read)")


def test_a_missing_right_to_what_plugins_read_is_a_warning_because_a_role_may_grant_it_somewhere() -> None:
    server = ApiServer(kinds=(*SERVED_KINDS, RATES))
    server.discovery.refused = {"get rates", "list rates"}
    report = examined(server, read_kinds=(RATES,))
    assert not of(report, "access", Level.FAIL)
    (finding,) = of(report, "access", Level.WARN)
    assert finding.message.endswith(
        "missing: get rates.example.com, list rates.example.com (for what plugins read by themselves)"
    )
    assert "a Role in the namespaces where the plugin reads is enough" in finding.advice


class Nothing(set[str]):
    """Every right, for a server that refuses all of them."""

    def __contains__(self, right: object) -> bool:
        return True


def test_an_account_without_any_right_gets_one_finding() -> None:
    server = ApiServer()
    server.discovery.refused = Nothing()
    (finding,) = of(examined(server), "access", Level.FAIL)
    assert finding.message.startswith("none of the ")


def test_the_remedy_for_a_lease_of_another_name_says_where_the_name_belongs() -> None:
    server = ApiServer()
    server.discovery.refused = {"get leases", "update leases"}
    (finding,) = of(examined(server, named("night", lease="night")), "access", Level.FAIL)
    assert "get leases.coordination.k8s.io night" in finding.message
    assert 'write "night" into resourceNames' in finding.advice
    (finding,) = of(examined(server, named("night")), "access", Level.FAIL)
    assert "resourceNames" not in finding.advice
