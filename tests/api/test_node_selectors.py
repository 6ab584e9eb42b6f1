# SPDX-License-Identifier: Apache-2.0
"""Node selectors: which nodes a pod may and would like to run on."""

import pytest

from steersman.api import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    PreferredSchedulingTerm,
    node_selectors,
)
from steersman.base.errors import InputError


def label_term(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key, operator, values),))


def name_term(operator: str, *values: str, field: str = "metadata.name") -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=(NodeSelectorRequirement(field, operator, values),))


def selected(terms: tuple[NodeSelectorTerm, ...], labels: dict[str, str], name: str = "n1") -> bool:
    return node_selectors.strict(NodeSelector(terms)).matches(labels, name)


def pod_with(node_selector: dict[str, str], required: NodeSelector | None = None) -> Pod:
    affinity = Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))
    return Pod(spec=PodSpec(node_selector=node_selector, affinity=affinity))


def test_no_terms_match_nothing() -> None:
    assert not selected((), {"a": "1"})


def test_an_empty_term_matches_nothing() -> None:
    assert not selected((NodeSelectorTerm(),), {"a": "1"})


def test_one_of_several_terms_is_enough() -> None:
    terms = (label_term("a", "In", "1"), label_term("b", "Exists"))
    assert selected(terms, {"b": ""})
    assert not selected(terms, {"a": "2"})


def test_all_requirements_of_a_term_must_hold() -> None:
    term = NodeSelectorTerm(
        match_expressions=(NodeSelectorRequirement("a", "Exists"), NodeSelectorRequirement("b", "DoesNotExist")),
        match_fields=(NodeSelectorRequirement("metadata.name", "NotIn", ("n2",)),),
    )
    assert selected((term,), {"a": ""}, "n1")
    assert not selected((term,), {"a": ""}, "n2")
    assert not selected((term,), {"a": "", "b": ""}, "n1")


@pytest.mark.parametrize(
    ("operator", "bound", "value", "expected"),
    [
        ("Gt", "5", "6", True),
        ("Gt", "5", "5", False),
        ("Lt", "5", "-3", True),
        ("Lt", "5", "007", False),
        ("Gt", "5", "six", False),
        ("Gt", "5", "9223372036854775808", False),
    ],
)
def test_labels_are_compared_as_integers(operator: str, bound: str, value: str, expected: bool) -> None:
    assert selected((label_term("n", operator, bound),), {"n": value}) is expected


def test_a_missing_label_is_neither_greater_nor_less() -> None:
    assert not selected((label_term("n", "Gt", "0"),), {})
    assert not selected((label_term("n", "Lt", "0"),), {})


def test_nodes_are_selected_by_name() -> None:
    assert selected((name_term("In", "n1"),), {}, "n1")
    assert not selected((name_term("In", "n1"),), {}, "n2")
    assert selected((name_term("NotIn", "n1"),), {}, "n2")


def test_other_fields_are_empty() -> None:
    assert not selected((name_term("In", "x", field="spec.other"),), {}, "n1")
    assert selected((name_term("NotIn", "x", field="spec.other"),), {}, "n1")


def test_fields_do_not_restrict_a_nameless_node() -> None:
    assert selected((name_term("In", "n1"),), {}, "")


def test_names_are_compared_one_by_one() -> None:
    with pytest.raises(InputError) as caught:
        node_selectors.strict(NodeSelector((name_term("In", "a", "b"),)))
    assert str(caught.value) == (
        'nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element'
    )


def test_an_unknown_operator_is_refused_with_the_supported_ones() -> None:
    with pytest.raises(InputError) as caught:
        node_selectors.strict(NodeSelector((label_term("a", "Near"),)), "affinity")
    assert str(caught.value) == (
        'affinity.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": '
        'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
    )


def test_all_errors_are_reported() -> None:
    selector = NodeSelector((label_term("a", "Gt", "x"), name_term("Exists")))
    with pytest.raises(InputError) as caught:
        node_selectors.strict(selector)
    assert str(caught.value).startswith("[nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value")
    assert "nodeSelectorTerms[1].matchFields[0].operator: Unsupported value" in str(caught.value)


def test_a_faulty_term_does_not_keep_another_from_matching() -> None:
    compiled = node_selectors.lazy(NodeSelector((label_term("a", "In"), label_term("b", "Exists"))))
    assert compiled.matches({"b": ""}, "n1")
    assert not compiled.matches({}, "n1")
    assert compiled.error is not None


def test_a_pod_without_demands_fits_everywhere() -> None:
    assert node_selectors.required(Pod()).matches({}, "n1")


def test_node_selector_and_affinity_must_both_match() -> None:
    required = node_selectors.required(pod_with({"a": "1"}, NodeSelector((label_term("b", "Exists"),))))
    assert required.matches({"a": "1", "b": ""}, "n1")
    assert not required.matches({"a": "1"}, "n1")
    assert not required.matches({"b": ""}, "n1")


def test_a_required_affinity_without_terms_fits_nowhere() -> None:
    assert not node_selectors.required(pod_with({}, NodeSelector())).matches({"a": "1"}, "n1")


def test_equal_demands_are_equal_and_hashable() -> None:
    one = node_selectors.required(pod_with({"a": "1"}, NodeSelector((label_term("b", "In", "x", "y"),))))
    other = node_selectors.required(pod_with({"a": "1"}, NodeSelector((label_term("b", "In", "y", "x"),))))
    assert one == other
    assert hash(one) == hash(other)


def test_preferences_add_up_the_weights_of_matching_terms() -> None:
    preferred = node_selectors.preferred(
        (
            PreferredSchedulingTerm(10, label_term("a", "Exists")),
            PreferredSchedulingTerm(3, name_term("In", "n1")),
            PreferredSchedulingTerm(50, label_term("b", "Exists")),
        )
    )
    assert preferred.score({"a": ""}, "n1") == 13
    assert preferred.score({}, "n2") == 0


def test_an_empty_preference_matches_nothing() -> None:
    assert node_selectors.preferred((PreferredSchedulingTerm(10, NodeSelectorTerm()),)).score({}, "n1") == 0


def test_a_preference_without_weight_is_not_even_checked() -> None:
    assert node_selectors.preferred((PreferredSchedulingTerm(0, label_term("a", "Near")),)).terms == ()


def test_a_faulty_preference_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"^\[1\]\.matchExpressions\[0\]\.operator: Unsupported value"):
        node_selectors.preferred(
            (PreferredSchedulingTerm(1, label_term("a", "Exists")), PreferredSchedulingTerm(1, label_term("a", "Near")))
        )
