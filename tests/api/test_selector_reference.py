# SPDX-License-Identifier: Apache-2.0
"""Selectors and tolerations against the answers of Kubernetes' own implementation, recorded in `data`."""

import json
from pathlib import Path
from typing import Any

import pytest

from steersman.api import (
    LabelSelector,
    Node,
    NodeSelector,
    Pod,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
    codec,
    node_selectors,
    selectors,
    tolerations,
)
from steersman.base.errors import InputError

CASES = [json.loads(line) for line in (Path(__file__).parent / "data" / "selectors.jsonl").read_text().splitlines()]


def cases(rule: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case["rule"] == rule]


def node_of(case: dict[str, Any]) -> tuple[dict[str, str], str]:
    node = codec.convert(case["node"], Node)
    return node.metadata.labels, node.metadata.name


def lazy_result(selector: node_selectors.AnyTerm | None, matched: bool) -> dict[str, Any]:
    error = selector.error if selector and not matched else None
    return {"matches": matched, "err": error} if error else {"matches": matched}


@pytest.mark.parametrize("case", cases("selector"))
def test_label_selectors(case: dict[str, Any]) -> None:
    written = case["labelSelector"]
    try:
        selector = selectors.from_label_selector(None if written is None else codec.convert(written, LabelSelector))
        result: dict[str, Any] = {"matches": selector.matches(case["labels"]), "empty": selector.empty}
    except InputError as error:
        result = {"err": str(error)}
    assert result == case["expected"]


@pytest.mark.parametrize("case", cases("nodeselector"))
def test_strict_node_selectors(case: dict[str, Any]) -> None:
    try:
        selector = node_selectors.strict(codec.convert(case["nodeSelector"], NodeSelector))
        result: dict[str, Any] = {"matches": selector.matches(*node_of(case))}
    except InputError as error:
        result = {"err": str(error)}
    assert result == case["expected"]


@pytest.mark.parametrize("case", cases("lazynodeselector"))
def test_lazy_node_selectors(case: dict[str, Any]) -> None:
    selector = node_selectors.lazy(codec.convert(case["nodeSelector"], NodeSelector))
    assert lazy_result(selector, selector.matches(*node_of(case))) == case["expected"]


@pytest.mark.parametrize("case", cases("required"))
def test_required_node_affinity(case: dict[str, Any]) -> None:
    required = node_selectors.required(codec.convert(case["pod"], Pod))
    labels, name = node_of(case)
    relevant = required.node_selector if required.labels.matches(labels) else None
    assert lazy_result(relevant, required.matches(labels, name)) == case["expected"]


@pytest.mark.parametrize("case", cases("preferred"))
def test_preferred_node_affinity(case: dict[str, Any]) -> None:
    try:
        terms = node_selectors.preferred(codec.convert(case["terms"], tuple[PreferredSchedulingTerm, ...]))
        result: dict[str, Any] = {"score": terms.score(*node_of(case))}
    except InputError as error:
        result = {"err": str(error)}
    assert result == case["expected"]


@pytest.mark.parametrize("case", cases("untolerated"))
def test_untolerated_taints(case: dict[str, Any]) -> None:
    taint = tolerations.find_untolerated_taint(
        codec.convert(case["taints"], tuple[Taint, ...]), codec.convert(case["tolerations"], tuple[Toleration, ...])
    )
    expected = case["expected"]["taint"]
    assert taint == (None if expected is None else codec.convert(expected, Taint))
