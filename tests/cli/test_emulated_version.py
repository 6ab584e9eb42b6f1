# SPDX-License-Identifier: Apache-2.0
"""`--emulated-version` picks the version of kube-scheduler whose decisions are made."""

from __future__ import annotations

import pytest
from tests.cli.commands import refused, steersman

from steersman import api
from steersman.config import FeatureGates
from steersman.simulation import Simulation
from steersman.testing import Harness, make_node, make_pod


@pytest.mark.parametrize(("version", "first"), [("1.36", "NodeUnschedulable"), ("kube=1.37", "NodeName")])
def test_the_default_profile_is_that_of_the_version(version: str, first: str) -> None:
    shown = steersman("config", "show", "--effective", f"--emulated-version={version}").output
    filters = shown[shown.index("  filter ") :].split()
    assert filters[1] == first


def test_a_version_that_cannot_be_emulated_is_refused_with_what_is_missing() -> None:
    message = refused("simulate", "--example", "quickstart", "--emulated-version=1.38")
    assert "1.38 cannot be emulated: not implemented: GenericWorkload" in message


def test_the_library_takes_the_version_too() -> None:
    harness = Harness(emulated_version="1.37")
    assert harness.scheduler.options.gates == FeatureGates(version="1.37")
    with Simulation.load(make_node("n").obj(), make_pod("p").obj(), emulated_version="1.37") as simulation:
        simulation.run()
        assert simulation.cluster.get(api.Pod, "default/p").spec.node_name == "n"
