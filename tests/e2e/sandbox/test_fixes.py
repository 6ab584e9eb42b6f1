# SPDX-License-Identifier: Apache-2.0
"""Fixes as a user has them from the command line: patches applied to the files, and commands typed at a cluster."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.sandbox.conftest import Kubectl
from tests.fixes.applying import applied
from tests.fixes.documents import Document, Documents
from tests.fixes.pending_pods import POD, pending_because

SECONDS = 300
WANTED = {
    "cpu": "LowerRequests",
    "device count": "LowerDeviceCount",
    "fragments": "MovePods",
    "host port": "ChangeHostPort",
    "pods per node": "RaisePriority",
    "quota": "RaiseQuota",
    "zone of a class": "ChangeStorageClass",
}
"""A reason to be pending, and a kind of fix for it."""


def simulated(file: Path, *options: str) -> Document:
    """What `steersman simulate` prints as JSON."""
    command = [sys.executable, "-m", "steersman", "simulate", "-f", str(file), "-o", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    document: Document = json.loads(done.stdout)
    return document


def written(file: Path, documents: Documents) -> Path:
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    return file


@pytest.mark.parametrize(("reason", "kind"), WANTED.items())
def test_a_fix_helps_in_the_files_and_in_the_cluster(
    reason: str, kind: str, start_sandbox: Callable[..., Kubectl], tmp_path: Path
) -> None:
    case = pending_because([reason], random.Random(7))
    file = written(tmp_path / "cluster.json", case.documents)
    (explained,) = simulated(file, "--explain", POD, "--fixes")["explanations"]
    fix = next(fix for fix in explained["fixes"] if fix["kind"] == kind)

    patched = simulated(written(tmp_path / "patched.json", applied(case.documents, fix)))
    assert [each["node"] for each in patched["placements"] if each["pod"] == POD and "at" in each]

    is_refused = reason == "quota"  # then the pod, which is the last document, is not in the cluster
    kubectl = start_sandbox("-f", str(written(file, case.documents[:-1] if is_refused else case.documents)))
    for command in fix["commands"]:
        kubectl.shell(command)
    kubectl("wait", "--for=condition=PodScheduled", "pod/web", f"--timeout={SECONDS}s")
