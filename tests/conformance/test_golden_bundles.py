# SPDX-License-Identifier: Apache-2.0
"""Full agreement with kube-scheduler on the golden corpus, by both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.conformance.agreement import readable
from steersman.conformance.bundles import run_bundle

VENDORED = Path(__file__).resolve().parents[1] / "golden"

BUNDLES = sorted(VENDORED.glob("*.jsonl.gz"))


@pytest.mark.parametrize("scalar", [False, True], ids=["columnar", "scalar"])
@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_every_case_agrees_in_every_detail(path: Path, scalar: bool) -> None:
    lines = [line for case in run_bundle(str(path), scalar=scalar) for line in readable(case)]
    assert lines == []


def test_there_are_bundles_of_every_kind() -> None:
    assert {"config", "queue", "misc", "mixed", "dra"} <= {path.name.removesuffix(".jsonl.gz") for path in BUNDLES}
