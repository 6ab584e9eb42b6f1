# SPDX-License-Identifier: Apache-2.0
"""Full agreement with kube-scheduler on the golden corpus, by both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.testing.conformance.agreement import readable
from steersman.testing.conformance.bundles import run_bundle

VENDORED = Path(__file__).resolve().parents[2] / "golden"

#: Bundles of v1.36, and in a folder those of later versions.
BUNDLES = sorted((*VENDORED.glob("*.jsonl.gz"), *VENDORED.glob("1.*/*.jsonl.gz")))
#: Bundles that do not depend on the engine.
WITHOUT_NODES = ("config.jsonl.gz", "config_workload.jsonl.gz", "queue.jsonl.gz")
#: Bundles of searches that stop early, which the plain engine does not have.
SAMPLED = ("sampling.jsonl.gz", "sampling-1.36.jsonl.gz")


@pytest.mark.parametrize(
    ("path", "scalar"),
    [
        pytest.param(
            path,
            scalar,
            id=f"{path.relative_to(VENDORED).as_posix().removesuffix('.jsonl.gz')}-{'scalar' if scalar else 'columnar'}",
        )
        for path in BUNDLES
        for scalar in (False, True)
        if not (scalar and path.name in (*WITHOUT_NODES, *SAMPLED))
    ],
)
def test_every_case_agrees_in_every_detail(path: Path, scalar: bool) -> None:
    lines = [line for case in run_bundle(str(path), scalar=scalar) for line in readable(case)]
    assert lines == []


def test_there_are_bundles_of_every_kind() -> None:
    assert {"config", "queue", "misc", "mixed", "dra"} <= {path.name.removesuffix(".jsonl.gz") for path in BUNDLES}
