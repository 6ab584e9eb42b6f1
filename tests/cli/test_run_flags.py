# SPDX-License-Identifier: Apache-2.0
"""Every flag that kube-scheduler v1.36.4 names in its help is known, supported or not."""

from __future__ import annotations

from pathlib import Path

from steersman.cli.run import run

UPSTREAM = Path(__file__).parent / "data" / "kube_scheduler_flags.txt"


def test_no_flag_of_upstream_is_unknown() -> None:
    known = {name for parameter in run.params for name in parameter.opts}
    assert set(UPSTREAM.read_text().split()) - known == {"--help"}
