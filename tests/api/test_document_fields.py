# SPDX-License-Identifier: Apache-2.0
"""Tests of decoding documents of Steersman's own kinds."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from steersman.api import LabelSelector, Node
from steersman.api.document_fields import convert_document
from steersman.api.text_files import DocumentPart
from steersman.base.errors import InputError


class Rule(DocumentPart, frozen=True):
    name: str
    mode: Literal["Fast", "Slow"] = "Fast"
    selector: LabelSelector | None = None


class Document(DocumentPart, frozen=True, kw_only=True):
    rules: tuple[Rule, ...] = ()
    by_zone: dict[str, Rule] = {}
    node: Node | None = None
    seconds: float | str = 0.0


def test_a_valid_document_becomes_a_struct() -> None:
    found = convert_document({"rules": [{"name": "a", "mode": "Slow"}], "seconds": "1m"}, Document)
    assert found == Document(rules=(Rule("a", "Slow"),), seconds="1m")


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"rule": []}, 'rule: is not a field here (got []); did you mean "rules"?'),
        ({"x": 1}, "x: is not a field here (got 1); there are rules, byZone, node, seconds"),
        ({"rules": [{}]}, "rules[0]: lacks name; write name"),
        ({"rules": [{"name": "a", "mod": 1}]}, 'rules[0].mod: is not a field here (got 1); did you mean "mode"?'),
        (
            {"rules": [{"name": "a", "mode": "Fats"}]},
            'rules[0].mode: is not one of the possible values (got "Fats"); did you mean "Fast"?',
        ),
        ({"byZone": {"z": {"nam": "a"}}}, 'byZone.z.nam: is not a field here (got "a"); did you mean "name"?'),
        (
            {"rules": [{"name": "a", "selector": {"matchLabel": 1}}]},
            'rules[0].selector.matchLabel: is not a field here (got 1); did you mean "matchLabels"?',
        ),
    ],
)
def test_a_wrong_field_is_named_with_its_path_and_what_was_probably_meant(
    document: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError) as caught:
        convert_document(document, Document)
    assert str(caught.value) == complaint


def test_fields_of_kubernetes_objects_that_no_rule_reads_are_accepted() -> None:
    found = convert_document({"node": {"spec": {"podCIDR": "10.0.0.0/24"}}}, Document)
    assert found.node == Node()
