# SPDX-License-Identifier: Apache-2.0
"""No task of a test outlives it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.binding.cluster import Cluster


@pytest.fixture(autouse=True)
def closed_clusters() -> Iterator[None]:
    yield
    while Cluster.opened:
        Cluster.opened.pop().tasks.close()
