# SPDX-License-Identifier: Apache-2.0
from steersman import api
from steersman.testing import (
    absent,
    make_disruption_budget,
    make_namespace,
    make_replica_set,
    make_replication_controller,
    make_service,
    make_stateful_set,
)


def test_services_and_replication_controllers_select_by_equal_labels() -> None:
    assert make_service("web").selector({"app": "web"}).obj().spec.selector == {"app": "web"}
    assert make_replication_controller("web").selector({"app": "web"}).replicas(2).obj().spec == (
        api.ReplicationControllerSpec(replicas=2, selector={"app": "web"})
    )


def test_replica_sets_and_stateful_sets_take_any_selector() -> None:
    assert make_replica_set("web").selector({"app": "web"}).replicas(3).obj().spec == (
        api.ReplicaSetSpec(replicas=3, selector=api.LabelSelector(match_labels={"app": "web"}))
    )
    assert make_stateful_set("db").selector(absent("canary")).obj().spec.selector == api.LabelSelector(
        match_expressions=(api.LabelSelectorRequirement(key="canary", operator="DoesNotExist"),)
    )


def test_namespaces_carry_labels() -> None:
    assert make_namespace("shop").label("team", "a").obj().metadata.labels == {"team": "a"}


def test_disruption_budgets_allow_a_number_of_evictions() -> None:
    budget = make_disruption_budget("pdb").selector({"app": "web"}).allows(1).obj()
    assert budget.status.disruptions_allowed == 1
    assert budget.spec.selector == api.LabelSelector(match_labels={"app": "web"})
