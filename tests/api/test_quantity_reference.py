# SPDX-License-Identifier: Apache-2.0
"""Quantities against the answers of Kubernetes' own implementation, recorded in `data`."""

import json
from pathlib import Path
from typing import Any

import pytest

from steersman.api import quantity
from steersman.api.quantity import Amount
from steersman.base.errors import InputError

DATA = Path(__file__).parent / "data"


def rows(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / file).read_text().splitlines()]


ANSWERS = rows("quantities.jsonl")


def described(amount: Amount) -> dict[str, Any]:
    return {
        "value": quantity.value(amount),
        "milli": quantity.milli_value(amount),
        "canonical": quantity.canonical(amount),
        "format": amount.format.value,
    }


@pytest.mark.parametrize("row", [row for row in ANSWERS if "error" not in row], ids=lambda r: r["text"])
def test_a_text_has_the_value_that_kubernetes_gives_it(row: dict[str, Any]) -> None:
    text = row.pop("text")
    assert described(quantity.parse(text)) == row


@pytest.mark.parametrize("row", [row for row in ANSWERS if "error" in row], ids=lambda r: r["text"])
def test_a_text_is_refused_with_kubernetes_message(row: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        quantity.parse(row["text"])
    assert caught.value.message == row["error"]
    assert caught.value.value == row["text"]


@pytest.mark.parametrize(
    "row", rows("quantity_operations.jsonl"), ids=lambda r: f"{r['left']} {r['operation']} {r['right']}"
)
def test_an_operation_has_the_result_that_kubernetes_gives_it(row: dict[str, Any]) -> None:
    left, right = quantity.parse(row["left"]), quantity.parse(row["right"])
    if row["operation"] == "cmp":
        assert quantity.compare(left, right) == row["result"]
    else:
        operation = quantity.add if row["operation"] == "add" else quantity.sub
        assert described(operation(left, right)) == row["result"]
