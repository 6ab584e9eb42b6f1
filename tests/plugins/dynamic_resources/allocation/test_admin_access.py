# SPDX-License-Identifier: Apache-2.0
"""Admin access: a device may be looked at while somebody else has it."""

from __future__ import annotations

import pytest
from tests.plugins.dynamic_resources.allocation.supply import allocations, devices

from steersman.scheduler.plugins.dynamic_resources.allocation import AllocationFault, Features
from steersman.testing import make_resource_claim, make_slice

SLICES = [make_slice("n").on_node("n").device("a").device("b")]
WATCHING = make_resource_claim("c").asks("r", "any", admin_access=True)
TAKEN = [make_resource_claim("other").allocated(("r", "gpu.example.com", "n", "a"))]


def test_devices_of_others_may_be_had_as_well() -> None:
    assert devices([WATCHING], SLICES, taken=TAKEN) == ["n/a"]


def test_but_not_twice_by_one_claim() -> None:
    assert devices([WATCHING.asks("s", "any", admin_access=True)], SLICES) == ["n/a", "n/b"]


def test_it_is_written_down() -> None:
    (allocation,) = allocations([WATCHING], SLICES)
    assert [result.admin_access for result in allocation.devices.results] == [True]


def test_without_the_gate_it_is_a_fault() -> None:
    with pytest.raises(AllocationFault, match="admin access is requested, but the feature is disabled"):
        devices([WATCHING], SLICES, features=Features(admin_access=False))
