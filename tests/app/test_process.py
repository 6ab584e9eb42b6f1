# SPDX-License-Identifier: Apache-2.0
"""What a running scheduler asks of the operating system."""

from __future__ import annotations

import pytest

from steersman.app.process import raise_open_files


def test_as_many_files_may_be_open_as_the_operator_allows() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
    try:
        raise_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
