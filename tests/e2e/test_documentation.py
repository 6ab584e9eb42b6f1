# SPDX-License-Identifier: Apache-2.0
"""The documentation, as far as `make test` does not run it: blocks that need a cluster, and all pages as pip users see them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from scripts.lockfile import ROOT
from tests.docs.code_blocks import code_blocks, pages
from tests.docs.page_runner import InstalledSteersman, PageRunner, SteersmanOfTheClone
from tests.packaging.wheels import InstalledProgram, installed_program

from steersman.testing.control_plane import ControlPlane, Steersman
from steersman.testing.control_plane.binaries import assets_folder

WITH_A_CLUSTER = [page for page in pages() if any(block.comment == "e2e" for block in code_blocks(page))]


def test_the_plugin_of_the_tutorial_schedules_a_real_cluster(
    plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = [block for block in code_blocks("docs/tutorial.md") if block.comment in ("file", "e2e")]
    nodes = yaml.safe_load_all(next(block.text for block in blocks if block.detail == "cluster.yaml"))
    plane.admin.create_nodes(*(document for document in nodes if document["kind"] == "Node"))
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig()))
    monkeypatch.setenv("PATH", str(assets_folder()), prepend=os.pathsep)
    begins = next(index for index, block in enumerate(blocks) if "kubectl apply" in block.text)
    page = PageRunner(tmp_path, SteersmanOfTheClone(tmp_path))
    page.run(blocks[:begins], also="e2e")
    flags = [f"--config={tmp_path / 'sched.yaml'}", f"--plugin={tmp_path / 'cheap.py'}"]
    with Steersman(plane, flags=[*flags, f"--kubeconfig={plane.kubeconfig()}"]):
        page.run(blocks[begins:], also="e2e")


def test_a_test_of_a_plugin_starts_a_control_plane(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from steersman.framework import ScorePlugin\n\n"
        'class Mine(ScorePlugin):\n    name = "Mine"\n\n    def score(self, pod, node):\n        return 1\n'
    )
    PageRunner(tmp_path, SteersmanOfTheClone(tmp_path)).run(code_blocks("docs/end-to-end.md"), also="e2e")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> InstalledProgram:
    return installed_program(tmp_path_factory.mktemp("installed"))


@pytest.mark.parametrize("page", [page for page in pages() if any(block.is_run for block in code_blocks(page))])
def test_every_page_runs_as_pip_installs_it(page: str, tmp_path: Path, installed: InstalledProgram) -> None:
    reader = InstalledSteersman(tmp_path, *installed)
    if page.startswith("examples/"):
        names = " ".join(sorted(path.name for path in (ROOT / "examples").iterdir() if (path / "README.md").exists()))
        assert reader.command(f"steersman examples copy {names}").code == 0
    PageRunner(tmp_path, reader).run(code_blocks(page))


def test_no_page_with_such_blocks_is_left_out() -> None:
    assert WITH_A_CLUSTER == ["docs/end-to-end.md", "docs/tutorial.md"]
