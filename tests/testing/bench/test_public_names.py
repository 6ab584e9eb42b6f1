# SPDX-License-Identifier: Apache-2.0
"""The public names of the package."""

from __future__ import annotations

from steersman.testing import bench as perf


def test_every_public_name_exists() -> None:
    assert [name for name in perf.__all__ if not hasattr(perf, name)] == []
