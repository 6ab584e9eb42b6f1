# SPDX-License-Identifier: Apache-2.0
"""A real API server with kube-controller-manager for the comparison of controllers; all scenarios run on it at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import pytest
from tests.controllers.comparison.running import Result, Run
from tests.controllers.comparison.scenario import Scenario
from tests.e2e.controllers.real_side import Mirror, RealSide

from steersman.testing.control_plane import Binaries, ControlPlane, KubeControllerManager

AT_ONCE: Final = 12
"""Scenarios that run at the same time. They mostly wait for controllers to come to rest."""
CONTROLLER_FLAGS: Final = (
    # No kubelet sends heartbeats here: the condition of a node is what the scenario says.
    "--node-monitor-grace-period=1h",
    "--node-monitor-period=1s",
    "--terminated-pod-gc-threshold=0",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write down what the real controllers do")


@pytest.fixture(scope="session")
def managed_plane(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """With kube-controller-manager. Service accounts are not asked for: our controllers know none."""
    with (
        ControlPlane(binaries, tmp_path_factory.mktemp("managed")) as plane,
        KubeControllerManager(plane, flags=CONTROLLER_FLAGS),
    ):
        yield plane


@pytest.fixture(scope="session")
def real_results(managed_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Mapping[str, Future[Result]]]:
    """By the name of a scenario what the real controllers make of it: of all scenarios that this session asks for."""
    asked: dict[str, Scenario] = {
        item.callspec.params["scenario"].name: item.callspec.params["scenario"]
        for item in request.session.items
        if hasattr(item, "callspec") and "scenario" in item.callspec.params
    }
    mirror = Mirror(managed_plane)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(Run(found, RealSide(found, mirror)).run) for name, found in asked.items()}
