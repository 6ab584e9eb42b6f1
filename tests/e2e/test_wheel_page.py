# SPDX-License-Identifier: Apache-2.0
"""The built wheel in an empty environment: `steersman sandbox --open` opens a browser on the page, and data needs its token."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from scripts.lockfile import ROOT

from steersman.testing.control_plane import wait_until

PIP: Final = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")
#: Stands for a browser: it notes the address that it is to open.
BROWSER: Final = '#!/bin/sh\necho "$1" > "$OPENED"\n'


@pytest.fixture(scope="module")
def steersman(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a wheel that was installed with what the lock of the image names, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    _run(sys.executable, "-m", "venv", str(environment))
    python = str(environment / "bin" / "python")
    _run(python, *PIP, "--require-hashes", "-r", "requirements/run.lock")
    _run(python, *PIP, "--no-deps", str(wheel))
    return environment / "bin" / "steersman"


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def address(steersman: Path, tmp_path: Path) -> Iterator[str]:
    """The address that `--open` opens."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    environment = {**os.environ, "BROWSER": str(browser), "OPENED": str(opened)}
    environment.pop("PYTHONPATH", None)
    command = [str(steersman), "sandbox", "--nodes", "3", "--open"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: opened.exists() and opened.read_text().endswith("\n"), 120)
        yield opened.read_text().strip()
    finally:
        process.terminate()
        process.wait()


def _get(url: str, token: str = "") -> tuple[int, str, str]:
    """Code, content type and text of an answer."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def test_the_page_of_an_installed_wheel_is_there_and_its_data_wants_the_token(address: str) -> None:
    parts = urlsplit(address)
    origin, token = f"{parts.scheme}://{parts.netloc}", parts.fragment.removeprefix("token=")
    code, kind, text = _get(f"{origin}/")
    assert (code, kind) == (200, "text/html; charset=utf-8")
    assert '<div id="app">' in text
    for file in ("app.js", "app.css", "yaml_editor.js"):
        assert _get(f"{origin}/assets/{file}")[0] == 200
    assert _get(f"{origin}/web/v1/cluster")[0] == 401
    assert _get(f"{origin}/web/v1/cluster", "made-up")[0] == 401
    code, kind, text = _get(f"{origin}/web/v1/cluster", token)
    assert (code, kind) == (200, "application/json; charset=utf-8")
    assert '"nodes":3' in text
