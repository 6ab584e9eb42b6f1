# SPDX-License-Identifier: Apache-2.0
"""The page of a simulation as one file: script, styles and answers are inside, and nothing else may run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from steersman.base.errors import InputError
from steersman.sandbox.web import file_page
from steersman.sandbox.web.file_page import FilePage
from steersman.sandbox.web.page_files import PageFiles
from steersman.simulation import Simulation
from steersman.testing import make_node, make_pod

INDEX = """<!doctype html><html><head><title>Steersman</title>
<link rel="icon" href="./favicon.svg" />
<script type="module" crossorigin src="./assets/app.js"></script>
<link rel="stylesheet" crossorigin href="./assets/app.css">
</head><body><div id="app"></div></body></html>"""
SCRIPT = "draw('\\\\1')"


@pytest.fixture
def files(tmp_path: Path) -> PageFiles:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(INDEX)
    (tmp_path / "assets/app.js").write_text(SCRIPT)
    (tmp_path / "assets/app.css").write_text("body {}")
    return PageFiles(tmp_path)


def written(files: PageFiles, most_bytes: int = 1 << 20) -> str:
    nodes = [make_node(f"n{i}").capacity(cpu="2", pods="10").obj() for i in range(2)]
    pods = [make_pod(f"p{i}").req(cpu="1").label("evil", "a").obj() for i in range(3)]
    waiting = make_pod("huge").req(cpu="64").annotation("note", "</script><script>alert(1)</script>").obj()
    simulation = Simulation.load(*nodes, *pods, waiting)
    page = FilePage(simulation, files)
    simulation.run()
    return page.text(most_bytes)


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="steersman-data">(.*?)</script>', text, re.S)
    assert found is not None
    return json.loads(found[1])


def answers_of(text: str) -> dict[str, Any]:
    """All answers of all blocks, each found by the index."""
    found = re.findall(r'<script type="text/plain" id="steersman-block-(\d+)">(.*?)</script>', text, re.S)
    blocks = [json.loads(gzip.decompress(base64.b64decode(block))) for _, block in found]
    assert [int(place) for place, _ in found] == list(range(data_of(text)["blocks"]))
    return {path: blocks[place][path] for path, place in blocks[0].items()}


def test_answers_are_there_by_their_paths(files: PageFiles) -> None:
    text = written(files)
    data, answers = data_of(text), answers_of(text)
    assert (data["info"]["host"], data["info"]["capabilities"]) == ("file", ["configuration"])
    assert answers["cluster"]["nodes"]["name"] == ["n0", "n1"]
    assert answers["pods"]["total"] == 4
    assert answers["pending"]["groups"][0]["title"] == "Insufficient cpu"
    assert answers["pods/default/huge/matrix"]["fits"] == [0, 0]
    assert answers["pods/default/p0/matrix"]["node"] == answers["pods/default/p0"]["node"]
    assert len(answers["decisions"]["decisions"]) == 4
    assert {"nodes/n0", "nodes/n1", "configuration"} <= answers.keys()


def test_answers_fill_several_blocks(files: PageFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answers_of(written(files))
    monkeypatch.setattr(file_page, "BLOCK_BYTES", 500)
    text = written(files)
    assert data_of(text)["blocks"] > 10
    assert answers_of(text).keys() == whole.keys()


def test_what_does_not_fit_is_left_out_and_what_waits_comes_first(
    files: PageFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_page, "BLOCK_BYTES", 1)
    paths = list(answers_of(written(files)))
    assert paths.index("pods/default/huge/matrix") < paths.index("nodes/n0") < paths.index("pods/default/p0")
    answers = answers_of(written(files, 10_000))
    assert "pods/default/huge/matrix" in answers
    assert "pods/default/p2/matrix" not in answers


def test_names_of_users_end_no_script(files: PageFiles) -> None:
    text = written(files)
    assert "<script>alert" not in text
    assert "</script><script>alert(1)" in answers_of(text)["pods/default/huge"]["yaml"]


def test_only_the_script_and_the_style_of_the_page_may_run(files: PageFiles) -> None:
    text = written(files)
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert f'<script type="module">{SCRIPT}</script>' in text
    assert "./assets" not in text
    assert "favicon" not in text


def test_without_a_built_page_it_is_said_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="make web"):
        FilePage(Simulation.load(make_node("n").obj()), PageFiles(tmp_path))
