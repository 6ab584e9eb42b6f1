# SPDX-License-Identifier: Apache-2.0
"""`kubectl steersman why` with the real kubectl: it finds the plugin on the PATH, and a fix that is printed helps."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.sandbox.conftest import Kubectl

PENDING = 1
POD = """
apiVersion: v1
kind: Pod
metadata: {name: large}
spec:
  containers:
  - {name: app, image: nginx, resources: {requests: {cpu: 100m}}}
"""


@pytest.fixture
def plugin_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of the environment that the tests run in, as `pip install` put them there."""
    programs = Path(sys.executable).parent
    assert (programs / "kubectl-steersman").exists(), "install the package: it has a new program"
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("plugin_on_the_path")
def test_why_is_answered_and_its_first_fix_places_the_pod(start_sandbox: Callable[..., Kubectl]) -> None:
    kubectl = start_sandbox("--nodes", "1")
    kubectl("taint", "nodes", "--all", "dedicated=gpu:NoSchedule")
    kubectl("apply", "-f", "-", stdin=POD)
    kubectl("wait", "--for=condition=PodScheduled=False", "pod/large", "--timeout=120s")
    text = kubectl("steersman", "why", "large", code=PENDING)
    assert "would fit but for the taint dedicated=gpu:NoSchedule" in text
    document = json.loads(kubectl("steersman", "-n", "default", "why", "large", "-o", "json", code=PENDING))
    toleration = next(fix for fix in document["fixes"] if fix["kind"] == "AddToleration")
    for command in toleration["commands"]:
        kubectl.shell(command)
    kubectl("wait", "--for=condition=PodScheduled", "pod/large", "--timeout=120s")
    assert "Fits on" in kubectl("steersman", "why", "large")
