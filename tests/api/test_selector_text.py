# SPDX-License-Identifier: Apache-2.0
"""Selectors as kubectl writes them."""

from __future__ import annotations

import pytest

from steersman.api.selector_text import field_selector, label_selector
from steersman.base.errors import InputError

LABELS = {"app": "web", "tier": "front", "n": "7"}


@pytest.mark.parametrize(
    ("text", "is_selected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web , tier = front", True),
        ("app!=web", False),
        ("other!=web", True),
        ("tier in (back, front)", True),
        ("tier notin (back,front)", False),
        ("app", True),
        ("!app", False),
        ("!other,app in (web)", True),
        ("n>6", True),
        ("n<7", False),
        ("app=", False),
    ],
)
def test_labels_are_selected_as_kubectl_does(text: str, is_selected: bool) -> None:
    assert label_selector(text).matches(LABELS) is is_selected


@pytest.mark.parametrize("text", ["a=b=c", "a in b", "in (a)", ",", "a,,b", "a b", "a in (b", "=b", "a=b,"])
def test_what_is_no_label_selector_is_named(text: str) -> None:
    with pytest.raises(InputError, match=r"expected for example|Invalid value"):
        label_selector(text)


def test_a_wrong_value_is_reported_in_upstreams_words() -> None:
    with pytest.raises(InputError, match="a valid label must be"):
        label_selector("app=we_b_")


@pytest.mark.parametrize(
    ("text", "is_selected"),
    [
        ("", True),
        ("metadata.name=web", True),
        ("metadata.name!=web", False),
        ("metadata.name==web,spec.on=true", True),
        ("spec.absent=", True),
        ("spec.absent!=x", True),
        ("metadata.name.more=x", False),
    ],
)
def test_fields_are_compared_as_text(text: str, is_selected: bool) -> None:
    document = {"metadata": {"name": "web"}, "spec": {"on": True}}
    assert all(requirement.matches(document) for requirement in field_selector(text)) is is_selected


@pytest.mark.parametrize("text", ["metadata.name", "=web", "a=b=c", "a=b,"])
def test_what_is_no_field_selector_is_named(text: str) -> None:
    with pytest.raises(InputError, match="is not a field selector"):
        field_selector(text)
