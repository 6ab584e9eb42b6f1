# SPDX-License-Identifier: Apache-2.0
"""`steersman config check` and `doctor` build the profiles as `run` does, and check arguments against their declared types."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.commands import refused, steersman
from tests.cli.files import CONFIG, write
from tests.cli.serving import serving
from tests.client.api_server import ApiServer

HEAD = "from steersman import api\nfrom steersman.framework import *\nfrom steersman.framework import ClusterEvent\n\n"
REFUSED = """
class Odd(ScorePlugin):
    name = "Odd"

    def __init__(self, args, handle):
        raise ValueError(f"most is {args['most']}, expected at most 100")

    def score(self, pod, node):
        return 0
"""
INCOMPLETE = """
class Odd(ScorePlugin):
    name = "Odd"
"""
IMPOSSIBLE = """
class Odd(FilterPlugin, EnqueueExtensions):
    name = "Odd"

    def filter(self, pod, node):
        return True

    def events_to_register(self):
        return [ClusterEventWithHint(ClusterEvent("Nod", ActionType.ADD))]
"""
EXITING = """
class Odd(ScorePlugin):
    name = "Odd"

    def __init__(self, args, handle):
        raise SystemExit(0)

    def score(self, pod, node):
        return 0
"""
FAULTS = [
    (REFUSED, 'initializing plugin "Odd": ValueError: most is 300, expected at most 100 ('),
    (INCOMPLETE, 'plugin "Odd": method score() is missing'),
    (IMPOSSIBLE, 'there are no events of "Nod"; did you mean "Node"?'),
    (EXITING, 'initializing plugin "Odd": SystemExit: 0 ('),
]
ARGS = "  pluginConfig: [{name: Odd, args: {most: 300}}]\n"
TYPED = """
class Rule(api.Struct, frozen=True):
    label: str
    max_pods: int = 3

class TeamArgs(api.Struct, frozen=True):
    teams: list[str]
    default_team: str = ""
    rules: list[Rule] = []

class Teams(FilterPlugin):
    name = "Teams"
    args = TeamArgs

    def __init__(self, args, handle):
        self.args_given = args

    def filter(self, pod, node):
        args = self.args_given
        return f"{args.teams} {args.default_team} {[rule.max_pods for rule in args.rules]}"
"""


@pytest.mark.parametrize(("code", "text"), FAULTS)
def test_check_reports_what_run_would_refuse_about_a_plugin(tmp_path: Path, code: str, text: str) -> None:
    file, plugin = write(tmp_path / "config.yaml", CONFIG + ARGS), write(tmp_path / "odd.py", HEAD + code)
    result = steersman("config", "check", file, "--plugin", plugin)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"{file}: ")
    assert text in result.stderr


@pytest.mark.parametrize(("code", "text"), FAULTS[:3])
def test_doctor_reports_what_run_would_refuse_about_a_plugin(tmp_path: Path, code: str, text: str) -> None:
    file, plugin = write(tmp_path / "config.yaml", CONFIG + ARGS), write(tmp_path / "odd.py", HEAD + code)
    with serving(ApiServer()) as address:
        result = steersman("doctor", "--master", address, "--config", file, "--plugin", plugin)
    assert result.exit_code == 1
    assert "fail  config" in result.stdout
    assert text.split(":")[0] in " ".join(result.stdout.split())


def test_check_reports_arguments_that_do_not_fit_the_declared_type_with_their_fields(tmp_path: Path) -> None:
    args = "{teams: [a, b], defaultTeam: 7, team: x, rules: [{label: zone, maxpods: 2}]}"
    file = write(tmp_path / "config.yaml", CONFIG + f"  pluginConfig: [{{name: Teams, args: {args}}}]\n")
    result = steersman("config", "check", file, "--plugin", write(tmp_path / "teams.py", HEAD + TYPED))
    assert result.exit_code == 2
    field = f"{file}: profiles[0].pluginConfig[0].args"
    assert sorted(result.stderr.splitlines()) == [
        f"{field}.defaultTeam: Invalid value: 7: expected str, got int",
        f'{field}.rules[0].maxpods: unknown field; did you mean "maxPods"?',
        f'{field}.team: unknown field; did you mean "teams"?',
    ]


@pytest.mark.parametrize(
    ("plugin_config", "text"),
    [
        ("[{name: Teams, args: {teams: [a], rules: [{}]}}]", "pluginConfig[0].args.rules[0].label: Required value"),
        ("[]", "pluginConfig[Teams].args.teams: Required value"),
        (
            "[{name: Teams, args: {teams: {}}}]",
            "pluginConfig[0].args.teams: Invalid value: {}: expected array, got object",
        ),
    ],
)
def test_simulate_refuses_arguments_that_do_not_fit_the_declared_type(
    tmp_path: Path, plugin_config: str, text: str
) -> None:
    file = write(tmp_path / "config.yaml", CONFIG + f"  pluginConfig: {plugin_config}\n")
    plugin = write(tmp_path / "teams.py", HEAD + TYPED)
    assert f"{file}: profiles[0].{text}" in refused(
        "simulate", "--example", "quickstart", "--config", file, "--plugin", plugin
    )


def test_a_plugin_gets_its_arguments_as_the_declared_type(tmp_path: Path) -> None:
    args = (
        "{apiVersion: example.com/v1, kind: TeamsArgs, teams: [a], defaultTeam: b, rules: [{label: zone, maxPods: 2}]}"
    )
    file = write(tmp_path / "config.yaml", CONFIG + f"  pluginConfig: [{{name: Teams, args: {args}}}]\n")
    plugin = write(tmp_path / "teams.py", HEAD + TYPED)
    assert steersman("config", "check", file, "--plugin", plugin).exit_code == 0
    shown = steersman("simulate", "--example", "quickstart", "--config", file, "--plugin", plugin).stdout
    assert "['a'] b [2]" in shown


def test_check_finds_arguments_of_plugins_that_do_not_exist(tmp_path: Path) -> None:
    file = write(tmp_path / "config.yaml", CONFIG + "  pluginConfig: [{name: NodeAfinitty, args: {}}]\n")
    assert steersman("config", "check", file).stderr == (
        f'{file}: profiles[0].pluginConfig[0].name: "NodeAfinitty" is no plugin, so nothing reads its arguments; did you mean '
        '"NodeAffinity"?\n'
    )


def test_an_enabled_plugin_that_does_not_exist_comes_with_the_one_that_may_have_been_meant(tmp_path: Path) -> None:
    file = write(tmp_path / "config.yaml", CONFIG + "  plugins: {score: {enabled: [{name: ImageLocalty}]}}\n")
    message = refused("simulate", "--example", "quickstart", "--config", file)
    assert 'ScorePlugin "ImageLocalty" does not exist; did you mean "ImageLocality"?' in message


SORTS = """
class ByName(QueueSortPlugin):
    name = "ByName"

    def sort_key(self, queued):
        return (queued.pod.metadata.name,)
"""


def test_a_second_queue_sort_plugin_is_refused_with_the_lines_that_enable_it(tmp_path: Path) -> None:
    plugin = write(tmp_path / "sorts.py", HEAD + SORTS)
    message = refused("simulate", "--example", "quickstart", "--plugin", plugin)
    assert "plugins.queueSort.disabled: [{name: PrioritySort}]" in message
    lines = "  plugins: {queueSort: {disabled: [{name: PrioritySort}]}}\n"
    file = write(tmp_path / "config.yaml", CONFIG + lines)
    assert steersman("simulate", "--example", "quickstart", "--plugin", plugin, "--config", file).exit_code == 0


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("(queued.pod.metadata.labels['rank'],)", "plugin \"ByName\": sort_key() raised KeyError: 'rank' ("),
        ("queued.pod.metadata.name", "sort_key() returned 'web-0', expected a tuple that is not empty"),
    ],
)
def test_a_fault_in_a_queue_sort_plugin_names_it(tmp_path: Path, answer: str, text: str) -> None:
    code = SORTS.replace("(queued.pod.metadata.name,)", answer)
    plugin = write(tmp_path / "sorts.py", HEAD + code)
    file = write(tmp_path / "config.yaml", CONFIG + "  plugins: {queueSort: {disabled: [{name: PrioritySort}]}}\n")
    assert text in refused("simulate", "--example", "quickstart", "--plugin", plugin, "--config", file)
