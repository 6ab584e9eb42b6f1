# SPDX-License-Identifier: Apache-2.0
"""A disagreement as a directory: `steersman simulate` repeats it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import steersman
from tests.run.shadow.following import WatchedCluster, nodes, pod

from steersman.base.errors import InputError
from steersman.config import default_configuration
from steersman.run.shadow import DifferenceWriter


def test_the_directory_has_the_scores_that_were_compared(tmp_path: Path) -> None:
    cluster = WatchedCluster(*nodes(3), pod("other", "2", on="n0"))
    cluster.see(pod("first"))
    cluster.bind("first", "n1")
    cluster.see(pod("web"))
    cluster.bind("web", "n0")
    found = cluster.last()
    (snapshot,) = cluster.snapshots
    writer = DifferenceWriter(tmp_path / "differences", default_configuration())
    folder = Path(writer.write(found, snapshot).directory)
    assert folder.name == "0001-default-web"
    files = ("-f", folder / "cluster.json", "-f", folder / "pod.json", "--config", folder / "config.yaml")
    result = steersman("simulate", *files, "--no-controllers", "--explain", "web", "-o", "json")
    assert result.exit_code == 0, result.output
    (explained,) = json.loads(result.stdout)["explanations"]
    totals = {one["node"]: one["total"] for one in explained["explanation"]["nodes"]}
    assert found.scores is not None
    assert totals["n0"] == found.scores.theirs
    assert totals["n2"] == found.scores.ours == max(totals.values())
    written = json.loads((folder / "comparison.json").read_text())
    assert (written["kind"], written["decision"], written["theirNode"]) == ("Comparison", "binding", "n0")
    assert "--explain default/web" in (folder / "README.txt").read_text()


def test_only_the_first_disagreements_are_written(tmp_path: Path) -> None:
    cluster = WatchedCluster(*nodes(2), pod("other", "2", on="n0"))
    cluster.see(pod("web"))
    cluster.bind("web", "n0")
    writer = DifferenceWriter(tmp_path, default_configuration(), most=1)
    assert writer.wants_more()
    writer.write(cluster.last(), cluster.snapshots[0])
    assert not writer.wants_more()


def test_a_directory_that_cannot_be_made_is_reported_immediately(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        DifferenceWriter(tmp_path / "file" / "differences", default_configuration())
