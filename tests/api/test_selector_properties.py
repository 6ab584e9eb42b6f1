# SPDX-License-Identifier: Apache-2.0
"""Label and node selectors against a plain model, over random labels and requirements."""

from unittest.mock import patch

from hypothesis import given, strategies as st

from steersman.api import (
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    node_selectors,
    selectors,
)

KEYS = ("a", "b", "c")
VALUES = ("", "1", "2", "10", "x")
INTEGERS = ("0", "1", "2", "10")

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
keys = st.sampled_from(KEYS)
value_sets = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3).map(tuple)
set_conditions = st.tuples(keys, st.sampled_from(["In", "NotIn"]), value_sets)
presence_conditions = st.tuples(keys, st.sampled_from(["Exists", "DoesNotExist"]), st.just(()))
order_conditions = st.tuples(keys, st.sampled_from(["Gt", "Lt"]), st.sampled_from(INTEGERS).map(lambda text: (text,)))
Condition = tuple[str, str, tuple[str, ...]]
label_conditions = set_conditions | presence_conditions
node_conditions = label_conditions | order_conditions


def holds(condition: Condition, labels: dict[str, str]) -> bool:
    key, operator, values = condition
    match operator:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    number = labels.get(key, "")
    if not number.isdigit():
        return False
    return int(number) > int(values[0]) if operator == "Gt" else int(number) < int(values[0])


def compiled(match_labels: dict[str, str], conditions: list[Condition]) -> selectors.Selector:
    return selectors.from_label_selector(
        LabelSelector(match_labels, tuple(LabelSelectorRequirement(*condition) for condition in conditions))
    )


def requirements(conditions: list[Condition]) -> tuple[selectors.Requirement, ...]:
    made = {selectors.Requirement(key, selectors.Operator(op), tuple(sorted(values))) for key, op, values in conditions}
    return tuple(sorted(made, key=str))


def node_selector(terms: list[list[Condition]]) -> node_selectors.AnyTerm:
    return node_selectors.strict(
        NodeSelector(
            tuple(NodeSelectorTerm(tuple(NodeSelectorRequirement(*condition) for condition in term)) for term in terms)
        )
    )


@given(
    st.lists(st.tuples(st.lists(node_conditions, max_size=3), st.integers(1, 5)), max_size=6),
    st.lists(labels, max_size=4),
)
def test_a_sum_of_selectors_weighs_labels_as_its_selectors_do(
    weighted: list[tuple[list[Condition], int]], subjects: list[dict[str, str]]
) -> None:
    members = [(selectors.Selector(requirements(conditions)), weight) for conditions, weight in weighted]
    total = selectors.SelectorSum(members)
    for subject in (*subjects, *subjects):
        assert total.weigh(subject) == sum(weight for selector, weight in members if selector.matches(subject))


@given(st.lists(node_conditions, min_size=3, max_size=30), labels)
def test_a_selector_with_many_requirements_matches_as_its_requirements_do(
    conditions: list[Condition], subject: dict[str, str]
) -> None:
    with patch.object(selectors, "MAX_SEPARATE_REQUIREMENTS", 1), patch.object(selectors, "_FEW_VALUES", 0):
        selector = selectors.Selector(requirements(conditions))
        assert selector.matches(subject) == all(holds(condition, subject) for condition in conditions)


@given(labels, st.lists(label_conditions, max_size=3), labels)
def test_a_label_selector_is_the_conjunction_of_its_conditions(
    match_labels: dict[str, str], conditions: list[Condition], subject: dict[str, str]
) -> None:
    equal = all(subject.get(key) == value for key, value in match_labels.items())
    expected = equal and all(holds(condition, subject) for condition in conditions)
    assert compiled(match_labels, conditions).matches(subject) is expected


@given(st.lists(label_conditions, max_size=4))
def test_the_order_of_conditions_does_not_matter(conditions: list[Condition]) -> None:
    shuffled = conditions[::-1]
    assert compiled({}, conditions) == compiled({}, shuffled)
    assert hash(compiled({}, conditions)) == hash(compiled({}, shuffled))


@given(st.lists(label_conditions, max_size=3), labels)
def test_only_the_labels_that_a_selector_names_matter(conditions: list[Condition], subject: dict[str, str]) -> None:
    selector = compiled({}, conditions)
    projected = {key: value for key, value in subject.items() if key in selector.keys}
    assert selector.matches(subject) is selector.matches(projected)


@given(st.lists(st.lists(node_conditions, max_size=3), max_size=3), labels)
def test_a_node_selector_is_the_disjunction_of_its_terms(terms: list[list[Condition]], subject: dict[str, str]) -> None:
    expected = any(term and all(holds(condition, subject) for condition in term) for term in terms)
    assert node_selector(terms).matches(subject, "n1") is expected
