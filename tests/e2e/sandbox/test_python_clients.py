# SPDX-License-Identifier: Apache-2.0
"""The official Python client and kr8s on a sandbox: list, watch, create, patch, delete, and an informer with bookmarks.

They are installed beside Steersman (`.venv-clients`), so that what they need does not mix with what Steersman is tested with.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.sandbox_process import SandboxProcess

SCRIPTS = Path(__file__).with_name("clients")
CLIENT_SECONDS = 300.0


@pytest.fixture
def clients_python() -> str:
    found = os.environ.get("CLIENTS_PYTHON", "")
    if not found and os.environ.get("CI") != "true":
        pytest.skip("`make e2e` installs the Python clients and sets CLIENTS_PYTHON")
    return found


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[SandboxProcess]:
    with SandboxProcess(tmp_path, "--nodes", "5") as running:
        yield running


def printed(python: str, script: str, sandbox: SandboxProcess) -> dict[str, Any]:
    done = subprocess.run(
        [python, str(SCRIPTS / script), str(sandbox.kubeconfig)],
        capture_output=True,
        text=True,
        timeout=CLIENT_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def test_the_official_client_follows_a_deployment(clients_python: str, sandbox: SandboxProcess) -> None:
    seen = printed(clients_python, "official_client.py", sandbox)
    assert (seen["nodes"], seen["replicas"], seen["left"]) == (5, 5, 0)
    types = [what for what, _ in seen["events"]]
    assert (types.count("ADDED"), types.count("DELETED")) == (5, 5)
    versions = [version for _, version in seen["events"]]
    assert versions == sorted(set(versions))
    assert seen["bookmarks"] > 0
    refusal = seen["refusal"]
    assert (refusal["code"], refusal["reason"]) == (422, "Invalid")
    assert [(cause["reason"], cause["field"]) for cause in refusal["details"]["causes"]] == [
        ("FieldValueRequired", "spec.containers")
    ]
    assert (seen["idle"], seen["messages"]) == ([0, 0, 0, 0], [""])


def test_kr8s_follows_a_deployment_and_keeps_shelves(clients_python: str, sandbox: SandboxProcess) -> None:
    seen = printed(clients_python, "kr8s_client.py", sandbox)
    assert (seen["pods"], seen["note"], seen["left"]) == (5, "patched", [])
    assert seen["types"].count("ADDED") == 5
    assert (seen["shelf"]["boards"], seen["shelf"]["labels"]) == (4, {"room": "kitchen"})
    assert "spec.boards in body should be greater than or equal to 1" in seen["shelf"]["refusal"]
