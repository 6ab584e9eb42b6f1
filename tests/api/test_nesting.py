# SPDX-License-Identifier: Apache-2.0
"""Text that nests too deeply is cut, and only there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from steersman import api
from steersman.api import codec, nesting
from steersman.api.nesting import MAX_DEPTH, is_deeper_than, pruned
from steersman.base.errors import InputError

_JSON = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[]{}"\\ab\n'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='[{"\\', max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


def _wrapped(text: str, levels: int, opening: str) -> str:
    closing = "]" if opening == "[" else "}"
    return opening * levels + text + closing * levels


def _cut(value: Any, levels: int) -> Any:
    """The slow twin of `pruned`."""
    if not isinstance(value, list | dict):
        return value
    if levels == 0:
        return None
    if isinstance(value, list):
        return [_cut(inner, levels - 1) for inner in value]
    return {name: _cut(inner, levels - 1) for name, inner in value.items()}


@given(_JSON, _JSON, st.integers(MAX_DEPTH - 4, MAX_DEPTH + 4), st.sampled_from(["[", '{"a":', '{"[\\"": ']))
def test_the_text_decodes_to_the_same_as_the_data_cut_at_that_depth(
    inner: Any, beside: Any, depth: int, by: str
) -> None:
    text = f"[{json.dumps(beside)}, {_wrapped(json.dumps(inner), depth, by)}, {json.dumps(beside)}]"
    assert json.loads(pruned(text.encode())) == _cut(json.loads(text), MAX_DEPTH)


def test_text_without_depth_stays_as_it_is() -> None:
    text = json.dumps([[[index]] for index in range(1000)]).encode()
    assert pruned(text) == text


@pytest.mark.parametrize(
    "text", [b"[" * 5000, b"]" * 5000, b'["' + b"[" * 5000, b'["\\', b'["' + b'\\"' * 5000, b"\xff" * 9]
)
def test_what_is_not_json_does_not_become_json(text: bytes) -> None:
    with pytest.raises(InputError):
        codec.plain(text)


def test_parts_of_a_text_are_cut_across_chunks() -> None:
    filler = json.dumps("x" * nesting._CHUNK)
    text = f"[{filler}, {_wrapped(filler, 1000, '[')}, {filler}, 7]"
    assert json.loads(pruned(text.encode()))[3] == 7


@pytest.mark.parametrize(("value", "levels"), [(1, 0), ([], 1), ({"a": 1}, 1), ([[]], 2), ({"a": [1, {"b": ()}]}, 4)])
def test_depth_counts_lists_and_maps(value: Any, levels: int) -> None:
    assert not is_deeper_than(levels, value)
    assert levels == 0 or is_deeper_than(levels - 1, value)


@pytest.mark.parametrize("by", ["[", '{"a":'])
@pytest.mark.parametrize("levels", [300, 1_000, 5_000, 200_000])
def test_an_object_with_deep_nesting_in_an_unread_field_is_read(by: str, levels: int) -> None:
    text = f'{{"metadata": {{"name": "web", "unknown": {_wrapped("1", levels, by)}}}, "spec": {{"nodeName": "n1"}}}}'
    assert codec.decode(text.encode(), api.Pod).spec.node_name == "n1"


@pytest.mark.parametrize("levels", [101, 1_000, 5_000])
def test_parameters_of_a_driver_that_nest_too_deeply_are_an_error_that_names_them(levels: int) -> None:
    parameters = f'{{"a": {_wrapped("", levels, "[")}}}'
    text = f'{{"spec": {{"devices": {{"config": [{{"opaque": {{"driver": "d", "parameters": {parameters}}}}}]}}}}}}'
    with pytest.raises(InputError) as caught:
        codec.decode(text.encode(), api.ResourceClaim)
    assert caught.value.field == "spec.devices.config[0].opaque"
    assert "100 levels" in str(caught.value)


def test_parameters_of_a_hundred_levels_are_kept() -> None:
    deep = _wrapped("", 98, "[")
    text = f'{{"spec": {{"config": [{{"opaque": {{"parameters": {{"a": [{deep}]}}}}}}]}}}}'
    opaque = codec.decode(text.encode(), api.DeviceClass).spec.config[0].opaque
    assert opaque is not None
    assert json.dumps(opaque.parameters) == f'{{"a": [{deep}]}}'
