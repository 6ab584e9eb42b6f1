# SPDX-License-Identifier: Apache-2.0
"""The package's list of public names is true."""

from __future__ import annotations

from steersman.cluster import store as embedded


def test_every_public_name_exists_once() -> None:
    assert all(hasattr(embedded, name) for name in embedded.__all__)
    assert len(set(embedded.__all__)) == len(embedded.__all__)
