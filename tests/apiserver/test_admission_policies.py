# SPDX-License-Identifier: Apache-2.0
"""ValidatingAdmissionPolicies, in the words of a kube-apiserver v1.36.4."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.embedded_api import CONFIG_MAPS, EmbeddedApi, config_map

from steersman.cluster.store import Document

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{REGISTRATION}/validatingadmissionpolicies"
BINDINGS = f"{REGISTRATION}/validatingadmissionpolicybindings"
DENIED = "ValidatingAdmissionPolicy 'colours' with binding 'everywhere' denied request: {}"
RED = {"expression": "object.data.colour == 'red'", "message": "colours are red"}


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


def policy(*validations: Document, **spec: Any) -> Document:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    constraints = {"resourceRules": [rule]} | spec.pop("constraints", {})
    made = {"matchConstraints": constraints, "validations": list(validations), **spec}
    return {"metadata": {"name": "colours"}, "spec": made}


def binding(*actions: str, **spec: Any) -> Document:
    made = {"policyName": "colours", "validationActions": list(actions or ("Deny",)), **spec}
    return {"metadata": {"name": "everywhere"}, "spec": made}


def install(cluster: EmbeddedApi, policy: Document, binding: Document) -> None:
    cluster.create(POLICIES, policy)
    cluster.create(BINDINGS, binding)


def blue(name: str = "c") -> Document:
    return config_map(name, data={"colour": "blue"})


def test_an_object_that_fails_an_expression_is_denied(cluster: EmbeddedApi) -> None:
    install(cluster, policy(RED), binding())
    status = cluster.refusal(422, "POST", CONFIG_MAPS, blue())
    why = DENIED.format("colours are red")
    assert status["message"] == f'configmaps "c" is forbidden: {why}'
    assert status["reason"] == "Invalid"
    assert status["details"] == {"name": "c", "kind": "configmaps", "causes": [{"message": why}]}
    cluster.create(CONFIG_MAPS, config_map("c", data={"colour": "red"}))
    assert "colours are red" in cluster.refusal(422, "PUT", f"{CONFIG_MAPS}/c", blue())["message"]


@pytest.mark.parametrize(
    ("validation", "code", "message"),
    [
        ({"expression": " object.data.colour == 'red' "}, 422, "failed expression: object.data.colour == 'red'"),
        ({**RED, "messageExpression": "object.data.colour + ' is wrong'"}, 422, "blue is wrong"),
        ({**RED, "messageExpression": "object.data.none"}, 422, "colours are red"),
        ({**RED, "reason": "Forbidden"}, 403, "colours are red"),
        (
            {"expression": "object.data.size == '1'"},
            422,
            "expression 'object.data.size == '1'' resulted in error: no such key",
        ),
    ],
)
def test_the_message_and_the_reason_are_those_of_the_validation(
    cluster: EmbeddedApi, validation: Document, code: int, message: str
) -> None:
    install(cluster, policy(validation), binding())
    assert DENIED.format(message) in cluster.refusal(code, "POST", CONFIG_MAPS, blue())["message"]


def test_a_failing_expression_admits_with_failure_policy_ignore(cluster: EmbeddedApi) -> None:
    install(cluster, policy({"expression": "object.data.size == '1'"}, failurePolicy="Ignore"), binding())
    cluster.create(CONFIG_MAPS, blue())


def test_a_binding_may_warn_instead_of_deny(cluster: EmbeddedApi) -> None:
    install(cluster, policy(RED), binding("Warn", "Audit"))
    answer = cluster.answer("POST", CONFIG_MAPS, blue())
    warning = "Validation failed for ValidatingAdmissionPolicy 'colours' with binding 'everywhere': colours are red"
    assert (answer.code, answer.warnings) == (201, (warning,))


@pytest.mark.parametrize(
    "spec",
    [
        {"matchConditions": [{"name": "named", "expression": "object.metadata.name != 'c'"}]},
        {"constraints": {"objectSelector": {"matchLabels": {"checked": "yes"}}}},
        {"constraints": {"namespaceSelector": {"matchLabels": {"env": "prod"}}}},
        {
            "constraints": {
                "resourceRules": [{"apiGroups": ["*"], "operations": ["*"], "resources": ["secrets", "pods/*"]}]
            }
        },
        {
            "constraints": {
                "resourceRules": [{"apiGroups": [""], "operations": ["DELETE"], "resources": ["configmaps"]}]
            }
        },
        {"constraints": {"excludeResourceRules": [{"apiGroups": [""], "operations": ["*"], "resources": ["*"]}]}},
    ],
)
def test_a_policy_leaves_alone_what_it_does_not_match(cluster: EmbeddedApi, spec: Document) -> None:
    install(cluster, policy(RED, **spec), binding())
    cluster.create(CONFIG_MAPS, blue())


def test_a_policy_without_a_binding_does_nothing(cluster: EmbeddedApi) -> None:
    cluster.create(POLICIES, policy(RED))
    cluster.create(CONFIG_MAPS, blue())


def test_a_binding_narrows_its_policy(cluster: EmbeddedApi) -> None:
    chosen = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}
    install(cluster, policy(RED), binding(matchResources=chosen))
    cluster.create("/api/v1/namespaces", {"metadata": {"name": "other"}})
    cluster.create(CONFIG_MAPS, blue())
    cluster.refusal(422, "POST", CONFIG_MAPS.replace("default", "other"), blue())


def test_params_variables_and_the_namespace_are_known_to_expressions(cluster: EmbeddedApi) -> None:
    validation = {
        "expression": "object.data.colour == variables.wanted",
        "messageExpression": "variables.wanted + ' in ' + namespaceObject.metadata.name + ', ' + request.userInfo.username",
    }
    variables = [{"name": "wanted", "expression": "params.data.colour"}]
    spec = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "variables": variables}
    reference = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    install(cluster, policy(validation, **spec), binding(paramRef=reference))
    refused = cluster.refusal(422, "POST", CONFIG_MAPS, config_map("limits", data={"colour": "red"}))
    assert "no params found for policy binding with `Deny` parameterNotFoundAction" in refused["message"]
    cluster.delete(f"{BINDINGS}/everywhere")
    cluster.create(CONFIG_MAPS, config_map("limits", data={"colour": "red"}))
    cluster.create(BINDINGS, binding(paramRef=reference))
    assert "red in default, somebody" in cluster.refusal(422, "POST", CONFIG_MAPS, blue())["message"]
    cluster.create(CONFIG_MAPS, config_map("d", data={"colour": "red"}))


def test_a_deletion_is_judged_by_the_old_object(cluster: EmbeddedApi) -> None:
    rule = {"apiGroups": [""], "operations": ["DELETE"], "resources": ["configmaps"]}
    kept = {"expression": "object == null && oldObject.metadata.name != 'precious'", "message": "it is precious"}
    install(cluster, policy(kept, constraints={"resourceRules": [rule]}), binding())
    for name in ("precious", "other"):
        cluster.create(CONFIG_MAPS, blue(name))
    assert "it is precious" in cluster.refusal(422, "DELETE", f"{CONFIG_MAPS}/precious")["message"]
    cluster.delete(f"{CONFIG_MAPS}/other")
    cluster.refusal(422, "DELETE", CONFIG_MAPS)
    cluster.get(f"{CONFIG_MAPS}/precious")


def test_a_policy_can_always_be_removed(cluster: EmbeddedApi) -> None:
    everything = {"apiGroups": ["*"], "operations": ["*"], "resources": ["*"]}
    never = {"expression": "false"}
    install(cluster, policy(never, constraints={"resourceRules": [everything]}), binding())
    cluster.refusal(422, "POST", CONFIG_MAPS, blue())
    cluster.delete(f"{BINDINGS}/everywhere")
    cluster.create(CONFIG_MAPS, blue())


def test_a_dry_run_is_judged_too(cluster: EmbeddedApi) -> None:
    install(cluster, policy(RED), binding())
    cluster.refusal(422, "POST", f"{CONFIG_MAPS}?dryRun=All", blue())
