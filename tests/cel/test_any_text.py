# SPDX-License-Identifier: Apache-2.0
"""Whatever is written in a selector, it is compiled or rejected, and evaluated or failed; nothing else is ever raised."""

from __future__ import annotations

import contextlib

from hypothesis import given, strategies as st
from tests.cel.answers import DEVICE, GPU

from steersman.api.cel import CelError, compile_device_selector

PIECES = st.sampled_from(
    [
        *"()[]{}.,-!?:+*/%<>=&|$\\'\"` ",
        *("==", "!=", "&&", "||", "in", "true", "null", "1", "1u", "1.5", "'a'", "b'a'", "x", "if", "has(", "device"),
        *(".all(x, ", ".map(x, ", ".?a", "[?", "cel.bind(x, ", ".size()", ".matches(", "int(", "dyn(", "optional.of("),
        *(f"{GPU}.model", f"{GPU}.index", "quantity('1')", "semver('1.0.0')", "[1, 2]", "{'a': 1}", "timestamp(0)"),
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_nothing_but_an_answer_or_a_told_error(expression: str) -> None:
    selector = compile_device_selector(expression)
    if selector.error is None:
        with contextlib.suppress(CelError):
            assert selector.matches(DEVICE) in (True, False)


@given(st.text(max_size=20))
def test_any_characters_are_read(expression: str) -> None:
    selector = compile_device_selector(expression)
    assert selector.error is None or selector.error
