# SPDX-License-Identifier: Apache-2.0
"""A control plane v1.37 whose API server serves pod groups, for both schedulers with the same feature gates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.groups.groups import GATES

from steersman.testing.control_plane import Binaries, ControlPlane


@pytest.fixture(scope="session")
def groups_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    served = "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true"
    folder = tmp_path_factory.mktemp("groups")
    with ControlPlane(Binaries.find("1.37"), folder, extra_flags=(GATES, served)) as plane:
        yield plane


@pytest.fixture(scope="module")
def shared_plane(groups_plane: ControlPlane) -> ControlPlane:
    return groups_plane
