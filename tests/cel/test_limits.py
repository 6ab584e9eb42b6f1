# SPDX-License-Identifier: Apache-2.0
"""What upstream's cost does not cover is limited all the same, and so is the time that an evaluation takes."""

from __future__ import annotations

import contextlib
import itertools
import time

import pytest
from tests.cel.answers import DEVICE, failure, holds, rejection

from steersman.api.cel import CelError, EvaluationTimeout, compile_device_selector, meter
from steersman.api.cel.expression_cache import ExpressionCache


def bound(first: str, step: str, times: int, result: str) -> str:
    """`first`, with the step taken so often, in `result`; both call it `x`."""
    return f"cel.bind(x, {first}, {f'cel.bind(x, {step}, ' * times}{result}{')' * (times + 1)}"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            bound("[0]", "x + x", 60, "x.size() == 1"),
            "a list of 262144 elements would be made, at most 200000 are allowed",
        ),
        (bound("'a'", "x + x", 60, "x.size() == 1"), "a text of 262144 characters would be made"),
        (bound("b'a'", "x + x", 60, "x.size() == 1"), "a sequence of 262144 bytes would be made"),
        (bound("'aaaaaaaaaa'", "x.replace('a', x)", 9, "x == ''"), "a text of 100000000 characters would be made"),
        (bound("'aaaaaaaaaa'", "'%s%s%s'.format([x, x, x])", 20, "x == ''"), "characters would be made"),
        (bound("'aaaaaaaaaa'", "[x, x, x].join(x)", 20, "x == ''"), "characters would be made"),
        ("lists.range(200001).size() == 1", "a list of 200001 elements would be made"),
        ("'%.65000e%.65000e%.65000e%.65000e'.format([1.0, 1.0, 1.0, 1.0]) == ''", "characters would be made"),
    ],
)
def test_no_value_becomes_too_large(expression: str, message: str) -> None:
    assert message in failure(expression)


@pytest.mark.parametrize(
    "result",
    [
        "x == x",
        "x in [x]",
        "'%s'.format([x]) == ''",
        "dyn([x]).sum() == x",
        "[x].indexOf(x) == 1",
        "dyn(x).flatten(60) == []",
    ],
)
def test_lists_that_contain_themselves_over_and_over_are_not_followed_to_the_end(
    result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What ends them is the same after a fiftieth of the work that is allowed, which would take half a minute for all of them.
    monkeypatch.setattr(meter, "MAX_WORK", meter.MAX_WORK // 50)
    assert failure(bound("[0]", "[x, x]", 60, result)).startswith("operation cancelled: ")


def test_an_error_of_this_kind_is_not_absorbed() -> None:
    assert "would be made" in failure(bound("[0]", "x + x", 60, "x.size() == 1") + " || true")


def test_an_evaluation_that_takes_too_long_by_the_clock_is_cut() -> None:
    selector = compile_device_selector("lists.range(100).all(a, lists.range(100).all(b, a + b >= 0))")
    ticks = itertools.count()
    with pytest.raises(EvaluationTimeout, match="evaluation took longer than 100 ms"):
        selector.matches(DEVICE, lambda: next(ticks) * 0.02)
    assert selector.matches(DEVICE)


def test_rounds_that_cost_nothing_look_at_the_clock_as_well() -> None:
    nested = "lists.range(50000).filter(a, lists.range(50000).filter(b, false).size() > 0).size() == 1"
    ticks = itertools.count()
    with pytest.raises(EvaluationTimeout):
        compile_device_selector(nested).matches(DEVICE, lambda: next(ticks) * 0.02)


def test_without_a_clock_the_work_is_what_ends_an_evaluation() -> None:
    nested = "lists.range(50000).filter(a, lists.range(50000).filter(b, false).size() > 0).size() == 1"
    assert failure(nested) in (
        "operation cancelled: more than 10000000 elements and characters were touched",
        "operation cancelled: actual cost limit exceeded",
    )


@pytest.mark.parametrize(
    "expression",
    [
        f"isQuantity('{'0' * 9000}x')",
        f"double('{'1' * 9000}x') > 0.0 || true",
        f"duration('{'1' * 9000}' + 'x') > duration('1s') || true",
        f"isIP('{'1.' * 4500}')",
        f"isIP('{'1:' * 4500}')",
        f"isSemver('1.2.3-{'a.' * 4000}')",
        f"isURL('http://{'a' * 9000}')",
        bound("'aaaaaaaaaa'", "x + x", 14, "x.lastIndexOf('b' + x.substring(80000)) == 1"),
    ],
)
def test_long_texts_are_read_in_time_in_proportion_to_their_length(expression: str) -> None:
    started = time.monotonic()
    selector = compile_device_selector(expression)
    with contextlib.suppress(CelError):
        assert selector.error or selector.matches(DEVICE) in (True, False)
    assert time.monotonic() - started < 5.0


def test_macros_that_repeat_what_they_are_called_on_end_somewhere() -> None:
    assert "more than 30000 nodes" in rejection("optional.of(1)" + ".optMap(x, x)" * 40 + ".hasValue()")
    assert holds("optional.of(1)" + ".optMap(x, x)" * 5 + ".hasValue()")


def test_compiled_expressions_are_kept_by_their_length() -> None:
    cache: ExpressionCache[int] = ExpressionCache(10)
    for number, text in enumerate(("aaaa", "bbbb", "cccc")):
        cache.put(text, False, number)
    assert [cache.get(text, False) for text in ("aaaa", "bbbb", "cccc")] == [None, 1, 2]
    cache.put("d" * 100, True, 3)
    assert len(cache) == 1
    assert cache.get("d" * 100, True) == 3
    assert cache.get("d" * 100, False) is None
