# SPDX-License-Identifier: Apache-2.0
"""Releases of Kubernetes whose decisions are reproduced are written down once, and the tests run against them."""

from __future__ import annotations

import re

import pytest
from scripts.lockfile import ROOT

from steersman.base.build_info import KUBE_SCHEDULER_RELEASES, KUBE_SCHEDULER_VERSION
from steersman.config import SUPPORTED_VERSIONS

SOURCE = ROOT / "src" / "steersman"


def test_no_other_module_writes_the_version() -> None:
    literal = f'"{KUBE_SCHEDULER_VERSION}"'
    named = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if literal in path.read_text("utf-8")]
    assert named == ["base/build_info.py"]


@pytest.mark.parametrize(("version", "release"), KUBE_SCHEDULER_RELEASES.items())
def test_the_control_plane_of_the_tests_has_the_version(version: str, release: str) -> None:
    file = f"scripts/control_plane/v{version}/go.mod"
    found = re.search(
        r"^\s*(?:require )?k8s\.io/kubernetes (\S+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE
    )
    assert found is not None
    assert found[1] == release, f"change the version in {file}"


def test_every_version_that_can_be_emulated_has_a_release() -> None:
    assert list(KUBE_SCHEDULER_RELEASES) == list(map(str, SUPPORTED_VERSIONS))
