# SPDX-License-Identifier: Apache-2.0
"""Requests of pods with an in-place resize: container by container up to v1.36, by the totals of the pod since v1.37."""

from __future__ import annotations

from typing import Any

import msgspec

from steersman import api
from steersman.framework import pod_requests

MANIFEST: dict[str, Any] = {
    "metadata": {"name": "p"},
    "spec": {
        "containers": [
            {"name": "a", "resources": {"requests": {"cpu": "1"}}},
            {"name": "b", "resources": {"requests": {"cpu": "3"}}},
        ]
    },
    "status": {
        "containerStatuses": [
            {"name": "a", "allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "2"}}},
            {"name": "b", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}},
        ]
    },
}


def pod(**status: object) -> api.Pod:
    return msgspec.convert({**MANIFEST, "status": {**MANIFEST["status"], **status}}, api.Pod)


def test_the_greatest_total_counts_instead_of_the_sum_of_the_greatest() -> None:
    assert pod_requests(pod())["cpu"] == 2000 + 3000
    assert pod_requests(pod(), by_totals=True)["cpu"] == 1000 + 3000


def test_an_infeasible_resize_leaves_out_the_spec() -> None:
    infeasible = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    assert pod_requests(pod(conditions=infeasible), by_totals=True)["cpu"] == 2000 + 1000


def test_totals_of_the_status_of_the_pod_replace_those_of_its_containers() -> None:
    totals = {"allocatedResources": {"cpu": "5"}, "resources": {"requests": {"cpu": "4"}}}
    assert pod_requests(pod(**totals), by_totals=True)["cpu"] == 5000


def test_requests_that_are_not_resized_are_those_of_the_spec() -> None:
    plain = msgspec.convert({**MANIFEST, "status": {}}, api.Pod)
    assert pod_requests(plain, by_totals=True) == pod_requests(plain) == {"cpu": 4000}
