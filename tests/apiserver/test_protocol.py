# SPDX-License-Identifier: Apache-2.0
"""Requests that a kube-apiserver v1.36.4 refuses or answers in a certain way, whatever the objects are about."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.custom_resources import database, definition
from tests.apiserver.embedded_api import CONFIG_MAPS, PODS, EmbeddedApi, config_map, pod

from steersman import api
from steersman.cluster.store import Document
from steersman.testing import make_pod

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
YAML = "application/yaml"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DATABASES = "/apis/example.com/v1/namespaces/default/databases"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
NODE = {"kind": "Node", "name": "n"}
MAP = {"apiVersion": "v1", "kind": "ConfigMap"}
MANY_X = "x" * 129


@pytest.fixture
def cluster() -> EmbeddedApi:
    made = EmbeddedApi()
    made.create(CONFIG_MAPS, config_map("a", data={"x": "y"}))
    made.create(PODS, pod("p"))
    return made


def deployment() -> Document:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def named(name: str, **metadata: Any) -> Document:
    return {**MAP, "metadata": {"name": name, **metadata}}


OPTIONS = '{}.meta.k8s.io "" is invalid: {}'
UNDETERMINABLE = "the name of the object (a based on URL) was undeterminable: name must be provided"
REFUSED_REQUESTS = [
    ("PUT", "/a", {**MAP, "metadata": {}}, "", 400, UNDETERMINABLE),
    ("PUT", "/a", named("a", uid="x"), "", 409, "StorageError: invalid object, Code: 4, Key: /registry/configmaps/"),
    ("PUT", "/a", named("a", resourceVersion="x"), "", 500, 'strconv.ParseUint: parsing "x": invalid syntax'),
    ("PATCH", "/a", {"metadata": {"uid": "x"}}, MERGE, 422, 'metadata.uid: Invalid value: "x": field is immutable'),
    ("PATCH", "/a", {"kind": "Secret"}, MERGE, 422, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
    ("PATCH", "/a?force=true", {}, MERGE, 422, "force: Forbidden: may not be specified for non-apply patch"),
    ("PATCH", "/b", named("b"), APPLY, 422, "fieldManager: Required value: is required for apply patch"),
    ("PATCH", "/b?fieldManager=m", {"metadata": {"name": "b"}}, APPLY, 400, "invalid object type: /, Kind="),
    ("PATCH", "/a?fieldManager=m", MAP, APPLY, 400, UNDETERMINABLE),
    (
        "PATCH",
        "/b?fieldManager=m",
        named("b", uid="x"),
        APPLY,
        409,
        "uid mismatch: the provided object specified uid x",
    ),
    ("PATCH", "/b?fieldManager=m", {**named("b"), "dta": {}}, APPLY, 500, ".dta: field not declared in schema"),
    (
        "POST",
        "",
        named("b", resourceVersion="1"),
        "",
        500,
        "resourceVersion should not be set on objects to be created",
    ),
    ("POST", "", {**named("b"), "kind": "Nope"}, "", 400, 'no kind "Nope" is registered for version "v1" in scheme'),
    (
        "POST",
        "",
        {**MAP, "metadata": "x"},
        "",
        400,
        "cannot unmarshal string into Go struct field ConfigMap.metadata of",
    ),
    ("POST", "?dryRun=x", named("b"), "", 422, OPTIONS.format("CreateOptions", 'dryRun: Unsupported value: ["x"]')),
    ("POST", "?dryRun=", named("b"), "", 422, 'dryRun: Unsupported value: [""]: supported values: "All"'),
    ("PUT", "/a?dryRun=x", named("a"), "", 422, OPTIONS.format("UpdateOptions", "dryRun")),
    ("PATCH", "/a?dryRun=x", {}, MERGE, 422, OPTIONS.format("PatchOptions", "dryRun")),
    ("DELETE", "/a?dryRun=x", None, "", 422, OPTIONS.format("DeleteOptions", "dryRun")),
    ("POST", f"?fieldManager={MANY_X}", named("b"), "", 422, "fieldManager: Too long: may not be more than 128 bytes"),
    ("POST", "?fieldManager=a%01b", named("b"), "", 422, "invalid character U+0001 (at position 1)"),
    ("DELETE", "/a", {"kind": "ConfigMap", "apiVersion": "v1"}, "", 400, 'no kind "ConfigMap" is registered'),
    ("DELETE", "/a?gracePeriodSeconds=x", None, "", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ("DELETE", "/a?propagationPolicy=Orphan&orphanDependents=true", None, "", 422, "cannot be both set"),
    ("GET", "?limit=x", None, "", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ("GET", "?timeoutSeconds=x", None, "", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ("GET", "?sendInitialEvents=true", None, "", 422, "sendInitialEvents is forbidden for list"),
    ("GET", "?resourceVersion=99999", None, "", 504, "Timeout: Too large resource version: 99999, current: "),
    ("GET", "/a?resourceVersion=99999", None, "", 504, "Timeout: Too large resource version: 99999, current: "),
    ("GET", "?fieldSelector=spec.x=1", None, "", 400, '"spec.x" is not a known field selector: only "metadata.name", '),
    ("GET", "?labelSelector=a%20in%20b", None, "", 400, "unable to parse requirement: found 'b' expected: '('"),
    ("GET", "?labelSelector=a=b=c", None, "", 400, "found '=', expected: ',' or 'end of string'"),
    ("GET", "?labelSelector=,", None, "", 400, "found ',', expected: !, identifier, or 'end of string'"),
]


@pytest.mark.parametrize(("method", "path", "body", "content_type", "code", "message"), REFUSED_REQUESTS)
def test_a_request_that_a_kube_apiserver_refuses_is_refused_in_its_words(
    cluster: EmbeddedApi, method: str, path: str, body: object, content_type: str, code: int, message: str
) -> None:
    before = cluster.get(CONFIG_MAPS)["items"]
    headers = {"content-type": content_type or "application/json"}
    status = cluster.refusal(code, method, CONFIG_MAPS + path, body, **headers)
    assert message in status["message"]
    assert cluster.get(CONFIG_MAPS)["items"] == before


def test_a_lease_is_updated_only_with_the_version_that_it_replaces(cluster: EmbeddedApi) -> None:
    lease: Document = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}
    made = cluster.create(LEASES, lease)
    status = cluster.refusal(422, "PUT", f"{LEASES}/l", lease)
    assert status["message"].endswith("metadata.resourceVersion: Invalid value: 0: must be specified for an update")
    cluster.update(f"{LEASES}/l", made)


def test_no_finalizer_is_added_to_an_object_that_is_being_deleted(cluster: EmbeddedApi) -> None:
    cluster.create(CONFIG_MAPS, named("f", finalizers=["x.io/a"]))
    cluster.delete(f"{CONFIG_MAPS}/f")
    patch = {"metadata": {"finalizers": ["x.io/a", "x.io/b"]}}
    status = cluster.refusal(422, "PATCH", f"{CONFIG_MAPS}/f", patch, **{"content-type": MERGE})
    assert 'found new finalizers []string{"x.io/b"}' in status["message"]


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        (
            {"kind": "Pod", "name": "n"},
            500,
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        ),
        ({"kind": "Node"}, 500, "target.name: Required value"),
    ],
)
def test_a_pod_is_bound_to_a_named_node_only(cluster: EmbeddedApi, target: Document, code: int, message: str) -> None:
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": target}
    assert cluster.refusal(code, "POST", f"{PODS}/p/binding", binding)["message"] == message
    assert "nodeName" not in cluster.get(f"{PODS}/p")["spec"]


@pytest.mark.parametrize(("part", "kind"), [("eviction", "Eviction"), ("binding", "Binding")])
def test_a_subresource_takes_its_own_kind_only(cluster: EmbeddedApi, part: str, kind: str) -> None:
    status = cluster.refusal(400, "POST", f"{PODS}/p/{part}", pod("p"))
    assert f"cannot be handled as a {kind}" in status["message"]
    cluster.get(f"{PODS}/p")


def test_a_second_binding_names_the_subresource(cluster: EmbeddedApi) -> None:
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": NODE}
    cluster.create(f"{PODS}/p/binding", binding)
    assert cluster.refusal(409, "POST", f"{PODS}/p/binding", binding)["details"]["kind"] == "pods/binding"


def test_an_eviction_with_a_dry_run_in_the_query_evicts_nothing(cluster: EmbeddedApi) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert cluster.create(f"{PODS}/p/eviction?dryRun=All", eviction)["status"] == "Success"
    assert "deletionTimestamp" not in cluster.get(f"{PODS}/p")["metadata"]
    cluster.create(f"{PODS}/p/eviction", eviction)
    cluster.refusal(404, "GET", f"{PODS}/p")


def test_a_dry_run_may_create_an_object_with_a_resource_version(cluster: EmbeddedApi) -> None:
    cluster.create(f"{CONFIG_MAPS}?dryRun=All", named("b", resourceVersion="1"))
    cluster.refusal(404, "GET", f"{CONFIG_MAPS}/b")


def test_a_scale_can_be_applied(cluster: EmbeddedApi) -> None:
    cluster.create(DEPLOYMENTS, deployment())
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 5}}
    url = f"{DEPLOYMENTS}/web/scale?fieldManager=me"
    assert "conflict" in cluster.refusal(409, "PATCH", url, scale, **{"content-type": APPLY})["message"]
    assert cluster.patch(f"{url}&force=true", scale, APPLY)["spec"] == {"replicas": 5}
    managers = cluster.get(f"{DEPLOYMENTS}/web")["metadata"]["managedFields"]
    assert [(one["manager"], one["subresource"]) for one in managers if "subresource" in one] == [("me", "scale")]


def test_a_patch_of_the_status_may_annotate_the_object(cluster: EmbeddedApi) -> None:
    patch = {"metadata": {"annotations": {"a": "b"}}, "spec": {"nodeName": "z"}, "status": {"reason": "R"}}
    patched = cluster.patch(f"{PODS}/p/status", patch)
    assert patched["metadata"]["annotations"] == {"a": "b"}
    assert patched["status"]["reason"] == "R"
    assert "nodeName" not in patched["spec"]


def test_items_of_a_list_of_a_built_in_kind_have_no_kind_of_their_own(cluster: EmbeddedApi) -> None:
    (item,) = cluster.get(CONFIG_MAPS)["items"]
    assert not {"kind", "apiVersion"} & set(item)
    cluster.create(DEFINITIONS, definition())
    url = DATABASES
    cluster.create(url, database())
    assert cluster.get(url)["items"][0]["kind"] == "Database"


def test_a_custom_resource_without_a_kind_is_refused(cluster: EmbeddedApi) -> None:
    cluster.create(DEFINITIONS, definition())
    url = DATABASES
    assert "Object 'Kind' is missing" in cluster.refusal(400, "POST", url, {"metadata": {"name": "d"}})["message"]


def test_an_applied_custom_resource_with_an_unknown_field_is_refused_by_its_schema(cluster: EmbeddedApi) -> None:
    cluster.create(DEFINITIONS, definition())
    url = f"{DATABASES}/d?fieldManager=me&fieldValidation=Strict"
    status = cluster.refusal(500, "PATCH", url, database(sise=3), **{"content-type": APPLY})
    assert status["message"].endswith(".spec.sise: field not declared in schema")


def test_a_client_may_add_a_condition_to_the_status_of_a_definition(cluster: EmbeddedApi) -> None:
    made = cluster.create(DEFINITIONS, definition())
    mine = {
        "type": "Mine",
        "status": "True",
        "reason": "R",
        "message": "M",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {
        "status": {
            "conditions": [*cluster.get(f"{DEFINITIONS}/{made['metadata']['name']}")["status"]["conditions"], mine]
        }
    }
    patched = cluster.patch(f"{DEFINITIONS}/{made['metadata']['name']}/status", status)
    assert [one["type"] for one in patched["status"]["conditions"]] == ["NamesAccepted", "Established", "Mine"]


# -- fields that occur twice ---------------------------------------------------------------------------------------------

TWICE = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"data":{"a":"1","a":"2"}}'
TWICE_IN_YAML = b'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d\ndata:\n  a: "1"\n  a: "2"\n'


@pytest.mark.parametrize(
    ("body", "kind", "why"),
    [
        (TWICE, "application/json", 'duplicate field "data.a"'),
        (TWICE_IN_YAML, YAML, 'yaml: unmarshal errors:\n  line 7: key "a" already set in map'),
    ],
)
def test_a_field_that_occurs_twice_is_refused_reported_or_ignored(
    cluster: EmbeddedApi, body: bytes, kind: str, why: str
) -> None:
    headers = {"content-type": kind}
    status = cluster.refusal(400, "POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body, **headers)
    assert status["message"].endswith(f"strict decoding error: {why}")
    for validation, warnings in (("Warn", (why,)), ("Ignore", ())):
        answer = cluster.answer("POST", f"{CONFIG_MAPS}?dryRun=All&fieldValidation={validation}", body, headers)
        assert (answer.code, answer.warnings) == (201, warnings)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('"x":1,"data":{"a":"1","a":"2"},"y":1', 'unknown field "x", duplicate field "data.a", unknown field "y"'),
        ('"data":{"a":"1","a":"2","a":"3"},"z":1,"z":2', 'duplicate field "data.a", unknown field "z"'),
    ],
)
def test_unknown_and_repeated_fields_are_refused_together_in_the_order_of_the_body(
    cluster: EmbeddedApi, data: str, expected: str
) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},%s}' % data.encode()
    status = cluster.refusal(400, "POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body)
    assert status["message"].endswith(f"strict decoding error: {expected}")


def test_a_review_is_not_available_as_a_table(cluster: EmbeddedApi) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    document = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}}
    document["spec"] = {"nonResourceAttributes": {"path": "/", "verb": "get"}}
    cluster.refusal(406, "POST", path, document, accept="application/json;as=Table;v=v1;g=meta.k8s.io")


def test_an_eviction_that_a_budget_forbids_asks_for_no_delay_before_the_next_try(cluster: EmbeddedApi) -> None:
    cluster.store.create(make_pod("web").label("app", "web").node("n1").phase("Running").obj())
    selector = api.LabelSelector(match_labels={"app": "web"})
    spec, status = api.PodDisruptionBudgetSpec(selector=selector), api.PodDisruptionBudgetStatus(observed_generation=1)
    metadata = api.ObjectMeta(name="b", namespace="default")
    cluster.store.create(api.PodDisruptionBudget(metadata=metadata, spec=spec, status=status))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}}
    answer = cluster.answer("POST", f"{PODS}/web/eviction", eviction)
    assert answer.code == 429
    assert "Retry-After" not in answer.headers
    details = cluster.refusal(429, "POST", f"{PODS}/web/eviction", eviction)["details"]
    assert details["causes"][0]["reason"] == "DisruptionBudget"
    assert "retryAfterSeconds" not in details


def test_equal_names_in_different_objects_are_not_repeated_fields(cluster: EmbeddedApi) -> None:
    answer = cluster.answer("POST", f"{PODS}?dryRun=All&fieldValidation=Strict", pod("q", nodeSelector={"name": "x"}))
    assert (answer.code, answer.warnings) == (201, ())


# -- pages ---------------------------------------------------------------------------------------------------------------


def test_the_root_lists_the_paths_of_the_server(cluster: EmbeddedApi) -> None:
    paths = cluster.get("/")["paths"]
    assert {"/api/v1", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/metrics", "/version", "/livez/ping"} <= set(
        paths
    )
    for path in paths:
        assert cluster.answer("GET", path).code == 200, path


def test_metrics_count_requests_and_objects(cluster: EmbeddedApi) -> None:
    cluster.refusal(404, "GET", f"{CONFIG_MAPS}/none")
    text = cluster.answer("GET", "/metrics").body
    assert isinstance(text, bytes)
    labels = 'component="apiserver",group="",resource="configmaps",scope="{}",subresource="",verb="{}",version="v1"'
    created = f'apiserver_request_total{{code="201",{labels.format("namespace", "CREATE")}}} 1'
    missed = f'apiserver_request_total{{code="404",{labels.format("resource", "GET")}}} 1'
    assert {created, missed, 'apiserver_resource_objects{group="",resource="configmaps"} 1'} <= set(
        text.decode().splitlines()
    )


def test_health_pages_know_their_checks(cluster: EmbeddedApi) -> None:
    assert cluster.answer("GET", "/readyz?verbose").body == b"[+]ping ok\n[+]etcd ok\nreadyz check passed\n"
    assert cluster.answer("GET", "/livez/ping").body == b"ok"
    for path in ("/readyz/nosuch", "/livezz", "/nothing"):
        assert (cluster.answer("GET", path).code, cluster.answer("GET", path).body) == (404, b"404 page not found\n")


def test_the_openid_configuration_names_its_keys(cluster: EmbeddedApi) -> None:
    found = cluster.get("/.well-known/openid-configuration")
    assert found["jwks_uri"] == "https://127.0.0.1:6443/openid/v1/jwks"
    assert cluster.get("/openid/v1/jwks") == {"keys": []}


# -- reviews and tokens --------------------------------------------------------------------------------------------------

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.mark.parametrize(
    ("url", "spec", "code", "message"),
    [
        (TOKEN_REVIEWS, "x", 400, "cannot unmarshal string into Go struct field TokenReview.spec of type"),
        (
            TOKEN_REVIEWS,
            {"token": 1},
            400,
            "cannot unmarshal number into Go struct field TokenReviewSpec.spec.token of",
        ),
        (TOKEN_REVIEWS, {}, 400, "token is required for TokenReview in authentication"),
        (ACCESS_REVIEWS, {}, 422, "exactly one of nonResourceAttributes or resourceAttributes must be specified"),
        (ACCESS_REVIEWS, [], 400, "cannot unmarshal array into Go struct field SelfSubjectAccessReview.spec of type"),
    ],
)
def test_a_review_that_cannot_be_read_is_refused(
    cluster: EmbeddedApi, url: str, spec: object, code: int, message: str
) -> None:
    assert message in cluster.refusal(code, "POST", url, {"spec": spec})["message"]


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"expirationSeconds": 10**15}, 422, "may not specify a duration larger than 2^32 seconds"),
        ({"expirationSeconds": 1}, 422, "may not specify a duration less than 10 minutes"),
        ({"expirationSeconds": "x"}, 400, "cannot unmarshal string into Go struct field"),
        ("x", 400, "cannot unmarshal string into Go struct field TokenRequest.spec"),
    ],
)
def test_a_token_request_that_cannot_be_granted_is_refused(
    cluster: EmbeddedApi, spec: object, code: int, message: str
) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    cluster.create(accounts, {"metadata": {"name": "me"}})
    assert message in cluster.refusal(code, "POST", f"{accounts}/me/token", {"spec": spec})["message"]


def test_bytes_that_are_not_utf_8_are_no_token(cluster: EmbeddedApi) -> None:
    assert cluster.tokens.user(b"\xff\xfe".decode(errors="surrogateescape")) is None


@pytest.mark.parametrize(
    ("path", "warning"),
    [
        ("/api/v1/componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"),
        ("/api/v1/endpoints", "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
    ],
)
def test_deprecated_kinds_come_with_a_warning(cluster: EmbeddedApi, path: str, warning: str) -> None:
    assert cluster.answer("GET", path).warnings == (warning,)


@pytest.mark.parametrize(("method", "content_type"), [("PUT", "application/json"), ("PATCH", MERGE), ("PATCH", APPLY)])
def test_an_explicit_empty_enum_equals_its_default(cluster: EmbeddedApi, method: str, content_type: str) -> None:
    def stateful_set(replicas: int) -> Document:
        made = deployment()
        spec = {**made["spec"], "replicas": replicas, "serviceName": "web", "podManagementPolicy": ""}
        return {**made, "kind": "StatefulSet", "spec": spec}

    url = DEPLOYMENTS.replace("deployments", "statefulsets")
    assert cluster.create(url, stateful_set(1))["spec"]["podManagementPolicy"] == "OrderedReady"
    query = "?fieldManager=me&force=true" if content_type == APPLY else ""
    answer = cluster.answer(method, f"{url}/web{query}", stateful_set(2), {"content-type": content_type})
    assert answer.code == 200, answer.body
    assert cluster.get(f"{url}/web")["spec"]["replicas"] == 2


_POD = {"containers": [{"name": "c", "image": "i"}]}


@pytest.mark.parametrize(
    ("url", "spec", "added"),
    [
        ("/api/v1/namespaces/default/services", {"ports": [{"port": 80}]}, {"clusterIP", "ipFamilies"}),
        ("/api/v1/namespaces/default/pods", _POD, {"tolerations", "priority"}),
        (
            "/apis/batch/v1/namespaces/default/jobs",
            {"template": {"spec": {**_POD, "restartPolicy": "Never"}}},
            {"selector"},
        ),
    ],
)
def test_fields_that_strategies_and_admission_add_belong_to_no_manager(
    url: str, spec: dict[str, Any], added: set[str]
) -> None:
    server = EmbeddedApi()
    made = server.create(f"{url}?fieldManager=m", {"metadata": {"name": "a"}, "spec": spec})
    (entry,) = made["metadata"]["managedFields"]
    assert added <= made["spec"].keys()
    assert not {f"f:{name}" for name in added} & entry["fieldsV1"]["f:spec"].keys()


@pytest.mark.parametrize(
    ("plural", "wanted"),
    [
        pytest.param(
            "secrets",
            {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "x"}},
            id="stringData becomes data",
        ),
        pytest.param(
            "serviceaccounts",
            {"apiVersion": "v1", "kind": "ServiceAccount", "secrets": [], "metadata": {"labels": {}}},
            id="empty collections are dropped",
        ),
    ],
)
def test_repeating_a_server_side_apply_writes_nothing(plural: str, wanted: dict[str, Any]) -> None:
    server = EmbeddedApi()
    url = f"/api/v1/namespaces/default/{plural}/a"
    wanted = {**wanted, "metadata": {**wanted.get("metadata", {}), "name": "a"}}
    server.answer("PATCH", f"{url}?fieldManager=m", wanted, {"content-type": APPLY})
    first = server.get(url)
    server.clock.advance(60.0)
    assert server.patch(f"{url}?fieldManager=m", wanted, APPLY) == first
    assert server.get(url) == first
