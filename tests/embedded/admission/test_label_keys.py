# SPDX-License-Identifier: Apache-2.0
"""matchLabelKeys and mismatchLabelKeys become part of the selectors."""

from __future__ import annotations

import msgspec
import pytest
from tests.embedded.stores import admitting_store, pod, raw, with_meta, with_spec

from steersman import api
from steersman.testing import make_pod

SELECTOR = api.LabelSelector(match_labels={"app": "web"})
TERM = api.PodAffinityTerm(label_selector=SELECTOR, topology_key="zone", match_label_keys=("rev",))
IN_REV = api.LabelSelectorRequirement(key="rev", operator="In", values=("7",))


def _admitted(affinity: api.Affinity | None = None, *constraints: api.TopologySpreadConstraint) -> api.PodSpec:
    given = with_spec(
        raw(make_pod("web").labels({"app": "web", "rev": "7", "tenant": "t1"})),
        affinity=affinity,
        topology_spread_constraints=constraints,
    )
    return admitting_store().create(given).spec


def _merged(term: api.PodAffinityTerm) -> tuple[api.LabelSelectorRequirement, ...]:
    """The expressions of a required affinity term afterwards."""
    affinity = _admitted(
        api.Affinity(pod_affinity=api.PodAffinity(required_during_scheduling_ignored_during_execution=(term,)))
    ).affinity
    assert affinity is not None
    assert affinity.pod_affinity is not None
    (merged,) = affinity.pod_affinity.required_during_scheduling_ignored_during_execution
    assert merged.match_label_keys == term.match_label_keys
    assert merged.label_selector is not None
    assert merged.label_selector.match_labels == SELECTOR.match_labels
    return merged.label_selector.match_expressions


def test_the_pods_own_value_must_match() -> None:
    assert _merged(TERM) == (IN_REV,)


def test_the_pods_own_value_must_not_match() -> None:
    term = msgspec.structs.replace(TERM, mismatch_label_keys=("tenant",))
    own_tenant = api.LabelSelectorRequirement(key="tenant", operator="NotIn", values=("t1",))
    assert _merged(term) == (IN_REV, own_tenant)


def test_a_label_that_the_pod_does_not_have_is_passed_over() -> None:
    assert _merged(msgspec.structs.replace(TERM, match_label_keys=("missing",))) == ()


def test_what_is_merged_already_is_not_merged_again() -> None:
    selector = msgspec.structs.replace(SELECTOR, match_expressions=(IN_REV,))
    assert _merged(msgspec.structs.replace(TERM, label_selector=selector)) == (IN_REV,)


def test_every_kind_of_pod_affinity_is_merged() -> None:
    weighted = api.WeightedPodAffinityTerm(weight=1, pod_affinity_term=TERM)
    near = api.PodAffinity(
        required_during_scheduling_ignored_during_execution=(TERM,),
        preferred_during_scheduling_ignored_during_execution=(weighted,),
    )
    apart = api.PodAntiAffinity(
        required_during_scheduling_ignored_during_execution=(TERM,),
        preferred_during_scheduling_ignored_during_execution=(weighted,),
    )
    affinity = _admitted(api.Affinity(pod_affinity=near, pod_anti_affinity=apart)).affinity
    assert affinity is not None
    for merged in (affinity.pod_affinity, affinity.pod_anti_affinity):
        assert merged is not None
        (required,) = merged.required_during_scheduling_ignored_during_execution
        (preferred,) = merged.preferred_during_scheduling_ignored_during_execution
        for term in (required, preferred.pod_affinity_term):
            assert term.label_selector is not None
            assert term.label_selector.match_expressions == (IN_REV,)


def test_a_term_without_a_selector_stays_without() -> None:
    term = msgspec.structs.replace(TERM, label_selector=None)
    near = api.PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
    constraint = api.TopologySpreadConstraint(topology_key="zone", match_label_keys=("rev",))
    spec = _admitted(api.Affinity(pod_affinity=near), constraint)
    assert spec.affinity == api.Affinity(pod_affinity=near)
    assert spec.topology_spread_constraints == (constraint,)


def test_topology_spread_constraints_are_merged() -> None:
    constraint = api.TopologySpreadConstraint(topology_key="zone", label_selector=SELECTOR, match_label_keys=("rev",))
    plain = api.TopologySpreadConstraint(topology_key="host", label_selector=SELECTOR)
    merged, untouched = _admitted(None, constraint, plain).topology_spread_constraints
    assert merged.label_selector is not None
    assert merged.label_selector.match_expressions == (IN_REV,)
    assert untouched == plain


@pytest.mark.parametrize("affinity", [None, api.Affinity(), api.Affinity(pod_affinity=api.PodAffinity())])
def test_an_affinity_without_keys_stays_as_it_is(affinity: api.Affinity | None) -> None:
    assert _admitted(affinity).affinity is affinity


def test_a_label_that_changes_later_changes_no_selector() -> None:
    store = admitting_store(
        make_pod("web").labels({"app": "web", "rev": "7"}).spread("zone", selector=SELECTOR, match_label_keys=["rev"])
    )
    updated = store.update(with_meta(pod(store), labels={"app": "web", "rev": "8"}))
    (constraint,) = updated.spec.topology_spread_constraints
    assert constraint.label_selector is not None
    assert constraint.label_selector.match_expressions == (IN_REV,)
