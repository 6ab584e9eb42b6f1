# SPDX-License-Identifier: Apache-2.0
"""No task of a test outlives it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.kube.observe.measured_cluster import MeasuredCluster


@pytest.fixture
def cluster() -> Iterator[MeasuredCluster]:
    measured = MeasuredCluster()
    yield measured
    measured.tasks.close()
    measured.scheduler.cache.validate_state()
    measured.scheduler.queue.validate_state()
