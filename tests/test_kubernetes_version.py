# SPDX-License-Identifier: Apache-2.0
"""The release of Kubernetes whose decisions are reproduced is written down once, and the tests run against that release."""

from __future__ import annotations

import re

import pytest
from scripts.lockfile import ROOT

from steersman.base.build_info import KUBE_SCHEDULER_VERSION

SOURCE = ROOT / "src" / "steersman"


def test_no_other_module_writes_the_version() -> None:
    literal = f'"{KUBE_SCHEDULER_VERSION}"'
    named = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if literal in path.read_text("utf-8")]
    assert named == ["base/build_info.py"]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("scripts/control_plane/build.sh", r"^version=(\S+)$"),
        ("scripts/control_plane/go.mod", r"^\s*k8s\.io/kubernetes (\S+)"),
    ],
)
def test_the_control_plane_of_the_tests_has_the_version(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == KUBE_SCHEDULER_VERSION, f"change the version in {file}"
