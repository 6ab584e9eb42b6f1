# SPDX-License-Identifier: Apache-2.0
"""The package exports what it says it exports."""

from __future__ import annotations

import steersman.api.cel
import steersman.api.cel.regex


def test_every_exported_name_exists_once() -> None:
    for package in (steersman.api.cel, steersman.api.cel.regex):
        assert len(set(package.__all__)) == len(package.__all__)
        assert all(hasattr(package, name) for name in package.__all__)
