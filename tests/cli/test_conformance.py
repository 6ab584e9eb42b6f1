# SPDX-License-Identifier: Apache-2.0
"""`steersman conformance`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.cli.commands import refused, steersman
from tests.golden_files import golden, golden_lines


def bundle(path: Path, *documents: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    return path


def first_scenario() -> dict[str, Any]:
    return next(golden_lines("misc.jsonl.gz"))


def test_full_agreement_is_shown_per_area_and_exits_with_0(tmp_path: Path) -> None:
    lines = golden_lines("config.jsonl.gz")
    file = bundle(tmp_path / "b.jsonl", first_scenario(), *(next(lines) for _ in range(3)))
    result = steersman("conformance", file)
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[0] == ["AREA", "CASES", "AGREE", "CHECKS"]
    assert rows[1][:3] == ["misc", "1", "1"]
    assert rows[2][:4] == ["config", "3", "3", "3"]
    assert "4 of 4 cases agree" in result.stdout


def test_a_difference_is_described_and_exits_with_1(tmp_path: Path) -> None:
    scenario = first_scenario()
    scenario["expected"][0]["outcome"] = "unheard of"
    result = steersman("conformance", bundle(tmp_path / "b.jsonl", scenario))
    assert result.exit_code == 1
    assert "0 of 1 cases agree" in result.stdout
    pod = scenario["expected"][0]["pod"]
    assert f"{scenario['name']}, pod {pod}: outcome: expected 'unheard of', got " in result.stdout


def test_a_case_that_breaks_the_scheduler_is_a_difference(tmp_path: Path) -> None:
    scenario = first_scenario()
    scenario["pods"] = []
    result = steersman("conformance", bundle(tmp_path / "b.jsonl", scenario))
    assert result.exit_code == 1
    assert "raised: expected 'a result', got \"KeyError" in result.stdout


def test_only_some_areas_may_be_wanted(tmp_path: Path) -> None:
    scenario, document = first_scenario(), next(golden_lines("config.jsonl.gz"))
    file = bundle(tmp_path / "b.jsonl", scenario, document)
    output = steersman("conformance", file, "--area", "config").stdout
    assert "misc" not in output
    assert "1 of 1 cases agree" in output


def test_the_plain_engine_can_be_compared_too(tmp_path: Path) -> None:
    assert steersman("conformance", "--scalar", bundle(tmp_path / "b.jsonl", first_scenario())).exit_code == 0


def test_queue_traces_are_recognised_by_their_content(tmp_path: Path) -> None:
    trace = next(golden_lines("queue.jsonl.gz"))
    output = steersman("conformance", bundle(tmp_path / "anything.txt", trace)).stdout
    assert output.splitlines()[1].split()[:3] == ["queue", "1", "1"]


def test_files_that_are_no_bundles_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "FORMAT.md"
    text.write_text("# Golden corpus\n", encoding="utf-8")
    assert refused("conformance", text).startswith(f"Error: {text}, line 1: is not a golden bundle; ")
    assert "is not a golden bundle" in refused("conformance", golden("plugin_events.json"))
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    assert "is not a golden bundle" in refused("conformance", empty)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refused("conformance", tmp_path / "missing.jsonl.gz")
    damaged = tmp_path / "damaged.jsonl.gz"
    damaged.write_bytes(gzip.compress(b"{}" * 1000)[:20])
    assert "cannot be uncompressed" in refused("conformance", damaged)
