# SPDX-License-Identifier: Apache-2.0
"""Gangs that must be in one rack or row."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import Both
from tests.e2e.groups.groups import create_in_order, member, run_groups, small, wait_for_decisions

from steersman.testing import make_pod_group
from steersman.testing.control_plane import ControlPlane, KubeClient, manifest

RACK = "example.com/rack"
#: Of the nodes for the second gang. kube-scheduler reports any domain as the first one, so all have to fail alike.
ROW = "example.com/row"


def prepare(admin: KubeClient) -> None:
    """The second rack is large enough for the one gang, and no row for the other, though two nodes are."""
    racks = {"r1-a": "1", "r1-b": "2", "r2-a": "2", "r2-b": "2"}
    admin.create_nodes(*(manifest(small(name, cpu).label(RACK, name[:2])) for name, cpu in racks.items()))
    admin.create_nodes(*(manifest(small(name, "3").label(ROW, name[:2])) for name in ("r3-a", "r4-b")))


def arrive(admin: KubeClient) -> None:
    create_in_order(
        admin,
        [
            manifest(make_pod_group("fits").gang(2).topology(RACK)),
            manifest(member("fits", "a", "r1-a", "r2-a", cpu="2")),
            manifest(member("fits", "b", "r1-b", "r2-b", cpu="2")),
            manifest(make_pod_group("torn").gang(2).topology(ROW)),
            manifest(member("torn", "a", "r3-a", "r4-b", cpu="3")),
            manifest(member("torn", "b", "r3-a", "r4-b", cpu="3")),
        ],
    )
    wait_for_decisions(admin, "fits-b", "torn-b")


@pytest.fixture(scope="module")
def both(shared_plane: ControlPlane) -> Both:
    return run_groups(shared_plane, prepare, arrive)


def test_everything_written_is_what_kube_scheduler_writes(both: Both) -> None:
    assert both.steersman == both.upstream


def test_a_gang_is_bound_in_the_rack_that_has_room(both: Both) -> None:
    assert [both.steersman.node(f"fits-{x}") for x in "ab"] == ["r2-a", "r2-b"]
    assert [both.steersman.node(f"torn-{x}") for x in "ab"] == ["", ""]
