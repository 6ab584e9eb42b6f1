# SPDX-License-Identifier: Apache-2.0
"""Fields accept the JSON types that kube-scheduler accepts, and name themselves when they get another."""

from __future__ import annotations

import pytest
from tests.config.documents import configuration, with_args
from tests.config.failures import failure

from steersman.config import DecodeKind, load


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("parallelism: abc\n", "parallelism"),
        ("parallelism: 3.5\n", "parallelism"),
        ("parallelism: 2147483648\n", "parallelism"),
        ("parallelism: [1]\n", "parallelism"),
        ("enableProfiling: 'yes'\n", "DebuggingConfiguration.enableProfiling"),
        ("profiles: x\n", "profiles"),
        ("profiles: [x]\n", "profiles"),
        ("profiles:\n- schedulerName: 5\n", "profiles.schedulerName"),
        ("profiles:\n- plugins: {score: {enabled: [{weight: '1'}]}}\n", "profiles.plugins.score.enabled.weight"),
        ("leaderElection: {leaseDuration: 15}\n", "leaderElection.leaseDuration"),
        ("clientConnection: {qps: '5'}\n", "clientConnection.qps"),
        ("clientConnection: {qps: 1e39}\n", "clientConnection.qps"),
    ],
)
def test_a_wrong_type_names_the_field_without_indices(body: str, field: str) -> None:
    error = failure(configuration(body))
    assert error.kind is DecodeKind.TYPE
    assert error.errors[0].field == field


def test_a_wrong_type_in_arguments_names_the_place_of_the_arguments() -> None:
    error = failure(with_args("NodeResourcesFit", "scoringStrategy: {resources: [{weight: x}]}\n"))
    assert error.errors[0].field == "profiles[0].pluginConfig[0].args.scoringStrategy.resources.weight"
    assert error.errors[0].text.startswith(
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeResourcesFit: "
    )


def test_the_first_wrong_type_in_the_order_of_keys_is_reported() -> None:
    assert failure(configuration("profiles: 1\nextenders: 1\n")).errors[0].field == "extenders"


@pytest.mark.parametrize(
    "body",
    [
        "leaderElection: {leaseDuration: 15 seconds}\n",
        "leaderElection: {leaseDuration: null}\n",
        "extenders:\n- httpTimeout: ''\n",
        "extenders:\n- tlsConfig: {caData: '*'}\n",
        "clientConnection: {qps: .nan}\n",
    ],
)
def test_a_text_without_meaning_is_a_bad_value(body: str) -> None:
    assert failure(configuration(body)).kind is DecodeKind.VALUE


def test_a_bad_duration_wins_over_an_earlier_wrong_type() -> None:
    assert failure(configuration("extenders: 1\nleaderElection: {leaseDuration: x}\n")).kind is DecodeKind.VALUE


@pytest.mark.parametrize("number", ["10", "1e1", "10.0", "0xa", "012", "1_0"])
def test_yaml_numbers_with_an_integral_value_are_integers(number: str) -> None:
    assert load(configuration(f"parallelism: {number}\n")).parallelism == 10


def test_json_numbers_must_be_written_as_integers() -> None:
    text = '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 3.0}'
    assert failure(text).kind is DecodeKind.TYPE


def test_null_means_not_given() -> None:
    config = load(configuration("parallelism: null\nprofiles: null\nleaderElection: null\nextenders:\n- null\n"))
    assert config.parallelism == 16
    assert config.profiles[0].scheduler_name == "default-scheduler"
    assert config.extenders[0].url_prefix == ""


def test_bytes_may_be_a_list_of_numbers() -> None:
    config = load(configuration("extenders:\n- tlsConfig: {caData: [97, 98]}\n"))
    assert config.extenders[0].tls_config is not None
    assert config.extenders[0].tls_config.ca_data == b"ab"


def test_arguments_must_be_a_mapping() -> None:
    assert failure(with_args("NodeAffinity", "- x\n")).kind is DecodeKind.MALFORMED


def test_arguments_of_another_kind_are_refused() -> None:
    document = with_args("NodeAffinity", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: DefaultPreemptionArgs\n")
    error = failure(document)
    assert error.kind is DecodeKind.WRONG_KIND
    assert error.errors[0].text == (
        "decoding .profiles[0].pluginConfig[0]: args for plugin NodeAffinity were not of type "
        "NodeAffinityArgs.kubescheduler.config.k8s.io, got DefaultPreemptionArgs.kubescheduler.config.k8s.io"
    )


def test_arguments_of_an_unknown_kind_are_refused() -> None:
    assert failure(with_args("NodeAffinity", "kind: FooArgs\n")).kind is DecodeKind.NOT_REGISTERED


def test_arguments_of_other_plugins_are_passed_through() -> None:
    config = load(with_args("MyPlugin", "a: [1, {b: 2.5}]\n"))
    assert config.profiles[0].plugin_config[0].args == {"a": [1, {"b": 2.5}]}
