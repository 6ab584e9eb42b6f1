# SPDX-License-Identifier: Apache-2.0
"""Policies of namespaces and the checks of their levels, compared with recorded answers of upstream's library."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from steersman.cluster.store.admission.pod_security import (
    PREFIX,
    LevelVersion,
    Policy,
    details,
    policy_of,
    violations_of,
)

RECORDED = Path(__file__).resolve().parents[2] / "golden/pod_security/violations-1.36.jsonl.gz"


def test_pods_violate_a_level_as_upstream_says() -> None:
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        cases = list(map(json.loads, lines))
    assert len(cases) >= 400
    for case in cases:
        policy = LevelVersion(*case["policy"].split(":"))
        found = violations_of(policy, case["pod"]["metadata"], case["pod"]["spec"])
        assert details(found) == case["violations"], case


def labels(**values: str) -> dict[str, str]:
    return {PREFIX + name.replace("_", "-"): value for name, value in values.items()}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"app": "a"}, Policy()),
        (labels(enforce="baseline"), Policy(LevelVersion("baseline"), LevelVersion("baseline"))),
        (
            labels(enforce="baseline", enforce_version="v1.20"),
            Policy(LevelVersion("baseline", "v1.20"), LevelVersion("baseline", "v1.20")),
        ),
        (labels(enforce="restricted", warn="privileged"), Policy(LevelVersion("restricted"), LevelVersion())),
        (labels(warn="restricted", warn_version="v1.30"), Policy(warn=LevelVersion("restricted", "v1.30"))),
    ],
)
def test_a_namespace_warns_about_what_it_enforces_unless_it_says_otherwise(
    given: dict[str, str], expected: Policy
) -> None:
    assert policy_of(given) == expected


def test_an_invalid_level_is_enforced_as_restricted_and_an_invalid_version_is_the_latest() -> None:
    policy = policy_of(labels(enforce="strict", enforce_version="1.30", warn="loud"))
    assert policy == Policy(LevelVersion("restricted"), LevelVersion())
