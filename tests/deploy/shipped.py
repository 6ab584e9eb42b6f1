# SPDX-License-Identifier: Apache-2.0
"""The shipped objects: of the manifests, and of the chart, rendered by helm."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from steersman.testing.control_plane.binaries import HELM, KUBERNETES_VERSION, assets_folder

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "chart"

Document = dict[str, Any]
Objects = dict[tuple[str, str], Document]


class ChartRefusalError(Exception):
    """What Helm's `fail` says."""


def manifests(*folders: str) -> Objects:
    """By kind and name."""
    texts = (path.read_text() for folder in folders for path in sorted((DEPLOY / folder).glob("*.yaml")))
    return _objects("\n---\n".join(texts))


def rendered(values: Mapping[str, Any], release: str = "steersman", namespace: str = "kube-system") -> Objects:
    """Return the objects of the chart with these values, by kind and name, as `helm template` gives them."""
    command = [_helm(), "template", release, str(CHART), "--namespace", namespace, "--kube-version", KUBERNETES_VERSION]
    done = subprocess.run(
        [*command, "--values", "-"], input=yaml.safe_dump(dict(values)), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ChartRefusalError(done.stderr)
    return _objects(done.stdout)


def _helm() -> str:
    """Return the path of the helm that `make e2e` builds, or of another. Without one the test is skipped; in CI it fails."""
    built = assets_folder() / HELM
    found = str(built) if built.exists() else shutil.which(HELM)
    if found is not None:
        return found
    text = "there is no helm: scripts/control_plane/build.sh helm builds it"
    if os.environ.get("CI") == "true":
        pytest.fail(text)
    pytest.skip(text)


def _objects(text: str) -> Objects:
    documents = [document for document in yaml.safe_load_all(text) if document is not None]
    objects = {(document["kind"], document["metadata"]["name"]): document for document in documents}
    assert len(objects) == len(documents), "two objects of one name"
    return objects
