# SPDX-License-Identifier: Apache-2.0
"""Which pods could not go without violating a disruption budget."""

from __future__ import annotations

import msgspec
import pytest

from steersman import api
from steersman.scheduler.preemption.disruption_budgets import Budgets
from steersman.testing import PodBuilder, make_disruption_budget, make_pod

WEB = {"app": "web"}


def web(name: str, namespace: str = "default") -> PodBuilder:
    return make_pod(name).namespace(namespace).label("app", "web")


def budget(allowed: int, name: str = "web") -> api.PodDisruptionBudget:
    return make_disruption_budget(name).namespace("default").selector(WEB).allows(allowed).obj()


def violating(pods: list[PodBuilder], *budgets: api.PodDisruptionBudget) -> list[str]:
    violating, others = Budgets(budgets).split([pod.info() for pod in pods])
    assert len(violating) + len(others) == len(pods)
    return [pod.name for pod in violating]


def test_as_many_pods_may_go_as_the_budget_allows_in_the_given_order() -> None:
    assert violating([web("a"), web("b"), web("c")], budget(1)) == ["b", "c"]


def test_a_budget_that_allows_nothing_is_violated_by_the_first() -> None:
    assert violating([web("a")], budget(0)) == ["a"]


def test_without_budgets_nothing_is_violated() -> None:
    assert violating([web("a")]) == []


def test_a_budget_counts_only_pods_of_its_namespace() -> None:
    assert violating([web("a", "elsewhere")], budget(0)) == []


def test_a_pod_without_labels_violates_nothing() -> None:
    assert violating([make_pod("bare")], budget(0)) == []


def test_a_budget_without_selector_protects_nothing() -> None:
    absent = make_disruption_budget("absent").namespace("default").allows(0).obj()
    assert violating([web("a")], absent) == []


def test_a_budget_with_an_empty_selector_protects_nothing() -> None:
    empty = make_disruption_budget("empty").namespace("default").selector({}).allows(0).obj()
    assert violating([web("a")], empty) == []


def test_a_budget_with_an_invalid_selector_protects_nothing() -> None:
    expression = api.LabelSelectorRequirement(key="app", operator="Resembles", values=("web",))
    spec = api.PodDisruptionBudgetSpec(selector=api.LabelSelector(match_expressions=(expression,)))
    assert violating([web("a")], msgspec.structs.replace(budget(0), spec=spec)) == []


def test_a_pod_whose_eviction_was_already_granted_is_not_counted_again() -> None:
    status = api.PodDisruptionBudgetStatus(disrupted_pods={"a": "2030-01-01T00:00:00Z"}, disruptions_allowed=1)
    granted = msgspec.structs.replace(budget(0), status=status)
    assert violating([web("a"), web("b"), web("c")], granted) == ["c"]


def test_a_pod_violates_if_any_of_its_budgets_is_used_up() -> None:
    assert violating([web("a"), web("b")], budget(2, "generous"), budget(1, "strict")) == ["b"]


def test_every_budget_of_a_pod_is_used_even_if_one_is_violated() -> None:
    both = web("both").label("tier", "front")
    tier = make_disruption_budget("tier").namespace("default").selector({"tier": "front"}).allows(1).obj()
    front = make_pod("front").namespace("default").label("tier", "front")
    assert violating([both, front], budget(0), tier) == ["both", "front"]


@pytest.mark.parametrize(("ends_at_violation", "expected"), [(False, ["a", "b"]), (True, ["a"])])
def test_since_v1_37_budgets_after_an_exceeded_one_are_not_charged(
    ends_at_violation: bool, expected: list[str]
) -> None:
    only_a = make_disruption_budget("empty").namespace("default").selector({"only": "a"}).allows(0).obj()
    budgets = Budgets([only_a, budget(1)], ends_at_violation=ends_at_violation)
    violating, _ = budgets.split([web("a").label("only", "a").info(), web("b").info()])
    assert [pod.name for pod in violating] == expected
