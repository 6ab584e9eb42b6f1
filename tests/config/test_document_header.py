# SPDX-License-Identifier: Apache-2.0
"""Documents are told apart by apiVersion and kind before anything else."""

from __future__ import annotations

import pytest
from tests.config.documents import HEADER
from tests.config.failures import failure

from steersman.config import ConfigStage, DecodeKind, load


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", DecodeKind.MISSING_KIND),
        ("null\n", DecodeKind.MISSING_KIND),
        ("apiVersion: kubescheduler.config.k8s.io/v1\n", DecodeKind.MISSING_KIND),
        ("kind: KubeSchedulerConfiguration\n", DecodeKind.MISSING_VERSION),
        ("apiVersion: kubescheduler.config.k8s.io/\nkind: KubeSchedulerConfiguration\n", DecodeKind.MISSING_VERSION),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n",
            DecodeKind.NOT_REGISTERED,
        ),
        ("apiVersion: v1\nkind: Pod\n", DecodeKind.NOT_REGISTERED),
        ("apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs\n", DecodeKind.WRONG_KIND),
        ("[]\n", DecodeKind.MALFORMED),
        ("foo\n", DecodeKind.MALFORMED),
        ("apiVersion: 1\nkind: 2\n", DecodeKind.MALFORMED),
        ("apiVersion: a/b/c\nkind: X\n", DecodeKind.MALFORMED),
        ('{"apiVersion": "kubescheduler.config.k8s.io/v1",}', DecodeKind.MALFORMED),
        ("{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}\n", DecodeKind.MALFORMED),
    ],
)
def test_a_document_that_is_no_configuration_is_refused(text: str, kind: DecodeKind) -> None:
    error = failure(text)
    assert (error.stage, error.kind) == (ConfigStage.DECODE, kind)


def test_a_header_in_other_letters_is_found_but_its_fields_are_unknown() -> None:
    error = failure("APIVERSION: kubescheduler.config.k8s.io/v1\nKind: KubeSchedulerConfiguration\n")
    assert error.kind is DecodeKind.STRICT
    assert [problem.text for problem in error.errors] == ['unknown field "APIVERSION"', 'unknown field "Kind"']


def test_json_is_accepted() -> None:
    text = '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 3}'
    assert load(text).parallelism == 3


def test_a_policy_is_told_to_be_converted() -> None:
    assert "convert a Policy first" in str(failure("apiVersion: v1\nkind: Policy\n"))


def test_the_internal_version_gets_no_defaults() -> None:
    error = failure(HEADER.replace("/v1", "/__internal"))
    assert error.stage is ConfigStage.VALIDATE
    assert [problem.field for problem in error.errors] == ["parallelism", "profiles", "podInitialBackoffSeconds"]


def test_deeply_nested_documents_are_refused_without_a_crash() -> None:
    assert failure("[" * 5000).kind is DecodeKind.MALFORMED
    assert failure('{"a":' * 100_000).kind is DecodeKind.MALFORMED
