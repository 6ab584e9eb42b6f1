# SPDX-License-Identifier: Apache-2.0
"""Whatever an extender answers, the pod is placed, or it fails with a reason; an ignorable extender never makes it fail."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web
from hypothesis import example, given, strategies as st
from tests.equivalence.examples import examples
from tests.extenders.server import serve, world
from tests.hostile.json_values import DEEP, LONG, TEXTS, VALUES, damaged, nearly

from steersman.config import Extender
from steersman.framework.extender import ExtenderError
from steersman.framework.ports import REASON_ERROR
from steersman.kube.client.extenders import priorities
from steersman.testing import make_pod

NODES = st.lists(st.sampled_from(["n1", "n2", "nowhere", ""]), max_size=3)
META = st.fixed_dictionaries({}, optional={"metadata": st.one_of(VALUES, nearly(["name"], TEXTS))})
FILTERED: st.SearchStrategy[Any] = st.one_of(
    nearly(["NodeNames", "Nodes", "FailedNodes", "FailedAndUnresolvableNodes", "Error"]),
    st.fixed_dictionaries(
        {"NodeNames": NODES},
        optional={
            "FailedNodes": st.dictionaries(st.sampled_from(["n1", "n2", "ghost"]), TEXTS),
            "FailedAndUnresolvableNodes": st.dictionaries(st.sampled_from(["n1", "n2", "ghost"]), TEXTS),
        },
    ),
    st.fixed_dictionaries({"Nodes": nearly(["items"], st.lists(META, max_size=3))}),
    VALUES,
)
SCORED: st.SearchStrategy[Any] = st.one_of(st.lists(nearly(["Host", "Score"]), max_size=4), VALUES)

DEEP_ANSWER = f'{{"NodeNames": {DEEP}}}'.encode()
LONG_SCORE = f'[{{"Host": "n1", "Score": {LONG}}}]'.encode()


def extender(url: str, ignorable: bool) -> Extender:
    return Extender(
        url_prefix=url,
        filter_verb="filter",
        prioritize_verb="prioritize",
        weight=1,
        node_cache_capable=True,
        ignorable=ignorable,
    )


async def placed(filtered: bytes, scored: bytes, ignorable: bool) -> tuple[str, str]:
    """The node that the pod got, and the reason why it got none."""

    def answering(body: bytes) -> Any:
        return lambda _: web.Response(body=body, content_type="application/json")

    async with (
        serve(filter=answering(filtered), prioritize=answering(scored)) as url,
        world(extender(url, ignorable), nodes=("n1", "n2")) as cluster,
    ):
        node = await cluster.place(make_pod("a"))
        cluster.scheduler.cache.validate_state()
        return node, cluster.writer.failures[0].reason if cluster.writer.failures else ""


@examples(40)
@given(damaged(FILTERED), damaged(SCORED), st.booleans())
@example(b'{"NodeNames": ["n1\xff"]}', b"[]", False)
@example(b'{"NodeNames": ["n1"], "FailedNodes": {"n2": "\xff\xfe"}}', b"[]", False)
@example(DEEP_ANSWER, b"[]", False)
@example(DEEP_ANSWER, b"[]", True)
@example(b"<html>", b"<html>", True)
@example(b'{"NodeNames": ["n1", "n1"]}', LONG_SCORE, False)
@example(b'{"NodeNames": ["n1", "n2"]}', b'[{"Host": "n1", "Score": 9223372036854775807}]', False)
@example(b'{"FailedNodes": {"ghost": "x"}, "FailedAndUnresolvableNodes": {"n1": "y"}}', b"[]", False)
@example(b'{"Nodes": {"items": [null, {"metadata": null}]}}', b"[null]", False)
def test_a_pod_is_placed_or_fails_with_a_reason(filtered: bytes, scored: bytes, ignorable: bool) -> None:
    node, reason = asyncio.run(placed(filtered, scored, ignorable))
    assert bool(node) != bool(reason)
    assert node in ("", "n1", "n2")
    if ignorable:
        assert reason != REASON_ERROR


def scored_by(answer: bytes) -> dict[str, int] | str:
    """The priorities, or what is wrong with them."""
    try:
        return priorities(answer)
    except ExtenderError as refused:
        return str(refused)


@given(damaged(SCORED))
@example(LONG_SCORE)
@example(b'[{"Host": "n1", "Score": 1e400}]')
@example(b'[{"Host": "n1", "Score": NaN}]')
def test_priorities_are_integers_of_64_bits_or_an_error(answer: bytes) -> None:
    found = scored_by(answer)
    if isinstance(found, str):
        assert found.startswith("cannot read the extender's answer: ")
    else:
        assert all(isinstance(name, str) and isinstance(score, int) for name, score in found.items())


@pytest.mark.parametrize(("answer", "scores"), [(b'[{"host":"a","score":3},{"HOST":"a","Score":4}]', {"a": 7})])
def test_a_node_that_is_scored_twice_has_the_sum(answer: bytes, scores: dict[str, int]) -> None:
    assert priorities(answer) == scores
