# SPDX-License-Identifier: Apache-2.0
"""`steersman config`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.commands import refused, steersman
from tests.cli.files import CONFIG, write

from steersman import config

POLICY = """
apiVersion: v1
kind: Policy
predicates: [{name: PodFitsResources}, {name: PodToleratesNodeTaints}]
priorities: [{name: LeastRequestedPriority, weight: 5}]
"""


def test_check_says_that_a_file_is_valid(tmp_path: Path) -> None:
    file = write(tmp_path / "config.yaml", CONFIG)
    result = steersman("config", "check", file)
    assert result.exit_code == 0
    assert result.stdout == f"{file}: valid; profiles: default-scheduler\n"


def test_check_prints_a_line_per_problem(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good.yaml", CONFIG), write(tmp_path / "bad.yaml", CONFIG + "a: 1\nb: 2\n")
    result = steersman("config", "check", bad, good)
    assert result.exit_code == 2
    assert result.stdout.startswith(f"{good}: valid")
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{bad}: ") and "unknown field" in line for line in lines)


def test_check_finds_plugins_that_do_not_exist(tmp_path: Path) -> None:
    file = write(tmp_path / "config.yaml", CONFIG + "  plugins: {score: {enabled: [{name: Ghost}]}}\n")
    assert '"Ghost" does not exist' in steersman("config", "check", file).stderr
    plugin = write(
        tmp_path / "ghost.py",
        "from steersman.framework import ScorePlugin\n\n"
        'class Ghost(ScorePlugin):\n    name = "Ghost"\n\n    def score(self, pod, node):\n        return 0\n',
    )
    assert steersman("config", "check", file, "--plugin", plugin).exit_code == 0


def test_check_finds_disabled_plugins_that_do_not_exist(tmp_path: Path) -> None:
    plugins = "  plugins: {score: {disabled: [{name: '*'}, {name: ImageLocality}, {name: NodeAfinity}]}}\n"
    file = write(tmp_path / "config.yaml", CONFIG + plugins)
    result = steersman("config", "check", file)
    assert result.exit_code == 2
    assert result.stderr == (
        f'{file}: profiles[0].plugins.score.disabled[2].name: "NodeAfinity" is no plugin, so nothing is disabled by it; '
        'did you mean "NodeAffinity"?\n'
    )


def test_check_examines_every_section_of_a_profile(tmp_path: Path) -> None:
    plugins = "  plugins: {multiPoint: {disabled: [{name: NodePort}]}, filter: {disabled: [{name: Ghost}]}}\n"
    lines = steersman("config", "check", write(tmp_path / "config.yaml", CONFIG + plugins)).stderr.splitlines()
    assert "multiPoint.disabled[0].name" in lines[0]
    assert 'did you mean "NodePorts"?' in lines[0]
    assert "filter.disabled[0].name" in lines[1]
    assert "`steersman config show --effective` lists the plugins" in lines[1]


def test_show_prints_a_document_that_loads_as_the_same_configuration(tmp_path: Path) -> None:
    file = write(tmp_path / "config.yaml", CONFIG + "podMaxBackoffSeconds: 20\n")
    shown = steersman("config", "show", file).stdout
    assert config.load(shown) == config.load(file.read_text())
    assert steersman("config", "show").stdout == config.dump_yaml(config.default_configuration())


def test_effective_plugins_stand_by_extension_point_with_their_weights() -> None:
    output = steersman("config", "show", "--effective").stdout
    assert output.startswith("profile default-scheduler\n")
    assert [line.split() for line in output.splitlines() if "TaintToleration" in line] == [
        ["TaintToleration"],
        ["TaintToleration"],
        ["preScore", "TaintToleration"],
        ["score", "TaintToleration", "3"],
    ]


def test_diff_prints_changes_and_has_an_exit_code(tmp_path: Path) -> None:
    before, after = write(tmp_path / "a.yaml", CONFIG), write(tmp_path / "b.yaml", CONFIG + "parallelism: 3\n")
    result = steersman("config", "diff", before, after)
    assert (result.exit_code, result.stdout) == (1, "parallelism: 16 -> 3\n")
    assert steersman("config", "diff", before, before).exit_code == 0


def test_convert_prints_the_configuration_that_replaces_a_policy(tmp_path: Path) -> None:
    result = steersman("config", "convert", write(tmp_path / "policy.yaml", POLICY))
    assert result.exit_code == 0
    (profile,) = config.load(result.stdout).profiles
    assert "NodeResourcesFit" in profile.plugins.enabled_names()
    assert all(line.startswith("Warning: ") for line in result.stderr.splitlines())


def test_convert_refuses_what_cannot_be_expressed(tmp_path: Path) -> None:
    policy = write(tmp_path / "policy.yaml", POLICY.replace("PodFitsResources", "NoSuchPredicate"))
    assert "NoSuchPredicate" in refused("config", "convert", policy)


def test_a_file_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    assert refused("config", "show", tmp_path / "missing").endswith("cannot be read: No such file or directory")


SECRETIVE = """\
extenders:
- {urlPrefix: 'http://me:hunter2@host', filterVerb: filter, weight: 1, tlsConfig: {keyData: c2VjcmV0}}
"""


def test_secrets_are_shown_only_on_request(tmp_path: Path) -> None:
    file = write(tmp_path / "config.yaml", CONFIG + SECRETIVE)
    shown = steersman("config", "show", file).stdout
    assert shown.startswith("# Secrets are hidden")
    assert "http://me:***@host" in shown
    assert "DATA+OMITTED" in shown
    raw = steersman("config", "show", "--raw", file).stdout
    assert "hunter2" in raw
    assert "c2VjcmV0" in raw


def test_the_flags_of_a_command_line_are_checked_with_its_files() -> None:
    result = steersman("config", "check", "--", "--vmodule=a=1", "--disabled-metrics=b", "--cert-dir=/tmp")
    assert result.exit_code == 2
    assert result.stderr.count("is not supported") == 2
    assert "Warning: --cert-dir of kube-scheduler has no effect" in result.stderr
    assert steersman("config", "check", "--", "--leader-elect=true").exit_code == 0


def test_show_has_the_resources_that_extenders_take_over(tmp_path: Path) -> None:
    extender = (
        "extenders:\n- {urlPrefix: 'http://host', filterVerb: filter, "
        "managedResources: [{name: example.com/fpga, ignoredByScheduler: true}]}\n"
    )
    shown = steersman("config", "show", write(tmp_path / "config.yaml", CONFIG + extender)).stdout
    fit = next(entry for entry in config.load(shown).profiles[0].plugin_config if entry.name == "NodeResourcesFit")
    assert isinstance(fit.args, config.NodeResourcesFitArgs)
    assert fit.args.ignored_resources == ("example.com/fpga",)


def test_effective_plugins_come_with_the_percentage_that_holds_for_the_profile(tmp_path: Path) -> None:
    file = write(tmp_path / "config.yaml", CONFIG + "percentageOfNodesToScore: 40\n")
    shown = steersman("config", "show", "--effective", file).stdout
    assert ", scores 40 % of the nodes\n" in shown
