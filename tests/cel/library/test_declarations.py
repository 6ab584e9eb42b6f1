# SPDX-License-Identifier: Apache-2.0
"""The tables of functions."""

from __future__ import annotations

from steersman.api.cel.environment import FUNCTIONS


def test_overload_ids_are_unique() -> None:
    ids = [overload.id for function in FUNCTIONS.values() for overload in function.overloads]
    assert len(ids) == len(set(ids))


def test_what_the_planner_does_not_compute_is_implemented() -> None:
    planned = {"_&&_", "_||_", "_?_:_", "_==_", "_!=_", "_[_]", "_[?_]", "_?._", "@not_strictly_false", "or", "orValue"}
    missing = {
        function.name
        for function in FUNCTIONS.values()
        if function.singleton is None and any(overload.implementation is None for overload in function.overloads)
    }
    assert missing == planned
