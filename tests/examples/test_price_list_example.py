# SPDX-License-Identifier: Apache-2.0
"""examples/price_list: a score by a ConfigMap that the plugin reads by itself."""

from __future__ import annotations

from pathlib import Path

from examples.price_list.price_list import PriceList

from steersman import Simulation
from steersman.testing import Harness, make_node, make_pod

FOLDER = Path(__file__).parents[2] / "examples" / "price_list"


def test_prices_count_from_the_next_refresh_on() -> None:
    nodes = [make_node("fast").label("disk", "ssd"), make_node("slow").label("disk", "hdd")]
    harness = Harness(plugins=[PriceList], nodes=nodes)
    assert harness.scores(make_pod("web"))["PriceList"] == {"fast": 0, "slow": 0}
    harness.add(FOLDER / "prices.yaml")
    harness.refresh()
    assert harness.scores(make_pod("web"))["PriceList"] == {"fast": 20, "slow": 90}


def test_the_example_goes_by_its_prices() -> None:
    result = Simulation.load(FOLDER, plugins=[PriceList]).run()
    assert result.placements["default/web"].node == "slow"
