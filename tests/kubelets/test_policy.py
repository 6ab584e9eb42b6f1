# SPDX-License-Identifier: Apache-2.0
"""Kubelet policies: which rule counts for which pod, and what is wrong with those that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.kubelets.kubelet_world import KubeletWorld

from steersman import api
from steersman.base.errors import InputError
from steersman.cluster.kubelets import (
    SANDBOX_POLICY,
    KubeletPolicy,
    PodSettings,
    PolicyRule,
    behaviour,
    check_annotations,
    load_policy,
)
from steersman.testing import PodBuilder, make_pod

HEADER = {"apiVersion": "steersman.dev/v1", "kind": "KubeletPolicy"}


def run_seconds(policy: KubeletPolicy, pod: PodBuilder) -> float | None:
    return behaviour(policy, pod.obj()).run_seconds()


def owned(kind: str) -> PodBuilder:
    return make_pod("web").owner(kind, "owner")


def rule(seconds: float, **which: Any) -> PolicyRule:
    return PolicyRule(pods=PodSettings(run_seconds=seconds), **which)


def test_the_first_rule_that_matches_counts() -> None:
    policy = KubeletPolicy(
        pods=PodSettings(run_seconds=1, start_seconds=9),
        rules=(
            rule(2, selector=api.LabelSelector(match_labels={"app": "db"})),
            rule(3, owner_kinds=("Job",)),
            rule(4, namespaces=("default",), owner_kinds=("Deployment",)),
            rule(5, namespaces=("other",)),
        ),
    )
    assert run_seconds(policy, make_pod("web")) == 1
    assert run_seconds(policy, make_pod("web").label("app", "db")) == 2
    assert run_seconds(policy, owned("Job").label("app", "db")) == 2
    assert run_seconds(policy, owned("Job")) == 3
    assert run_seconds(policy, owned("ReplicaSet")) == 4
    assert behaviour(policy, owned("Job").obj()).start_seconds() == 9


def test_annotations_come_before_the_policy() -> None:
    policy = KubeletPolicy(pods=PodSettings(run_seconds=1, start_seconds=9))
    told = behaviour(policy, make_pod("web").annotation("steersman.dev/run-seconds", "7").obj())
    assert (told.run_seconds(), told.start_seconds()) == (7, 9)


def test_distributions_depend_on_pod_and_seed() -> None:
    pod, other = (make_pod(name).uid(name) for name in ("one", "other"))
    policies = [KubeletPolicy(seed=seed, pods=PodSettings(run_seconds="uniform(0,100)")) for seed in (1, 2)]
    drawn = {run_seconds(policy, some) for policy in policies for some in (pod, other)}
    assert len(drawn) == 4
    assert run_seconds(policies[0], pod) in drawn


def test_a_policy_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("""
apiVersion: steersman.dev/v1
kind: KubeletPolicy
seed: 7
statuses: Full
rebootSeconds: 2m
pods: {startSeconds: 2, imagePullSeconds: "uniform(1, 5)"}
rules:
- ownerKinds: [Job]
  selector: {matchLabels: {tier: batch}}
  pods: {runSeconds: exponential(mean=30), exitCodes: [1, 0], readyAfterSeconds: never}
""")
    policy = load_policy(file)
    assert (policy.seed, policy.statuses, policy.reboot_seconds) == (7, "Full", "2m")
    assert policy.rules[0].pods.exit_codes == (1, 0)
    assert load_policy({**HEADER, "seed": 7}) == KubeletPolicy(seed=7)
    assert load_policy(policy) is policy
    assert load_policy(None) == KubeletPolicy()


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (
            {"kind": "KubeletPolicy"},
            r"is no KubeletPolicy .*write apiVersion: steersman\.dev/v1 and kind: KubeletPolicy",
        ),
        (
            {**HEADER, "pods": {"runSecond": 1}},
            r'pods\.runSecond: is not a field here \(got 1\); did you mean "runSeconds"\?',
        ),
        ({**HEADER, "pods": {"runSeconds": "soon"}}, r"KubeletPolicy: pods\.runSeconds: is not a number of seconds"),
        ({**HEADER, "pods": {"runSeconds": "never"}}, r"pods\.runSeconds: is not a number of seconds"),
        (
            {**HEADER, "rules": [{"pods": {"exitCodes": [300]}}]},
            r"rules\[0\]\.pods\.exitCodes: is not a list of exit codes",
        ),
        (
            {**HEADER, "rules": [{"pods": {"exitCodes": []}}]},
            r"rules\[0\]\.pods\.exitCodes: is not a list of exit codes",
        ),
        ({**HEADER, "rebootSeconds": -1}, "rebootSeconds: is not a number of seconds"),
        ({**HEADER, "statuses": "Some"}, "statuses"),
        (
            {**HEADER, "rules": [{"pods": {}, "selector": {"matchLabel": {"a": "b"}}}]},
            r'rules\[0\]\.selector\.matchLabel: is not a field here .*; did you mean "matchLabels"\?',
        ),
        (
            {**HEADER, "rules": [{"pods": {}, "selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}]},
            r"rules\[0\]\.selector",
        ),
    ],
)
def test_what_is_wrong_with_a_policy_is_reported(document: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        load_policy(document)


@pytest.mark.parametrize("text", ["[", "a: 1\n---\nb: 2\n", "", "- 1"])
def test_a_file_that_holds_no_policy_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"policy\.yaml"):
        load_policy(file)
    with pytest.raises(InputError, match="cannot be read"):
        load_policy(tmp_path / "missing.yaml")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("run-second", "3", r"is not a known annotation of pods .*did you mean steersman\.dev/run-seconds\?"),
        ("color", "red", r"is not a known annotation of pods .*there are steersman\.dev/start-seconds"),
        ("exit-codes", "one", "is not a list of exit codes"),
        ("exit-codes", "256", "is not a list of exit codes"),
        ("start-seconds", "never", "is not a number of seconds"),
        ("run-seconds.nobody", "3", "is not a container of the pod .*the pod has con0"),
        ("stop-seconds.con0", "3", "is not a known annotation of pods"),
    ],
)
def test_what_is_wrong_with_an_annotation_is_reported(name: str, text: str, complaint: str) -> None:
    pod = make_pod("web").req(cpu="1").annotation(f"steersman.dev/{name}", text).obj()
    with pytest.raises(InputError, match=f"Pod default/web: metadata.annotations.*{complaint}"):
        check_annotations(pod)


def test_annotations_of_others_do_not_concern_kubelets() -> None:
    check_annotations(make_pod("web").annotation("example.com/run-seconds", "soon").obj())


def test_one_bad_pod_does_not_stop_the_others() -> None:
    world = KubeletWorld(survives_bad_pods=True)
    world.run(make_pod("web").annotation("steersman.dev/run-seconds", "soon"))
    status = world.pod().status
    assert (status.phase, status.reason) == ("Failed", "InvalidAnnotation")
    assert "metadata.annotations[steersman.dev/run-seconds]: is not a number of seconds" in status.message
    assert world.events[0][0] == "InvalidAnnotation"
    assert world.run(make_pod("other")).status.phase == "Running"


@pytest.mark.parametrize(("restart_policy", "seconds"), [("Never", 1.0), ("OnFailure", 1.0), ("Always", None)])
def test_pods_of_a_sandbox_that_are_meant_to_end_succeed_after_a_second(
    restart_policy: str, seconds: float | None
) -> None:
    pod = make_pod("web").restart_policy(restart_policy)
    assert run_seconds(SANDBOX_POLICY, pod) == seconds
    assert run_seconds(SANDBOX_POLICY, pod.annotation("steersman.dev/run-seconds", "7")) == 7


def test_an_unknown_restart_policy_in_a_rule_is_refused() -> None:
    document = HEADER | {"rules": [{"restartPolicies": ["never"], "pods": {"runSeconds": 1}}]}
    with pytest.raises(InputError, match=r"rules\[0\].restartPolicies.*Always, OnFailure, Never"):
        load_policy(document)
