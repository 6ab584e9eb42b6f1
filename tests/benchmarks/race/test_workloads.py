# SPDX-License-Identifier: Apache-2.0
"""Pods and groups that are raced."""

from __future__ import annotations

from benchmarks.race.workloads import GANG, GANG_SIZE, WORKLOADS


def test_every_gang_has_exactly_its_members() -> None:
    gang, pods = WORKLOADS[GANG], 2 * GANG_SIZE + 5
    members = [gang.pod(index)["spec"]["schedulingGroup"]["podGroupName"] for index in range(pods)]
    counts = {
        group["metadata"]["name"]: group["spec"]["schedulingPolicy"]["gang"]["minCount"] for group in gang.groups(pods)
    }
    assert counts == {name: members.count(name) for name in members}
