# SPDX-License-Identifier: Apache-2.0
"""What the lines of a watch tell about the moments at which pods appeared and got their nodes."""

from __future__ import annotations

import msgspec
from benchmarks.race.observing import PodMoments


def line(name: str, version: int, node: str = "") -> bytes:
    spec = {"nodeName": node} if node else {}
    metadata = {"name": name, "resourceVersion": str(version)}
    return msgspec.json.encode({"type": "MODIFIED", "object": {"metadata": metadata, "spec": spec}})


def test_a_pod_appears_with_its_first_line_and_is_bound_with_the_first_that_shows_a_node() -> None:
    moments = PodMoments()
    for number, node in enumerate(("", "", "n1", "n1"), start=1):
        moments.see(line("web", number, node), float(number))
    assert (moments.appeared, moments.bound, moments.bindings) == ({"web": 1.0}, {"web": 3.0}, [3.0])


def test_bindings_are_in_the_order_in_which_they_were_seen() -> None:
    moments = PodMoments()
    moments.see(line("b", 1, "n1"), 1.0)
    moments.see(line("a", 2, "n1"), 2.0)
    assert list(moments.bound) == ["b", "a"]
    assert moments.bindings == [1.0, 2.0]


def test_the_next_watch_can_go_on_where_a_line_ended() -> None:
    assert PodMoments().see(line("web", 41), 1.0) == "41"
