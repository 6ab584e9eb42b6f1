# SPDX-License-Identifier: Apache-2.0
"""The report of every command in a real browser: each chart, heat map and table that it has shows something, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import yaml
from tests.e2e.browser.conftest import Browser
from tests.e2e.browser.test_reports import COLOURS, DRAWN, MARKS, assert_silent
from tests.sweep.sweeps import write_sweep

from steersman.cli import main

EXAMPLES: Final = Path(__file__).resolve().parents[3] / "examples"
PLANNING: Final = ("--example", "planning")
POD: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "image": "nginx", "resources": {"requests": {"cpu": "500m"}}}]},
}
FIT: Final = {
    "name": "NodeResourcesFit",
    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}},
}
PACKED: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"pluginConfig": [FIT]}],
}
USAGE: Final = "namespace,workload,kind,container,cpu,memory\ndefault,web,Deployment,web,300m,512Mi\n"
#: Each command by a name: its words, and how many charts, heat maps and tables its report has.
REPORTS: Final[dict[str, tuple[tuple[str, ...], tuple[int, int, int]]]] = {
    "capacity": (("plan", "capacity", *PLANNING, "--pod", "pod.yaml"), (1, 6, 3)),
    "drain": (("plan", "drain", "general-a", *PLANNING), (0, 6, 3)),
    "lose": (("plan", "lose", "topology.kubernetes.io/zone=a", *PLANNING), (0, 6, 3)),
    "taint": (("plan", "taint", "general-b", "broken=disk:NoExecute", *PLANNING), (0, 6, 1)),
    "compact": (("plan", "compact", *PLANNING), (0, 6, 3)),
    "compare": (
        (
            "plan",
            "compare",
            *PLANNING,
            "--config",
            "default",
            "--config",
            "packed.yaml",
            "--seeds",
            "4",
            "--workers",
            "1",
        ),
        (6, 0, 1),
    ),
    "requests": (("plan", "requests", *PLANNING, "--usage", "usage.csv"), (0, 6, 3)),
    "scenario": (("simulate", "--scenario", str(EXAMPLES / "shop_day" / "scenario.yaml")), (9, 2, 4)),
    "sweep": (("sweep", "sweep.yaml", "--output", "runs", "--workers", "1"), (2, 0, 3)),
}
ROWS: Final = '[...document.querySelectorAll("table")].map((table) => table.querySelectorAll("tbody tr").length)'
WIDTH: Final = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the commands read, in the current directory."""
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(POD))
    (tmp_path / "packed.yaml").write_text(yaml.safe_dump(PACKED))
    (tmp_path / "usage.csv").write_text(USAGE)
    write_sweep(tmp_path, seeds=3)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", REPORTS)
def test_whatever_a_report_has_is_drawn(browser: Browser, folder: Path, name: str) -> None:
    words, parts = REPORTS[name]
    page = folder / f"{name}.html"
    main([*words, "--report", str(page)], standalone_mode=False)
    shown = [("evaluate", script) for script in (MARKS, ROWS, WIDTH)]
    steps = (DRAWN, ("text", ".sentence"), *shown, ("theme", "dark"), *shown, ("evaluate", COLOURS))
    seen = browser.visit(page.as_uri(), *steps)
    assert_silent(seen, page.as_uri())
    _, sentence, *values, colours = seen.values
    assert sentence
    assert min(colours, default=2) > 1
    for marks, rows, hidden in (values[:3], values[4:]):
        assert (len(marks), len(colours), len(rows)) == parts
        assert 0 not in (*marks, *rows)
        assert hidden == 0
