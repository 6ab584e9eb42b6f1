# SPDX-License-Identifier: Apache-2.0
"""Full agreement with kube-scheduler on the golden corpus, by both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.conformance.agreement import readable
from steersman.conformance.bundles import run_bundle

VENDORED = Path(__file__).resolve().parents[1] / "golden"

BUNDLES = sorted(VENDORED.glob("*.jsonl.gz"))
#: Those in which no node is looked at, by either engine.
WITHOUT_NODES = ("config.jsonl.gz", "queue.jsonl.gz")


@pytest.mark.parametrize(
    ("path", "scalar"),
    [
        pytest.param(path, scalar, id=f"{path.name.removesuffix('.jsonl.gz')}-{'scalar' if scalar else 'columnar'}")
        for path in BUNDLES
        for scalar in (False, True)
        if not (scalar and path.name in WITHOUT_NODES)
    ],
)
def test_every_case_agrees_in_every_detail(path: Path, scalar: bool) -> None:
    lines = [line for case in run_bundle(str(path), scalar=scalar) for line in readable(case)]
    assert lines == []


def test_there_are_bundles_of_every_kind() -> None:
    assert {"config", "queue", "misc", "mixed", "dra"} <= {path.name.removesuffix(".jsonl.gz") for path in BUNDLES}
