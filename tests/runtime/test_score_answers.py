# SPDX-License-Identifier: Apache-2.0
"""A score is an int; everything else ends the cycle."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.runtime.calling import arguments

from steersman.framework.status import Code, CycleAborted, error
from steersman.scheduler.runtime.methods import score_method


def answer_of(answer: object) -> int:
    plugin = SimpleNamespace(score=lambda state, pod, node: answer)
    return score_method(plugin, "P")(*arguments())


@pytest.mark.parametrize("score", [0, 55, 100, -3, 10**30])
def test_an_int_is_taken_as_it_is(score: int) -> None:
    """Bounds are checked after normalisation."""
    assert answer_of(score) == score


@pytest.mark.parametrize("nonsense", [None, 3.5, "10", [1]])
def test_anything_else_is_a_fault_that_names_the_node(nonsense: object) -> None:
    with pytest.raises(CycleAborted) as abort:
        answer_of(nonsense)
    assert abort.value.status.code is Code.ERROR
    assert str(abort.value) == (
        f'running Score plugins: plugin "P" failed with: score() returned {nonsense!r} for node n1, expected an int'
    )


def test_a_status_is_a_fault() -> None:
    with pytest.raises(CycleAborted, match='running Score plugins: plugin "P" failed with: no data'):
        answer_of(error("no data"))


def test_an_exception_is_a_fault() -> None:
    class Broken:
        def score(self, pod: object, node: object) -> int:
            raise ValueError("no price")

    with pytest.raises(CycleAborted, match='running Score plugins: plugin "P" failed with: ValueError: no price'):
        score_method(Broken(), "P")(*arguments())
