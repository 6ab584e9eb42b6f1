# SPDX-License-Identifier: Apache-2.0
"""With DRAFractionalCapacityRange, requests are rounded up in thousandths instead of whole units."""

from __future__ import annotations

import pytest

from steersman.api import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    Device,
    DeviceCapacity,
)
from steersman.scheduler.plugins.dynamic_resources.allocation.limits import AllocationFault
from steersman.scheduler.plugins.dynamic_resources.allocation.suitability import consumed_capacity, has_capacity


def device(least: str, step: str, most: str) -> Device:
    valid = CapacityRequestPolicyRange(min=least, max=most, step=step)
    return Device(
        "d", capacity={"cores": DeviceCapacity(most, CapacityRequestPolicy(default=least, valid_range=valid))}
    )


@pytest.mark.parametrize(
    ("asked", "taken"), [("100m", "500m"), ("600m", "750m"), ("750m", "750m"), ("900m", "1"), ("1", "1")]
)
def test_a_request_is_rounded_up_to_the_next_fractional_step(asked: str, taken: str) -> None:
    wanted = CapacityRequirements({"cores": asked})
    assert consumed_capacity(device("500m", "250m", "2"), wanted, fractional=True) == {"cores": taken}
    assert has_capacity(device("500m", "250m", "2"), wanted, {}, {}, fractional=True)


def test_a_request_finer_than_a_thousandth_ends_the_allocation() -> None:
    with pytest.raises(AllocationFault, match="cannot be represented"):
        has_capacity(device("500m", "250m", "2"), CapacityRequirements({"cores": "600001u"}), {}, {}, fractional=True)
