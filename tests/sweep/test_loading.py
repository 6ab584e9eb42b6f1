# SPDX-License-Identifier: Apache-2.0
"""Documents of kind Sweep: what is filled in, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.sweep.sweeps import write_scenario, write_sweep

from steersman.base.errors import InputError
from steersman.simulation.sweep import load_sweep
from steersman.simulation.sweep.document import Matrix
from steersman.simulation.sweep.execution import run


def refusal(folder: Path, **fields: Any) -> str:
    """What is said about a sweep with these fields, without the name of its file."""
    path = write_sweep(folder, **fields)
    with pytest.raises(InputError) as caught:
        load_sweep(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


def refusal_before_running(folder: Path, **fields: Any) -> str:
    path = write_sweep(folder, **fields)
    with pytest.raises(InputError) as caught:
        run(path, workers=1)
    return str(caught.value)


def test_names_come_from_files_where_none_is_given(tmp_path: Path) -> None:
    sweep = load_sweep(write_sweep(tmp_path, configurations=[{}, {"config": "pack.yaml"}]))
    assert [choice.name for choice in sweep.configurations] == ["default", "pack"]
    assert [choice.name for choice in sweep.inputs] == ["cluster"]
    assert sweep.name == "sweep"


def test_files_are_relative_to_the_sweep(tmp_path: Path) -> None:
    sweep = load_sweep(write_sweep(tmp_path))
    assert sweep.inputs[0].manifests == [str(tmp_path / "cluster.yaml")]
    assert sweep.configurations[1].config == str(tmp_path / "pack.yaml")


@pytest.mark.parametrize(
    ("seeds", "meant"),
    [(3, [0, 1, 2]), ([7, 5], [7, 5]), ({"count": 2}, [0, 1]), ({"first": 100, "count": 3}, [100, 101, 102])],
)
def test_seeds_are_a_number_a_list_or_a_range(tmp_path: Path, seeds: Any, meant: list[int]) -> None:
    assert load_sweep(write_sweep(tmp_path, seeds=seeds)).all_seeds == meant


def test_runs_are_in_the_order_of_inputs_configurations_parameters_seeds(tmp_path: Path) -> None:
    matrix = Matrix(load_sweep(write_sweep(tmp_path, parameters={"rate": [1, 2], "size": ["s"]}, seeds=[8, 9])))
    assert [matrix.name(run) for run in matrix.runs] == [
        "spread cluster rate=1 size=s seed 8",
        "spread cluster rate=1 size=s seed 9",
        "spread cluster rate=2 size=s seed 8",
        "spread cluster rate=2 size=s seed 9",
        "pack cluster rate=1 size=s seed 8",
        "pack cluster rate=1 size=s seed 9",
        "pack cluster rate=2 size=s seed 8",
        "pack cluster rate=2 size=s seed 9",
    ]
    assert [run.number for run in matrix.runs] == list(range(8))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"kind": "Swep"},
            'is no Sweep (got {"apiVersion": "steersman.dev/v1alpha1", "kind": "Swep"}); '
            "write apiVersion: steersman.dev/v1alpha1 and kind: Sweep",
        ),
        ({"seed": 3}, 'seed: is not a field here (got 3); did you mean "seeds"?'),
        (
            {"inputs": [{"manifest": ["cluster.yaml"]}]},
            'inputs[0].manifest: is not a field here (got ["cluster.yaml"]); did you mean "manifests"?',
        ),
        ({"inputs": []}, "inputs: is empty: there is nothing to run; write at least one input"),
        (
            {"configurations": []},
            "configurations: is empty: there is nothing to run; leave it out for kube-scheduler's own defaults",
        ),
        ({"seeds": 0}, "seeds: must be at least 1 (got 0)"),
        ({"seeds": []}, "seeds: is empty: there is nothing to run; write at least one seed"),
        ({"seeds": [1, 2, 1]}, "seeds[2]: is there twice (got 1)"),
        ({"parameters": {"rate": []}}, "parameters.rate: has no value; write at least one"),
        ({"parameters": {"rate": [1, 1]}}, "parameters.rate[1]: is there twice (got 1)"),
        (
            {"configurations": [{}, {}]},
            'configurations[1].name: is the name of 2 configurations (got "default"); give each a name of its own',
        ),
        ({"inputs": [{"name": "x"}]}, "inputs[0]: has neither manifests nor a scenario; write one of them"),
        (
            {"inputs": [{"manifests": ["a.yaml"], "scenario": "b.yaml"}]},
            "inputs[0]: has both manifests and a scenario; write one of them",
        ),
        (
            {"inputs": [{"scenario": "b.yaml", "until": "10m"}]},
            'inputs[0].until: goes with manifests; a scenario says it itself (got "10m")',
        ),
        (
            {"inputs": [{"manifests": ["cluster.yaml"], "until": "uniform(1, 2)"}]},
            'inputs[0].until: must not depend on chance (got "uniform(1, 2)"); '
            'write a number of seconds such as 30, or a duration such as "1h30m"',
        ),
        ({"seeds": 600_000}, "has 1,200,000 runs; a sweep has at most 1,000,000"),
    ],
)
def test_what_cannot_be_run_is_refused(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    assert refusal(tmp_path, **fields) == said


def test_a_value_of_a_wrong_type_is_named_with_its_field(tmp_path: Path) -> None:
    assert refusal(tmp_path, configurations=[{"plugins": 3}]).startswith("configurations[0].plugins: ")


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_sweep(tmp_path / "nowhere.yaml")
    said = refusal_before_running(tmp_path, inputs=[{"manifests": ["missing.yaml"]}])
    assert said == f"{tmp_path}/missing.yaml: cannot be read: No such file or directory"


def test_a_configuration_is_checked_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nx: 1\n"
    )
    said = refusal_before_running(tmp_path, configurations=[{}, {"config": "bad.yaml"}])
    assert said == f'{tmp_path}/bad.yaml: unknown field "x"'


def test_a_parameter_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    said = refusal_before_running(tmp_path, parameters={"rate": [1, 2]})
    assert said == (
        "parameters.rate: changes nothing: neither a scenario nor a configuration has it; "
        "declare it in a scenario's parameters, or write ${rate} in a configuration"
    )


def test_a_reference_to_an_unknown_parameter_in_a_configuration_is_refused(tmp_path: Path) -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": "${shares}",
    }
    said = refusal_before_running(tmp_path, configurations=[{"config": config}], parameters={"share": [50]})
    assert said == 'percentageOfNodesToScore: is not a parameter of the sweep (got "${shares}"); did you mean "share"?'


def test_a_value_that_a_scenario_cannot_have_is_refused(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    said = refusal_before_running(tmp_path, inputs=[{"scenario": "day.yaml"}], parameters={"rate": [60, -1]})
    assert "generators[0].arrivals.poisson.perHour" in said
