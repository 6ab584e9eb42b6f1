# SPDX-License-Identifier: Apache-2.0
"""Parameters of workloads."""

from __future__ import annotations

import pytest

from steersman.base.errors import InputError
from steersman.testing.bench.operations import Churn, CreateNodes, CreatePods, CreatePodSets, Operation, Sleep
from steersman.testing.bench.preparation import Parameters, unrolled
from steersman.testing.bench.workload_files import ParameterValue


def nodes(count_param: str) -> CreateNodes:
    return CreateNodes(opcode="createNodes", count_param=count_param)


def refusal(operation: Operation, **values: ParameterValue) -> str:
    with pytest.raises(InputError) as refused:
        list(unrolled([Sleep(opcode="sleep"), operation], Parameters(values)))
    return str(refused.value)


def test_fields_take_the_values_that_their_parameters_name() -> None:
    pods = CreatePods(opcode="createPods", count_param="$n", duration_param="$long", steady_state_param="$steady")
    ((place, made),) = unrolled([pods], Parameters({"n": 5.0, "long": "2s", "steady": True}))
    assert isinstance(made, CreatePods)
    assert (place, made.count, made.duration, made.steady_state) == (0, 5, "2s", True)


def test_a_set_of_pods_becomes_an_operation_for_each_namespace() -> None:
    inner = CreatePods(opcode="createPods", count_param="$pods")
    sets = CreatePodSets(opcode="createPodSets", count_param="$sets", namespace_prefix="ns", create_pods_op=inner)
    made = [step for _, step in unrolled([sets], Parameters({"pods": 7, "sets": 2}))]
    assert [(step.namespace, step.count) for step in made if isinstance(step, CreatePods)] == [("ns-0", 7), ("ns-1", 7)]


def test_unused_parameters_are_known() -> None:
    parameters = Parameters({"n": 1, "m": 2})
    list(unrolled([nodes("$n")], parameters))
    assert parameters.unused() == ["m"]


def test_a_parameter_that_the_workload_lacks_is_named_with_those_it_has() -> None:
    message = refusal(nodes("$ghost"), initNodes=5)
    assert message == ('workloadTemplate[1]: is not among the workload\'s params (got "$ghost"); those are $initNodes')


def test_a_parameter_without_a_dollar_is_refused() -> None:
    assert "workloadTemplate[1].countParam: names no parameter" in refusal(nodes("n"), n=5)


@pytest.mark.parametrize("value", ["many", True])
def test_a_value_of_the_wrong_type_is_refused(value: ParameterValue) -> None:
    assert "has the wrong type" in refusal(nodes("$n"), n=value)


@pytest.mark.parametrize(
    ("operation", "complaint"),
    [
        (CreateNodes(opcode="createNodes", count=-1), "workloadTemplate[1].count: cannot be used (got -1)"),
        (CreatePods(opcode="createPods", collect_metrics=True, skip_wait_to_completion=True), "collectMetrics"),
        (CreatePods(opcode="createPods", steady_state=True), "a steady state lasts longer than nothing"),
        (CreatePods(opcode="createPods", duration="soon"), 'duration: is not a duration (got "soon")'),
        (CreatePods(opcode="createPods", persistent_volume_template_path="x"), "or neither"),
        (Churn(opcode="churn", mode="sometimes"), 'mode: cannot be used (got "sometimes"); use "create" or "recreate"'),
        (
            Churn(opcode="churn", mode="recreate", template_paths=("x",)),
            "number: cannot be used (got 0); use 1 or more",
        ),
        (Churn(opcode="churn", mode="create"), "templatePaths: is missing"),
    ],
)
def test_values_that_make_no_sense_are_refused(operation: Operation, complaint: str) -> None:
    assert complaint in refusal(operation)


def test_a_count_is_multiplied_with_the_size_of_groups() -> None:
    pods = CreatePods(opcode="createPods", count_param="$groups", count_multiplier_param="$size")
    ((_, made),) = unrolled([pods], Parameters({"groups": 3, "size": 4}))
    assert isinstance(made, CreatePods)
    assert made.count == 12


def test_values_for_templates_are_parameters_with_defaults() -> None:
    given = {"size": "$size", "roots": "$roots|2", "selectors": "$selectors|", "devices": 10}
    parameters = Parameters({"size": [1]})
    ((_, made),) = unrolled([CreatePods(opcode="createPods", template_params=given)], parameters)
    assert isinstance(made, CreatePods)
    assert made.template_params == {"size": [1], "roots": 2, "selectors": None, "devices": 10}
    assert parameters.unused() == []


def test_a_value_for_a_template_without_a_default_is_required() -> None:
    operation = CreatePods(opcode="createPods", template_params={"size": "$size"})
    assert "is not among the workload's params" in refusal(operation, other=1)
