# SPDX-License-Identifier: Apache-2.0
"""How results of conformance specs on a sandbox are reported."""

from __future__ import annotations

from tests.upstream.sandbox_conformance import EXCLUSIONS, POLICY, GroupResult, reason_for, render
from tests.upstream.suite import Spec

from steersman.cluster.kubelets.policy import load_policy

WEBHOOK = "[sig-api-machinery] AdmissionWebhook should mutate configmap [Conformance]"
MUTATING = "[sig-api-machinery] MutatingAdmissionPolicy should mutate a Deployment [Conformance]"


def test_a_report_counts_unsupported_specs_as_not_passed_and_names_the_reason_of_every_spec_that_did_not_run() -> None:
    specs = [Spec("a", "passed", 1.0), Spec("b", "failed", 1.0, "no")]
    result = GroupResult("sig-api-machinery", specs, [WEBHOOK], [MUTATING])
    assert render([result]).splitlines() == [
        "passed   a",
        "failed   b",
        f"lacking  {MUTATING}: mutating admission policies are not evaluated",
        f"excluded {WEBHOOK}: calls a webhook that runs in a pod",
        "[sig-api-machinery] 1 of 3 specs passed, 1 excluded",
    ]
    assert result.failed == specs[1:]


def test_specs_without_containers_are_not_excluded() -> None:
    assert not reason_for("[sig-apps] Deployment deployment should support rollover [Conformance]", EXCLUSIONS)
    assert not reason_for("[sig-api-machinery] ResourceQuota should manage the lifecycle [Conformance]", EXCLUSIONS)


def test_the_policy_for_containers_of_specs_is_valid() -> None:
    assert load_policy(POLICY).rules
