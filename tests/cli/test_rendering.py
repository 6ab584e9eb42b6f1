# SPDX-License-Identifier: Apache-2.0
"""`--render`: charts and kustomizations as input."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.commands import refused, steersman

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: rendered}\nspec: {containers: [{name: c, image: app}]}\n"


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "Chart.yaml").write_text("name: web\n")
    return tmp_path / "web"


def _install_helm(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program called helm on PATH, which stands for the real one."""
    folder.mkdir()
    program = folder / "helm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")


def test_a_chart_is_rendered_by_helm(tmp_path: Path, chart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    _install_helm(tmp_path / "bin", f'[ "$1 $2" = "template web" ] && cat {tmp_path}/pod.yaml', monkeypatch)
    result = steersman("simulate", "-f", chart, "--render")
    assert "default/rendered" in result.stdout


def test_a_chart_that_helm_cannot_render_is_refused_with_its_message(
    tmp_path: Path, chart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install_helm(tmp_path / "bin", "echo 'Error: values are missing' >&2; exit 1", monkeypatch)
    assert "web: helm cannot render it: Error: values are missing" in refused("simulate", "-f", chart, "--render")


def test_a_missing_program_is_named(chart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "is a Helm chart, and helm is not on PATH; install helm" in refused("simulate", "-f", chart, "--render")
