# SPDX-License-Identifier: Apache-2.0
"""Unknown and repeated fields are reported together, with their paths; any other error comes first."""

from __future__ import annotations

from tests.config.documents import configuration, with_args
from tests.config.failures import failure, texts

from steersman.config import DecodeKind


def test_all_unknown_fields_are_reported_with_paths() -> None:
    error = failure(
        configuration("""
            foo: 1
            profiles:
            - plugins: {score: {enable: []}}
            extenders:
            - tlsConfig: {bar: 1}
        """)
    )
    assert error.kind is DecodeKind.STRICT
    assert texts(error) == [
        'unknown field "extenders[0].tlsConfig.bar"',
        'unknown field "foo"',
        'unknown field "profiles[0].plugins.score.enable"',
    ]


def test_field_names_are_case_sensitive() -> None:
    assert texts(failure(configuration("Parallelism: 3\n"))) == ['unknown field "Parallelism"']


def test_repeated_keys_of_yaml_are_one_problem() -> None:
    error = failure(configuration("foo: 1\nfoo: 2\n"))
    assert texts(error) == ['unknown field "foo"', 'yaml: unmarshal errors:\n  line 4: key "foo" already set in map']


def test_repeated_keys_of_json_have_paths() -> None:
    error = failure(
        '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",'
        ' "leaderElection": {"leaderElect": true, "leaderElect": false}, "parallelism": 1, "parallelism": 2}'
    )
    assert texts(error) == ['duplicate field "leaderElection.leaderElect"', 'duplicate field "parallelism"']


def test_the_unknown_fields_of_one_argument_object_are_one_problem() -> None:
    error = failure(with_args("NodeAffinity", "foo: 1\nbar: 2\n"))
    assert texts(error) == [
        "decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin NodeAffinity: "
        'strict decoding error: unknown field "bar", unknown field "foo"'
    ]


def test_a_wrong_type_wins_over_unknown_fields() -> None:
    assert failure(configuration("foo: 1\nparallelism: x\n")).kind is DecodeKind.TYPE


def test_a_wrong_type_in_arguments_wins_over_unknown_fields_outside() -> None:
    document = with_args("InterPodAffinity", "hardPodAffinityWeight: x\n") + "foo: 1\n"
    assert failure(document).kind is DecodeKind.TYPE
