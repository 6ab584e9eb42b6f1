# SPDX-License-Identifier: Apache-2.0
"""One real control plane of a version for all end-to-end tests; each test finds it empty and leaves it to be emptied.

`plane` is shared; tests that break a control plane make one of their own with `new_plane`. Modules with
`pytestmark = EACH_VERSION` run on the control plane of every version, others on that of the default version.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from tests.e2e.cleaning import empty

from steersman.testing.control_plane import Binaries, ClientCommand, ControlPlane, KubeClient, kubectl_command
from steersman.testing.control_plane.binaries import DEFAULT


@pytest.fixture(scope="session", autouse=True)
def orderly_end() -> None:
    """SIGTERM ends the run as Ctrl-C does: the processes that tests started are stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    return Binaries.find()


@pytest.fixture(scope="session")
def planes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], ControlPlane]]:
    """The shared control plane of a version, started at the first call."""
    with ExitStack() as stack:

        @cache
        def start(version: str) -> ControlPlane:
            folder = tmp_path_factory.mktemp(f"plane-{version}")
            return stack.enter_context(ControlPlane(Binaries.find(version), folder))

        yield start


@pytest.fixture(scope="module")
def version() -> str:
    """Kubernetes version of the shared control plane; `EACH_VERSION` sets it."""
    return DEFAULT


@pytest.fixture(scope="module")
def shared_plane(planes: Callable[[str], ControlPlane], version: str) -> ControlPlane:
    return planes(version)


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
