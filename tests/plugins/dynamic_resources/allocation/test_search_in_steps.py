# SPDX-License-Identifier: Apache-2.0
"""A search that pauses finds what one without pauses finds."""

from __future__ import annotations

import itertools
from collections.abc import Generator

import pytest
from hypothesis import given, strategies as st
from tests.plugins.dynamic_resources.allocation.supply import CLASSES, NODE
from tests.plugins.handles import FakeObjects

from steersman.scheduler.plugins.dynamic_resources.allocation import (
    AllocationFault,
    DevicesInUse,
    Features,
    OutOfTime,
    Pace,
    PublishedDevices,
    Supply,
    find_devices,
    find_devices_in_steps,
    prepare,
)
from steersman.scheduler.plugins.dynamic_resources.allocation.search import Found
from steersman.testing import make_resource_claim, make_slice
from steersman.testing.devices import ResourceClaimBuilder, SliceBuilder

SELECTORS = ("true", "device.attributes['gpu.example.com'].m == 1", "device.attributes['gpu.example.com'].m > 5")


@st.composite
def claims(draw: st.DrawFn, name: str) -> ResourceClaimBuilder:
    claim = make_resource_claim(name)
    for index in range(draw(st.integers(1, 3))):
        kind = draw(st.integers(0, 5))
        if kind == 0:
            claim = claim.asks_for_all(f"r{index}", "any", draw(st.sampled_from(SELECTORS)))
        elif kind == 1:
            claim = claim.asks_for_first(f"r{index}", two=("any", 2), one=("other", 1))
        else:
            claim = claim.asks(f"r{index}", "any", draw(st.sampled_from(SELECTORS)), count=draw(st.integers(1, 4)))
    if draw(st.booleans()):
        claim = claim.matching("gpu.example.com/m")
    return claim.distinct("gpu.example.com/n") if draw(st.booleans()) else claim


@st.composite
def slices(draw: st.DrawFn) -> SliceBuilder:
    built = make_slice("s").everywhere()
    for index in range(draw(st.integers(0, 8))):
        built = built.device(f"d{index}", m=draw(st.integers(0, 2)), n=draw(st.integers(0, 3)))
    return built


def outcome(steps: Generator[None, None, Found | None]) -> tuple[object, int]:
    """Devices by claim, or what went wrong; and how often the search paused."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Found | None = end.value
            return found and [[one.device.text for one in each] for each in found], pauses
        except AllocationFault as fault:
            return str(fault), pauses
        pauses += 1


def ticking_pace() -> Pace:
    """Pauses at every look."""
    pace = Pace(itertools.count().__next__)
    pace.resume(0.0)
    return pace


@given(st.tuples(claims("a"), claims("b")), slices())
def test_pauses_change_nothing(
    wanted: tuple[ResourceClaimBuilder, ResourceClaimBuilder], published: SliceBuilder
) -> None:
    node = PublishedDevices(FakeObjects([published.obj()]), partitionable=True).devices_of(NODE.obj())
    classes = {builder.obj().metadata.name: builder.obj() for builder in CLASSES}
    prepared = prepare([claim.obj() for claim in wanted], classes.get, Features())
    plain, _ = outcome(find_devices_in_steps(prepared, node, Supply(DevicesInUse(), Features())))
    sliced, pauses = outcome(find_devices_in_steps(prepared, node, Supply(DevicesInUse(), Features()), ticking_pace()))
    assert sliced == plain
    assert pauses > 0


def test_what_is_taken_during_a_pause_does_not_reach_a_search_that_is_frozen() -> None:
    node = PublishedDevices(FakeObjects([make_slice("s").everywhere().device("d").obj()]), True).devices_of(NODE.obj())
    claim = make_resource_claim("c").asks("r", "any")
    prepared = prepare([claim.obj()], {"any": CLASSES[0].obj()}.get, Features())
    in_use = DevicesInUse()
    supply = Supply(in_use, Features())
    steps = find_devices_in_steps(prepared, node, supply, ticking_pace())
    next(steps)
    supply.freeze()
    taken = claim.allocated(("r", "gpu.example.com", "s", "d")).obj().status.allocation
    assert taken is not None
    in_use.add(taken)
    assert outcome(steps)[0] == [["gpu.example.com/s/d"]]
    assert supply.in_use.version == 0 != in_use.version


def test_only_the_time_in_which_a_search_runs_counts() -> None:
    now = 0.0
    pace = Pace(lambda: now, limit=1.0)
    for _ in range(9):
        pace.resume(0.1)
        assert not pace.is_time_to_pause()
        now += 0.11
        assert pace.is_time_to_pause()
        now += 100.0
    pace.resume(0.1)
    now += 0.11
    with pytest.raises(OutOfTime):
        pace.is_time_to_pause()


def test_without_a_pace_a_search_takes_its_time() -> None:
    built = make_slice("s").everywhere()
    for index in range(8):
        built = built.device(f"d{index}")
    node = PublishedDevices(FakeObjects([built.obj()]), True).devices_of(NODE.obj())
    claim = make_resource_claim("c").asks("r", "any", count=4).asks("never", "any", "false")
    prepared = prepare([claim.obj()], {"any": CLASSES[0].obj()}.get, Features())
    assert find_devices(prepared, node, Supply(DevicesInUse(), Features())) is None
