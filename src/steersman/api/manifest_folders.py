# SPDX-License-Identifier: Apache-2.0
"""Folders with sources of manifests: Helm charts and kustomizations, rendered by a program."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final, NamedTuple

CHART: Final = "Chart.yaml"
_KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")


class Renderer(NamedTuple):
    """Program that renders a folder to manifests."""

    #: Description of the folder: "a Helm chart".
    folder: str
    command: tuple[str, ...]

    @property
    def hint(self) -> str:
        return f"pipe `{shlex.join(self.command)}` to `-f -`, or add --render"


def renderer_of(path: Path) -> Renderer | None:
    """Return the renderer of a folder, or of the file that makes it a chart or kustomization; None
    for manifests."""
    if path.name in (CHART, *_KUSTOMIZATIONS) and path.is_file():
        path = path.parent
    if (path / CHART).is_file():
        return Renderer("a Helm chart", ("helm", "template", path.resolve().name.lower(), str(path)))
    if any((path / name).is_file() for name in _KUSTOMIZATIONS):
        return Renderer("a kustomization", ("kubectl", "kustomize", str(path)))
    return None
