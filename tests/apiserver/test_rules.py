# SPDX-License-Identifier: Apache-2.0
"""What clients may write: refusals over the API with code, reason and causes; defaults and pruning in what is stored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.apiserver.custom_resources import INVALID, VALID, database, definition
from tests.apiserver.embedded_api import PODS, EmbeddedApi, pod
from tests.apiserver.test_built_in_validation import BAD_OBJECTS, BAD_UPDATES
from tests.apiserver.test_watches import Watching

from steersman.cluster.apiserver import schema_validation
from steersman.cluster.store import Document

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DATABASES = "/apis/example.com/v1/namespaces/default/databases"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
PLURALS = {"ConfigMap": "configmaps", "PriorityClass": "priorityclasses"}


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


@pytest.fixture
def databases() -> EmbeddedApi:
    made = EmbeddedApi()
    made.create(DEFINITIONS, definition())
    return made


def collection(document: Document) -> str:
    """The path under which objects like this one are created."""
    kind, api_version = document["kind"], document["apiVersion"]
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    plural = PLURALS.get(kind, f"{kind.lower()}s")
    is_cluster_wide = kind in ("PriorityClass", "Namespace", "Node", "PersistentVolume")
    return f"{root}/{plural}" if is_cluster_wide else f"{root}/namespaces/default/{plural}"


def deployment(**spec: Any) -> Document:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    selector = {"matchLabels": {"app": "web"}}
    return {"metadata": {"name": "web"}, "spec": {"selector": selector, "template": template, **spec}}


def causes(status: Document) -> list[tuple[str, str]]:
    return [(cause["reason"], cause["field"]) for cause in status["details"]["causes"]]


@pytest.mark.parametrize("case", BAD_OBJECTS, ids=[case["refusal"][:60] for case in BAD_OBJECTS])
def test_a_bad_object_is_refused_by_the_api(cluster: EmbeddedApi, case: dict[str, Any]) -> None:
    code = 400 if "cannot be handled" in case["refusal"] else 422
    url = f"{collection(case['object'])}?fieldValidation=Strict"
    status = cluster.refusal(code, "POST", url, case["object"])
    assert status["message"] == case["refusal"]
    assert status["reason"] == ("BadRequest" if code == 400 else "Invalid")
    assert cluster.refusal(code, "POST", f"{url}&dryRun=All", case["object"]) == status


@pytest.mark.parametrize("case", BAD_UPDATES, ids=[case["refusal"][:60] for case in BAD_UPDATES])
def test_a_bad_update_is_refused_by_the_api(cluster: EmbeddedApi, case: dict[str, Any]) -> None:
    url = collection(case["object"])
    made = cluster.create(url, case["object"])
    status = cluster.refusal(
        422, "PATCH", f"{url}/{made['metadata']['name']}", case["patch"], **{"content-type": MERGE}
    )
    assert status["message"].split("\n")[0] == case["refusal"]


def test_all_patches_and_updates_are_checked_alike(cluster: EmbeddedApi) -> None:
    made = cluster.create(DEPLOYMENTS, deployment())
    url, wrong = f"{DEPLOYMENTS}/web?fieldManager=me", {"spec": {"replicas": -1}}
    whole = {**made, "spec": {**made["spec"], "replicas": -1}}
    operation = [{"op": "add", "path": "/spec/replicas", "value": -1}]
    applied = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, **wrong}
    refusals = [
        cluster.refusal(422, "PUT", url, whole),
        cluster.refusal(422, "PATCH", url, wrong, **{"content-type": MERGE}),
        cluster.refusal(422, "PATCH", url, wrong, **{"content-type": STRATEGIC}),
        cluster.refusal(422, "PATCH", url, operation, **{"content-type": JSON_PATCH}),
        cluster.refusal(422, "PATCH", f"{url}&force=true", applied, **{"content-type": APPLY}),
    ]
    assert [causes(status) for status in refusals] == [[("FieldValueInvalid", "spec.replicas")]] * 5
    assert cluster.get(f"{DEPLOYMENTS}/web") == made


def test_a_patch_with_a_value_of_the_wrong_type_is_invalid(cluster: EmbeddedApi) -> None:
    cluster.create(DEPLOYMENTS, deployment())
    patch = {"spec": {"replicas": "3"}}
    status = cluster.refusal(422, "PATCH", f"{DEPLOYMENTS}/web", patch, **{"content-type": MERGE})
    assert causes(status) == [("FieldValueInvalid", "patch")]
    assert "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas" in status["message"]


def test_unknown_fields_are_told_and_dropped(cluster: EmbeddedApi) -> None:
    answer = cluster.answer("POST", PODS, pod("web", colour="red"))
    assert answer.warnings == ('unknown field "spec.colour"',)
    assert "colour" not in cluster.get(f"{PODS}/web")["spec"]
    assert cluster.answer("POST", f"{PODS}?fieldValidation=Ignore", pod("db", colour="red")).warnings == ()


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def test_mounts_of_claims_of_a_stateful_set_are_known(cluster: EmbeddedApi) -> None:
    stateful = deployment(volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": CLAIM}])
    mounts = [{"name": "data", "mountPath": "/data"}]
    stateful["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = mounts
    cluster.create("/apis/apps/v1/namespaces/default/statefulsets", stateful)


def test_what_was_wrong_before_an_update_may_stay(cluster: EmbeddedApi) -> None:
    document = {**deployment(), "apiVersion": "apps/v1", "kind": "Deployment"}
    cluster.create(DEPLOYMENTS, document)
    kind = cluster.catalog.find("apps/v1", "deployments").stored_as  # type: ignore[union-attr]
    assert kind is not None
    stored = cluster.store.document(kind, "default/web")
    imageless = {**stored, "spec": {**stored["spec"], "template": {"metadata": {"labels": {"app": "web"}}}}}
    cluster.store.rewrite(cluster.store.get(kind, "default/web"), cluster.store.get(kind, "default/web"), imageless)
    cluster.patch(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"tier": "front"}}})
    status = cluster.refusal(422, "PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": -1}}, **{"content-type": MERGE})
    assert causes(status) == [("FieldValueInvalid", "spec.replicas")]


ONE_CPU = {"requests": {"cpu": "1"}}


def test_a_resize_may_change_what_an_update_may_not(cluster: EmbeddedApi) -> None:
    cluster.create(PODS, pod("web", containers=[{"name": "app", "image": "nginx", "resources": ONE_CPU}]))
    resized = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "2"}}}]}}
    cluster.refusal(422, "PATCH", f"{PODS}/web", resized, **{"content-type": STRATEGIC})
    changed = cluster.patch(f"{PODS}/web/resize", resized, STRATEGIC)
    assert changed["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}


@pytest.mark.parametrize("name", INVALID)
def test_a_custom_resource_that_breaks_its_schema_is_refused(databases: EmbeddedApi, name: str) -> None:
    status = databases.refusal(422, "POST", DATABASES, INVALID[name])
    assert status["reason"] == "Invalid"
    assert status["message"].startswith('Database.example.com "d" is invalid: ')
    assert status["details"]["causes"]
    databases.refusal(404, "GET", f"{DATABASES}/d")


@pytest.mark.parametrize("name", VALID)
def test_a_custom_resource_is_stored_with_defaults_and_without_unspecified_fields(
    databases: EmbeddedApi, name: str
) -> None:
    made = databases.create(DATABASES, VALID[name])
    assert "unknown" not in made["spec"]
    assert made["spec"]["mode"] in ("fast", "slow")
    assert databases.get(f"{DATABASES}/d") == made


def test_watchers_see_defaults_and_no_unspecified_fields(databases: EmbeddedApi) -> None:
    watching = Watching(databases, f"{DATABASES}?watch=1&resourceVersion={databases.store.resource_version}")
    databases.create(DATABASES, database(unknown=1))
    what, found = asyncio.run(watching.next())
    assert what == "ADDED"
    assert found["spec"]["mode"] in ("fast", "slow")
    assert "unknown" not in found["spec"]


def test_unspecified_fields_of_a_custom_resource_are_refused_when_requested(databases: EmbeddedApi) -> None:
    status = databases.refusal(400, "POST", f"{DATABASES}?fieldValidation=Strict", database(unknown=1))
    assert 'strict decoding error: unknown field "spec.unknown"' in status["message"]
    answer = databases.answer("POST", DATABASES, database(unknown=1))
    assert answer.warnings == ('unknown field "spec.unknown"',)


def test_transition_rules_see_what_was_there(databases: EmbeddedApi) -> None:
    databases.create(DATABASES, database(fixed="a"))
    url = f"{DATABASES}/d?fieldManager=me"
    applied = database(fixed="b")
    operation = [{"op": "replace", "path": "/spec/fixed", "value": "b"}]
    for patch, kind in (({"spec": {"fixed": "b"}}, MERGE), (operation, JSON_PATCH), (applied, APPLY)):
        forced = f"{url}&force=true" if kind == APPLY else url
        status = databases.refusal(422, "PATCH", forced, patch, **{"content-type": kind})
        assert causes(status)[0][1].startswith("spec")
    databases.patch(f"{DATABASES}/d", {"spec": {"size": 4}})


def test_an_applied_custom_resource_is_completed_too(databases: EmbeddedApi) -> None:
    answer = databases.answer("PATCH", f"{DATABASES}/d?fieldManager=me", database(), {"content-type": APPLY})
    assert answer.code == 201
    assert databases.get(f"{DATABASES}/d")["spec"]["mode"] in ("fast", "slow")


def test_a_definition_without_a_structural_schema_is_refused(cluster: EmbeddedApi) -> None:
    status = cluster.refusal(422, "POST", DEFINITIONS, definition({"type": "object", "properties": {"spec": {}}}))
    assert causes(status) == [("FieldValueRequired", "spec.validation.openAPIV3Schema.properties[spec].type")]


@pytest.mark.parametrize(("value", "is_known"), [(1, True), (1.0, True), (True, False), ("1", False), ([1], True)])
def test_values_of_an_enum_are_told_apart_as_in_json(cluster: EmbeddedApi, value: object, is_known: bool) -> None:
    choices = [1, "a", [1], *(f"v{number}" for number in range(500))]
    free = {"enum": choices, "x-kubernetes-preserve-unknown-fields": True}
    spec = {"type": "object", "properties": {"choice": free}}
    cluster.create(DEFINITIONS, definition({"type": "object", "properties": {"spec": spec}}))
    answer = cluster.answer("POST", DATABASES, {**database(), "spec": {"choice": value}})
    assert answer.code == (201 if is_known else 422)


def test_an_enum_is_searched_once_and_not_for_every_value(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counted(left: object, right: object) -> bool:
        nonlocal compared
        compared += 1
        return left == right

    monkeypatch.setattr(schema_validation, "is_same", counted)
    schema = {"type": "array", "items": {"type": "string", "enum": [f"v{number}" for number in range(1000)]}}
    assert list(schema_validation.problems_of_value(["v999"] * 1000, schema, "")) == []
    assert compared == 0


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (
            {"ownerReferences": ["x"]},
            "json: cannot unmarshal string into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
        ),
        ({"labels": {"a": 1}}, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
        ({"wrong": 1}, 'strict decoding error: unknown field "metadata.wrong"'),
    ],
)
def test_metadata_of_a_custom_resource_is_decoded_as_strictly_as_that_of_other_kinds(
    cluster: EmbeddedApi, metadata: dict[str, Any], problem: str
) -> None:
    cluster.create(DEFINITIONS, definition())
    wrong = {**database(size=1), "metadata": {"name": "a", **metadata}}
    status = cluster.refusal(400, "POST", f"{DATABASES}?fieldValidation=Strict", wrong)
    assert status["message"] == f'Database in version "v1" cannot be handled as a Database: {problem}'


def bounded(schema: Document, **bounds: int) -> Document:
    return {"type": "object", "properties": {"a": {"type": "array", "items": schema, **bounds}}}


NESTED = [{"rule": "self.a.all(x, self.a.exists(y, x == y))"}]
TEXT = {"type": "string"}
PAIR = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
SIX = "self.x < self.y && self.x > 1 && self.y > 2 && self.x != 7 && self.y != 9 && self.x + self.y < 100"


@pytest.mark.parametrize(
    ("spec", "factor"),
    [
        (bounded({**TEXT, "x-kubernetes-validations": [{"rule": "self != ''"}]}), ""),
        (bounded({**TEXT, "x-kubernetes-validations": [{"rule": "self.matches('^[a-z]+$')"}]}), "more than 100x"),
        ({**bounded(TEXT), "x-kubernetes-validations": NESTED}, "more than 100x"),
        ({**bounded(TEXT, maxItems=100), "x-kubernetes-validations": NESTED}, "more than 100x"),
        ({**bounded({**TEXT, "maxLength": 20}, maxItems=100), "x-kubernetes-validations": NESTED}, ""),
        (bounded({**PAIR, "x-kubernetes-validations": [{"rule": SIX}]}), "2.2x"),
        (bounded({**PAIR, "x-kubernetes-validations": [{"rule": SIX}]}, maxItems=1000), ""),
        (
            {
                **bounded({"type": "integer"}),
                "x-kubernetes-validations": [{"rule": "self.a.all(x, x < 5 && x > 1 && x != 3)"}],
            },
            "1.258291x",
        ),
    ],
)
def test_a_rule_is_refused_by_the_cost_that_its_schema_allows(
    cluster: EmbeddedApi, spec: Document, factor: str
) -> None:
    """The factors are those of a kube-apiserver v1.36.4."""
    made = definition({"type": "object", "properties": {"spec": spec}})
    if not factor:
        cluster.create(DEFINITIONS, made)
        return
    status = cluster.refusal(422, "POST", DEFINITIONS, made)
    assert f"estimated rule cost exceeds budget by factor of {factor} (try simplifying the rule" in status["message"]
    assert causes(status)[0][0] == "FieldValueForbidden"


def test_classes_of_an_invalid_pod_are_refused_before_its_other_faults() -> None:
    cluster = EmbeddedApi(api_server_admission=True)
    status = cluster.refusal(403, "POST", PODS, pod("p", runtimeClassName="A_b"))
    assert status["message"] == 'pods "p" is forbidden: pod rejected: RuntimeClass "A_b" not found'
    status = cluster.refusal(403, "POST", PODS, pod("p", preemptionPolicy="never"))
    assert "the string value of PreemptionPolicy (never) must not be provided" in status["message"]
    cluster.refusal(422, "POST", PODS, pod("p", restartPolicy="never"))
    assert cluster.get(PODS)["items"] == []
