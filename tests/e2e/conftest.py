# SPDX-License-Identifier: Apache-2.0
"""One real control plane for all end-to-end tests; each test finds it empty and leaves it to be emptied.

`plane` is shared; tests that break a control plane make one of their own with `new_plane`.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.cleaning import empty

from steersman.testing.control_plane import Binaries, ClientCommand, ControlPlane, KubeClient, kubectl_command


@pytest.fixture(scope="session", autouse=True)
def orderly_end() -> None:
    """SIGTERM ends the run as Ctrl-C does: the processes that tests started are stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    return Binaries.find()


@pytest.fixture(scope="session")
def shared_plane(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(binaries, tmp_path_factory.mktemp("plane")) as plane:
        yield plane


@pytest.fixture
def plane(shared_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The shared control plane without any object of earlier tests. Start schedulers inside of the test."""
    yield shared_plane
    empty(shared_plane.admin)


@pytest.fixture
def admin(plane: ControlPlane) -> KubeClient:
    return plane.admin


@pytest.fixture
def kubectl(plane: ControlPlane) -> ClientCommand:
    """kubectl as the administrator of the shared control plane: `kubectl("get", "pods")` is what it prints."""
    return kubectl_command(plane.binaries, plane.kubeconfig())


@pytest.fixture
def new_plane(binaries: Binaries, tmp_path: Path) -> Iterator[Callable[..., ControlPlane]]:
    """Starts control planes for this test only; takes the keyword arguments of `ControlPlane`."""
    with ExitStack() as stack:

        def start(**options: object) -> ControlPlane:
            folder = tmp_path / f"plane-{len(list(tmp_path.iterdir()))}"
            return stack.enter_context(ControlPlane(binaries, folder, **options))  # type: ignore[arg-type]

        yield start
