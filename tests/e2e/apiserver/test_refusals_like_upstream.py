# SPDX-License-Identifier: Apache-2.0
"""The words for bad objects and updates, as `tests/apiserver` expects them, are those of a real kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.test_built_in_validation import BAD_OBJECTS, BAD_UPDATES

from steersman.testing.control_plane import KubeClient, ServerRefusal


@pytest.mark.parametrize("case", BAD_OBJECTS, ids=[case["refusal"][:60] for case in BAD_OBJECTS])
def test_a_bad_object(admin: KubeClient, case: dict[str, Any]) -> None:
    with pytest.raises(ServerRefusal) as refusal:
        admin.create(case["object"], query={"fieldValidation": "Strict", "dryRun": "All"})
    assert refusal.value.status["message"] == case["refusal"]


@pytest.mark.parametrize("case", BAD_UPDATES, ids=[case["refusal"][:60] for case in BAD_UPDATES])
def test_a_bad_update(admin: KubeClient, case: dict[str, Any]) -> None:
    created = admin.create(case["object"])
    group = created["apiVersion"].rpartition("/")[0]
    kind = f"{group}/{created['kind']}" if group else created["kind"]
    name, namespace = created["metadata"]["name"], created["metadata"].get("namespace", "")
    try:
        with pytest.raises(ServerRefusal) as refusal:
            admin.patch(kind, name, case["patch"], namespace)
    finally:
        admin.raw("DELETE", admin.path(kind, name, namespace), {"gracePeriodSeconds": 0})
    assert refusal.value.status["message"].partition("\n")[0] == case["refusal"]
