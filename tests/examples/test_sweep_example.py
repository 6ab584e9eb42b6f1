# SPDX-License-Identifier: Apache-2.0
"""The example of a sweep, with one seed."""

from __future__ import annotations

from pathlib import Path

import msgspec

from steersman.simulation.sweep import load_sweep, run

EXAMPLE = Path(__file__).parents[2] / "examples" / "sweep" / "sweep.yaml"


def test_packing_leaves_more_room_for_large_jobs() -> None:
    sweep = msgspec.structs.replace(load_sweep(EXAMPLE), seeds=1, parameters={"largePerHour": [12]})
    spread, pack = run(sweep, workers=1).rows
    assert (spread["configuration"], pack["configuration"]) == ("spread", "pack")
    assert spread["arrived"] == pack["arrived"]
    assert float(str(pack["waitP99"])) < float(str(spread["waitP99"]))
