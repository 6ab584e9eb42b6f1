# SPDX-License-Identifier: Apache-2.0
"""Extenders have a say in explanations when they are asked; without that a note says which were left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.commands import steersman
from tests.cli.files import write
from tests.cli.serving import serving
from tests.client.api_server import ApiServer
from tests.explain.rejections import node
from tests.simulation.test_extenders_in_simulations import LicenceServer, configuration, served

from steersman import Simulation
from steersman.explain import PodState, explain_pod
from steersman.scheduler.diagnosis import CauseCode
from steersman.testing import make_pod


@pytest.fixture
def licences() -> LicenceServer:
    return LicenceServer()


@pytest.fixture
def address(licences: LicenceServer) -> Iterator[str]:
    with served(licences) as address:
        yield address


def test_a_node_that_an_extender_takes_away_has_its_reason(address: str) -> None:
    nodes = [node("n1").label("maintenance", "true").obj(), node("n2").taint("dedicated", "gpu").obj()]
    simulation = Simulation.load(*nodes, make_pod("web").obj(), config=configuration(address), extenders=True)
    simulation.run()
    answer = explain_pod(simulation, "web")
    assert (answer.state, answer.cause.groups[0].code) == (PodState.PENDING, CauseCode.EXTENDER)
    assert "Extender: in maintenance" in answer.cause.sentence
    assert {group.plugin for group in answer.cause.groups} == {"Extender", "TaintToleration"}


def test_an_extender_chooses_the_node_of_a_pod_that_fits(address: str) -> None:
    nodes = [node("n1").label("licences", "0").obj(), node("n2").label("licences", "9").obj()]
    simulation = Simulation.load(*nodes, make_pod("web").obj(), config=configuration(address), extenders=True)
    answer = explain_pod(simulation, "web")
    assert (answer.state, answer.explanation.node) == (PodState.FITS, "n2")


def test_an_extender_that_fails_is_an_error_of_the_pod(address: str, licences: LicenceServer) -> None:
    licences.fails = True
    simulation = Simulation.load(node("n1").obj(), make_pod("web").obj(), config=configuration(address), extenders=True)
    answer = explain_pod(simulation, "web")
    assert answer.state is PodState.ERROR


def test_a_live_cluster_is_explained_with_and_without_its_extenders(
    address: str, licences: LicenceServer, tmp_path: Path
) -> None:
    server = ApiServer()
    server.store.create(node("n1").label("maintenance", "true").obj())
    server.store.create(make_pod("web").obj())
    config = write(tmp_path / "sched.json", json.dumps(configuration(address)))
    with serving(server) as master:
        common = ("explain", "web", "-n", "default", "--master", master, "--config", config, "-o", "json", "--no-fixes")
        without, asked = steersman(*common), steersman(*common, "--extenders")
    assert without.exit_code == 0
    (note,) = json.loads(without.stdout)["notes"]
    assert note.startswith(f"extenders are not called in a simulation: {address}; --extenders ")
    assert json.loads(asked.stdout)["cause"]["code"] == "Extender"
    assert asked.exit_code == 1
    assert "filter" in licences.asked
