# SPDX-License-Identifier: Apache-2.0
"""The web page is built when a wheel is, or the build says why the wheel has none."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from scripts.lockfile import ROOT

from scripts import web_page


@pytest.mark.parametrize("version", ["v20.19.0\n", "v20.20.2", "v22.12.0", "v24.1.0", "v30.0.0"])
def test_nodes_that_vite_runs_on_are_taken(version: str) -> None:
    assert web_page.is_new_enough(version)


@pytest.mark.parametrize("version", ["v18.20.0", "v20.18.3", "v21.7.0", "v22.11.0", "", "nonsense"])
def test_older_ones_and_those_without_support_are_not(version: str) -> None:
    assert not web_page.is_new_enough(version)


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources of a page and a new Node; what npm does is up to the test."""
    monkeypatch.delenv(web_page.SKIP, raising=False)
    program(tmp_path / "bin", "node", "echo v24.0.0")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    root = tmp_path / "checkout"
    (root / "web").mkdir(parents=True)
    (root / "web" / "package-lock.json").write_text("{}")
    return root


def test_a_page_that_is_there_is_taken_as_it_is(checkout: Path) -> None:
    for page in (checkout / web_page.TARGET / "index.html", checkout / web_page.REPORT_TARGET / "report.js"):
        page.parent.mkdir(parents=True)
        page.write_text("there")
    assert web_page.make(checkout) == ""


def test_packages_are_installed_once_and_the_page_is_built(checkout: Path, tmp_path: Path) -> None:
    target, report = checkout / web_page.TARGET, checkout / web_page.REPORT_TARGET
    log = tmp_path / "log"
    script = f"""echo "$@" >> {log}
case $1 in
    ci) mkdir -p node_modules; touch node_modules/.package-lock.json ;;
    run) mkdir -p {target} {report}; echo page > {target}/index.html; echo page > {report}/report.js ;;
esac"""
    program(tmp_path / "bin", "npm", script)
    assert web_page.make(checkout) == ""
    web_page.build(checkout)
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["ci", "run", "run"]


def test_a_build_that_fails_is_reported(checkout: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin", "npm", "[ $1 = ci ] && mkdir node_modules && touch node_modules/.package-lock.json")
    problem = web_page.make(checkout)
    assert problem == f"this wheel has no web page: npm run --silent build failed in {checkout / 'web'}"


def test_sources_that_are_missing_are_reported(checkout: Path) -> None:
    (checkout / "web" / "package-lock.json").unlink()
    assert web_page.make(checkout) == f"this wheel has no web page: {checkout / 'web'} is not there to build it from"


def test_a_wheel_may_be_built_without_it_on_purpose(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(web_page.SKIP, "1")
    assert web_page.make(checkout) == "this wheel has no web page: STEERSMAN_WITHOUT_PAGE is set"


def test_the_lock_names_no_registry_and_every_package_has_its_hash() -> None:
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []


def test_everything_that_the_page_is_made_of_is_a_tool_of_the_build() -> None:
    """The bundle carries it: nothing is left for users to install."""
    document = json.loads((ROOT / "web" / "package.json").read_text())
    assert "dependencies" not in document
    assert document["license"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]


def test_sources_name_no_address_but_those_of_documentation() -> None:
    sources = [path for path in (ROOT / "web" / "src").rglob("*") if path.suffix in (".ts", ".svelte", ".css")]
    assert len(sources) > 30
    found = {address for path in sources for address in re.findall(r"https?://[^\s\"'`<)]+", path.read_text())}
    assert found == set()
