# SPDX-License-Identifier: Apache-2.0
"""A configuration is printed as kube-scheduler prints it, and reads back as itself."""

from __future__ import annotations

from tests.config.documents import configuration, with_args

from steersman.config import default_configuration, dump_yaml, load, to_document


def test_defaults_are_spelled_out() -> None:
    document = to_document(default_configuration())
    assert document["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert document["leaderElection"] == {
        "leaderElect": True,
        "leaseDuration": "15s",
        "renewDeadline": "10s",
        "resourceLock": "leases",
        "resourceName": "kube-scheduler",
        "resourceNamespace": "kube-system",
        "retryPeriod": "2s",
    }
    assert "extenders" not in document


def test_durations_are_printed_as_text_and_bytes_as_base64() -> None:
    config = load(configuration("extenders: [{httpTimeout: 90s, tlsConfig: {caData: YWJj}}]\n"))
    assert to_document(config)["extenders"] == [
        {"urlPrefix": "", "tlsConfig": {"caData": "YWJj"}, "httpTimeout": "1m30s"}
    ]


def test_an_unset_list_is_null_where_it_is_always_printed() -> None:
    required = "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: %s}\n"
    printed = [
        to_document(load(with_args("NodeAffinity", required % selector)))["profiles"][0]["pluginConfig"][0]["args"]  # type: ignore[index, call-overload]
        for selector in ("{}", "{nodeSelectorTerms: []}")
    ]
    terms = [
        args["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]  # type: ignore[index, call-overload]
        for args in printed
    ]
    assert terms == [None, []]


def test_strings_that_yaml_would_misread_are_quoted() -> None:
    config = load(
        configuration("profiles:\n- schedulerName: 'y'\n  pluginConfig: [{name: Mine, args: {a: '1e2', b: 'no'}}]\n")
    )
    text = dump_yaml(config)
    assert 'schedulerName: "y"' in text
    assert load(text) == config
