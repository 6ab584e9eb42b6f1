# SPDX-License-Identifier: Apache-2.0
"""The versions of documents have one slash, and schemas accept the former versions with two."""

from __future__ import annotations

import pytest

from steersman.base import document_versions
from steersman.base.document_versions import PLAN_VERSION, former_version, version_schema

VERSIONS = [text for name, text in vars(document_versions).items() if name.endswith("_VERSION")]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_is_a_group_and_a_number(version: str) -> None:
    assert version.count("/") == 1


def test_the_schema_of_an_answer_accepts_the_former_version() -> None:
    assert former_version(PLAN_VERSION) == "steersman.dev/plan/v1"
    assert version_schema(PLAN_VERSION) == {"enum": ["plan.steersman.dev/v1", "steersman.dev/plan/v1"]}
