# SPDX-License-Identifier: Apache-2.0
"""`steersman examples`, and examples as input of `simulate`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.commands import refused, steersman

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__")


def test_every_example_is_listed_with_what_it_is_about() -> None:
    header, *lines = steersman("examples").stdout.splitlines()
    assert header.split() == ["NAME", "ABOUT"]
    assert [line.split()[0] for line in lines] == NAMES
    assert [line for line in lines if len(line.split()) < 3] == [], "an example has no README.md with a heading"
    assert steersman("examples", "list").stdout.splitlines() == [header, *lines]


def test_copies_are_the_files(tmp_path: Path) -> None:
    result = steersman("examples", "copy", "gang", "--to", tmp_path / "new")
    assert result.exit_code == 0
    copied = tmp_path / "new" / "gang"
    assert (copied / "pods.yaml").read_bytes() == (EXAMPLES / "gang" / "pods.yaml").read_bytes()
    assert f"wrote {copied / 'pods.yaml'}" in result.stdout.splitlines()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "gang").mkdir()
    (tmp_path / "gang" / "pods.yaml").write_text("mine")
    assert "pods.yaml: exists already and is not written over" in refused("examples", "copy", "gang", "--to", tmp_path)
    assert [path.name for path in (tmp_path / "gang").iterdir()] == ["pods.yaml"]


def test_an_example_that_does_not_exist_is_refused_with_those_that_do() -> None:
    line = refused("examples", "copy", "gnag")
    assert line == 'Error: there is no such example (got "gnag"); did you mean "gang"?'
    assert "; there are: coscheduling, devices, " in refused("examples", "copy", "nothing-like-it")


def test_an_example_without_a_cluster_cannot_be_simulated() -> None:
    assert "example plugins: has no cluster to simulate" in refused("simulate", "--example", "plugins")


@pytest.mark.parametrize("name", ["quickstart", "preemption", "volumes", "devices"])
def test_examples_are_simulated_by_name(name: str) -> None:
    by_name = steersman("simulate", "--example", name)
    by_folder = steersman("simulate", "-f", EXAMPLES / name)
    assert by_name.exit_code == 0
    assert by_name.stdout == by_folder.stdout


def test_without_input_simulate_says_what_is_missing() -> None:
    result = steersman("simulate")
    assert result.exit_code == 2
    assert "Missing option '-f' / '--filename', '--example' or '--kubeconfig'." in result.stderr


def test_an_example_runs_with_its_plugin() -> None:
    result = steersman("simulate", "--example", "coscheduling", "--until", "2m")
    assert result.exit_code == 0
    assert "3 of 8 pods scheduled on 2 nodes, 5 pending" in result.stdout, "the group of five holds nothing"


def test_an_example_runs_with_its_feature_gates_and_ends_by_itself() -> None:
    result = steersman("simulate", "--example", "gang")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["default/small", "3/3", "3", "rack=b", "Scheduled"] in rows
    assert ["default/large", "0/5", "5", "-", "Unschedulable"] in rows
    assert "default/incomplete: needs 2 pods and has 1" in result.stdout
    assert "3 of 9 pods scheduled on 3 nodes, 6 pending" in result.stdout


def test_gates_of_the_command_line_are_added_to_those_of_an_example() -> None:
    result = steersman("simulate", "--example", "gang", "--feature-gates", "TopologyAwareWorkloadScheduling=false")
    assert ["default/small", "3/3", "3"] in [line.split()[:3] for line in result.stdout.splitlines()]


def test_members_of_groups_that_are_not_scheduled_are_a_note() -> None:
    result = steersman("simulate", "-f", EXAMPLES / "gang" / "pods.yaml")
    note = "9 pods with spec.schedulingGroup, for example default/small-0, are scheduled on their own because "
    assert f"{note}GenericWorkload is off; --feature-gates GenericWorkload=true" in result.stderr


def test_a_configuration_that_is_given_takes_the_place_of_the_examples_own(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    document = (EXAMPLES / "coscheduling" / "config.yaml").read_text().replace("Seconds: 30", "Seconds: 7")
    config.write_text(document)
    result = steersman("simulate", "--example", "coscheduling", "--config", config, "--until", "2m")
    assert "rejected due to timeout" in result.stdout
    assert "after waiting 30s" not in result.stdout


def test_what_a_plugin_could_not_find_out_is_a_note(tmp_path: Path) -> None:
    plugin = tmp_path / "asks.py"
    plugin.write_text(
        "from steersman.framework import BackgroundPlugin, ScorePlugin\n\n"
        "class Asks(ScorePlugin, BackgroundPlugin):\n"
        "    name = 'Asks'\n\n"
        "    async def refresh(self):\n"
        "        raise OSError('nobody answers')\n\n"
        "    def score(self, pod, node):\n"
        "        return 0\n"
    )
    result = steersman("simulate", "--example", "quickstart", "--plugin", plugin)
    assert (
        f'Note: plugin "Asks" cannot refresh: OSError: nobody answers ({plugin}, line 7, in refresh)' in result.stderr
    )


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("sweep", "use `steersman sweep --example sweep --report packing.html`"),
        ("node_pools", "`steersman plan nodes -f node_pools/workloads.yaml --pools node_pools/pools/pools.yaml`"),
        ("plugins", "use `steersman examples copy plugins quickstart`, then `steersman simulate -f quickstart"),
    ],
)
def test_an_example_that_is_for_another_command_names_it(name: str, command: str) -> None:
    refusal = refused("simulate", "--example", name)
    assert f"example {name}: has no cluster to simulate" in refusal
    assert command in refusal
