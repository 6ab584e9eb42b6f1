# SPDX-License-Identifier: Apache-2.0
"""Every block of the documentation that can run is run, from the clone and as pip has installed it, and prints what it says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from scripts.lockfile import ROOT
from tests.docs.code_blocks import RUNNABLE, code_blocks, is_printed, pages
from tests.docs.page_runner import InstalledSteersman, PageRunner, SteersmanOfTheClone
from tests.packaging.wheels import InstalledProgram, installed_program

from steersman import config

PAGES = pages()
WITH_PROGRAMS = [page for page in PAGES if any(block.is_run for block in code_blocks(page))]
#: What a new user meets first is also tried as pip installs it; `make e2e` tries the other pages so.
AS_INSTALLED = [page for page in WITH_PROGRAMS if page in ("README.md", "docs/tutorial.md", "docs/how-to/simulate.md")]
#: Half a minute of one core: only `make e2e` runs it, and tests/examples/test_node_pools_example.py a part of its input.
LONG = "examples/node_pools/README.md"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> InstalledProgram:
    return installed_program(tmp_path_factory.mktemp("installed"))


@pytest.mark.parametrize("page", [page for page in WITH_PROGRAMS if page != LONG])
def test_the_blocks_of_a_page_run_from_the_clone(page: str, tmp_path: Path) -> None:
    if page.startswith("examples/"):
        shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    PageRunner(tmp_path, SteersmanOfTheClone(tmp_path)).run(code_blocks(page))


@pytest.mark.parametrize("page", AS_INSTALLED)
def test_the_blocks_of_a_page_run_as_pip_installs_it(page: str, tmp_path: Path, installed: InstalledProgram) -> None:
    PageRunner(tmp_path, InstalledSteersman(tmp_path, *installed)).run(code_blocks(page))


@pytest.mark.parametrize("page", PAGES)
def test_whatever_is_not_run_says_why(page: str) -> None:
    for block in code_blocks(page):
        assert block.comment != "not run" or block.detail, f"{block.place}: why is it not run?"
        assert block.comment != "file" or block.detail, f"{block.place}: which file?"
        assert block.comment != "output" or block.language in ("text", ""), f"{block.place}: output is text"


@pytest.mark.parametrize("page", PAGES)
def test_configurations_and_manifests_can_be_read(page: str) -> None:
    for block in code_blocks(page):
        if block.language == "yaml" and block.comment != "not run":
            for document in yaml.safe_load_all(block.text):
                assert isinstance(document, dict | list), block.place
            if "kind: KubeSchedulerConfiguration" in block.text:
                config.load(block.text, block.place)


def test_the_first_pages_are_among_those_that_are_run() -> None:
    assert AS_INSTALLED == ["README.md", "docs/how-to/simulate.md", "docs/tutorial.md"]
    assert LONG in WITH_PROGRAMS
    assert all(
        block.language in (*RUNNABLE, "text", "yaml", "toml", "json", "")
        for page in PAGES
        for block in code_blocks(page)
    )


def test_three_dots_stand_for_any_lines() -> None:
    assert is_printed(["a", "…", "d"], ["a", "b", "c", "d"])
    assert is_printed(["…"], [])
    assert not is_printed(["a", "…", "x"], ["a", "b", "c", "d"])
    assert not is_printed(["a"], ["a", "b"])
