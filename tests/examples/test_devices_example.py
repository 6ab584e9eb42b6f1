# SPDX-License-Identifier: Apache-2.0
"""The example with devices does what its text says."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman import Simulation, api
from steersman.simulation import Result

EXAMPLE = Path(__file__).parents[2] / "examples" / "devices"


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return Simulation.load(EXAMPLE / "cluster.yaml", EXAMPLE / "pods.yaml", seed=1)


@pytest.fixture(scope="module")
def result(simulation: Simulation) -> Result:
    return simulation.run()


def devices_of(simulation: Simulation, pod: str) -> list[str]:
    for claim in simulation.cluster.objects(api.ResourceClaim).values():
        if claim.status.allocation is not None and [user.name for user in claim.status.reserved_for] == [pod]:
            return [result.device for result in claim.status.allocation.devices.results]
    return []


def test_fast_cards_are_had_by_claim_and_by_resource(simulation: Simulation, result: Result) -> None:
    assert [result.placements[f"default/{name}"].node for name in ("training", "inference")] == ["big", "big"]
    assert devices_of(simulation, "training") == ["fast-0"]
    assert devices_of(simulation, "inference") == ["fast-1"]


def test_there_is_none_left_for_the_third(result: Result) -> None:
    assert "cannot allocate all claims" in result.placements["default/too-late"].message


def test_the_card_is_split_and_not_had_as_a_whole(simulation: Simulation, result: Result) -> None:
    parts = sorted(device for n in range(3) for device in devices_of(simulation, f"notebook-{n}"))
    assert parts == ["half-0", "half-1"]
    pending = [name for name, placement in result.placements.items() if not placement.node]
    assert len([name for name in pending if "notebook" in name]) == 1
