# SPDX-License-Identifier: Apache-2.0
"""Any tenant may create pods with thousands of scheduling terms: the work that they cause grows with their size, not with its
square.

Work is counted in calls, so that the result does not depend on the machine. `tests/e2e/test_large_pods.py` measures the time.
"""

from __future__ import annotations

import pytest
from tests.hostile.call_counts import calls_during
from tests.hostile.large_pod_cluster import add_large_pod, cluster, schedule_plain_pod
from tests.hostile.large_pods import KINDS

SMALL, LARGE = 8_000, 32_000


def work(kind: str, size: int, priority: int) -> int:
    harness = cluster(6)
    add_large_pod(harness, kind, size, priority=priority)
    return calls_during(lambda: schedule_plain_pod(harness, "plain"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_work_for_a_pod_grows_no_faster_than_its_size(kind: str) -> None:
    assert work(kind, LARGE, priority=10) < 1.3 * LARGE / SMALL * work(kind, SMALL, priority=10)
