# SPDX-License-Identifier: Apache-2.0
"""Label selectors: matching, identity, errors."""

from collections.abc import Mapping

import pytest

from steersman.api import LabelSelector, LabelSelectorRequirement, selectors
from steersman.api.selectors import EVERYTHING, NOTHING, Operator, Requirement
from steersman.base.errors import InputError


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key, operator, values),))


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    return selectors.from_label_selector(selector).matches(labels)


def test_an_absent_selector_matches_nothing() -> None:
    assert selectors.from_label_selector(None) is NOTHING
    assert not NOTHING.matches({})
    assert not NOTHING.empty


def test_an_empty_selector_matches_everything() -> None:
    assert selectors.from_label_selector(LabelSelector()) is EVERYTHING
    assert EVERYTHING.matches({})
    assert EVERYTHING.empty


def test_all_labels_must_match() -> None:
    selector = LabelSelector(match_labels={"app": "web", "tier": "front"})
    assert matches(selector, {"app": "web", "tier": "front", "more": "x"})
    assert not matches(selector, {"app": "web"})


@pytest.mark.parametrize(
    ("operator", "values", "matching", "missing"),
    [
        ("In", ("a", "b"), {"a"}, False),
        ("NotIn", ("a", "b"), {"c"}, True),
        ("Exists", (), {"a", "c"}, False),
        ("DoesNotExist", (), set(), True),
    ],
)
def test_operators(operator: str, values: tuple[str, ...], matching: set[str], missing: bool) -> None:
    selector = expression("k", operator, *values)
    assert {value for value in ("a", "c") if matches(selector, {"k": value})} == matching
    assert matches(selector, {}) is missing


def test_equal_selectors_are_equal_however_they_are_written() -> None:
    one = LabelSelector(match_labels={"b": "2", "a": "1"})
    other = LabelSelector(match_labels={"a": "1"}, match_expressions=(LabelSelectorRequirement("b", "In", ("2", "2")),))
    assert selectors.from_label_selector(one) == selectors.from_label_selector(other)
    assert hash(selectors.from_label_selector(one)) == hash(selectors.from_label_selector(other))


def test_a_selector_knows_the_labels_it_depends_on() -> None:
    selector = LabelSelector({"app": "web"}, (LabelSelectorRequirement("tier", "Exists"),))
    assert selectors.from_label_selector(selector).keys == {"app", "tier"}


def test_requirements_can_be_added() -> None:
    selector = selectors.from_labels({"app": "web"}).add(Requirement("v", Operator.IN, ("1",)))
    assert selector == selectors.from_labels({"app": "web", "v": "1"})


def test_nothing_stays_nothing_whatever_is_added() -> None:
    assert NOTHING.add(Requirement("v", Operator.EXISTS)) is NOTHING


def test_labels_become_a_selector_unchecked() -> None:
    assert selectors.from_labels({"not a label key": "!"}).matches({"not a label key": "!"})
    assert selectors.from_labels({}).empty


def test_selectors_read_like_those_of_kubectl() -> None:
    selector = LabelSelector(
        {"a": "1"},
        (
            LabelSelectorRequirement("b", "NotIn", ("y", "x")),
            LabelSelectorRequirement("c", "Exists"),
            LabelSelectorRequirement("d", "DoesNotExist"),
        ),
    )
    assert str(selectors.from_label_selector(selector)) == "a=1,b notin (x,y),c,!d"
    assert str(Requirement("n", Operator.GT, ("5",))) == "n>5"


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(InputError, match='"Gt" is not a valid label selector operator'):
        selectors.from_label_selector(expression("a", "Gt", "1"))


def test_values_are_required_where_they_are_compared() -> None:
    with pytest.raises(InputError) as caught:
        selectors.from_label_selector(expression("a", "In"))
    assert str(caught.value) == f"values: Invalid value: null: {selectors.EMPTY_SET}"


def test_all_errors_of_a_requirement_are_reported() -> None:
    with pytest.raises(InputError) as caught:
        selectors.from_label_selector(expression("-a", "Exists", "_"))
    text = str(caught.value)
    assert text.startswith('[key: Invalid value: "-a": name part must consist of alphanumeric characters')
    assert f'values: Invalid value: ["_"]: {selectors.NOT_EMPTY_SET}' in text
    assert 'values[0][-a]: Invalid value: "_": a valid label must be' in text


@pytest.mark.parametrize("text", ["", "x", "1.0", " 1", "1_000", "9223372036854775808", "0x10", "٣"])
def test_texts_that_are_not_integers(text: str) -> None:
    assert selectors.parse_int64(text) is None


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("+5", 5), ("-9223372036854775808", -(2**63))])
def test_texts_that_are_integers(text: str, number: int) -> None:
    assert selectors.parse_int64(text) == number
