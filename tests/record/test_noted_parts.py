# SPDX-License-Identifier: Apache-2.0
"""Frames of noted stimuli are found by the names of their objects, whoever takes them and whenever."""

from __future__ import annotations

from steersman.record.items import BOUND, TICK, NotedParts
from steersman.record.segments import name_hash


def _note(noted: NotedParts, pod: str) -> None:
    """A stimulus that has begun, about a pod."""
    noted.pods.add(pod)
    noted.parts += [TICK, 1.0, "attempt", 0]


def test_the_name_of_a_stimulus_that_is_not_complete_is_in_the_frame_that_holds_it() -> None:
    noted = NotedParts()
    _note(noted, "default/first")
    noted.complete = len(noted.parts)
    _note(noted, "default/second")  # goes on while the thread takes what is complete

    first = noted.frame()
    assert first is not None
    assert name_hash("pod/default/first") in (first.name_hashes or ())

    noted.complete = len(noted.parts)
    second = noted.frame()
    assert second is not None
    assert name_hash("pod/default/second") in (second.name_hashes or ())


def test_a_node_may_be_named_like_a_stimulus() -> None:
    noted = NotedParts()
    _note(noted, "default/web")
    noted.parts += [BOUND, "default/web", "uid", TICK]
    noted.complete = len(noted.parts)

    frame = noted.frame()
    assert frame is not None
    assert frame.until == 1.0
