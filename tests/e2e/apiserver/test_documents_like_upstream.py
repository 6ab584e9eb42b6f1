# SPDX-License-Identifier: Apache-2.0
"""What becomes of documents here and at a real kube-apiserver: patches, server-side apply, managed fields, tables.

The real server makes each change; ours is made to the document that the server had before, and compared with what the server
has afterwards. What only a server adds (defaults, versions) is taken from the server by sending our document as a dry run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from steersman.api.schemas import schema_of
from steersman.cluster.apiserver.managed_fields import updated
from steersman.cluster.apiserver.patches import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, patched
from steersman.cluster.apiserver.server_side_apply import ApplyConflict, apply
from steersman.cluster.apiserver.tables import table_of
from steersman.cluster.store.errors import StatusError as OurError
from steersman.testing.control_plane import JsonObject, KubeClient, ServerRefusal

FORMS: Final = {"json": JSON_PATCH, "merge": MERGE_PATCH, "strategic": STRATEGIC_MERGE_PATCH}
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
NO_AGENT: Final = ""
"""The client of the tests says no user agent."""
NOW: Final = "2026-01-01T00:00:00Z"
PATH: Final = "/apis/apps/v1/namespaces/default/deployments"


def container(name: str, **fields: Any) -> JsonObject:
    return {"name": name, "image": f"{name}:1", **fields}


def deployment(**spec: Any) -> JsonObject:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "containers": [
                container("web", ports=[{"containerPort": 80}], env=[{"name": "A", "value": "1"}]),
                container("side", args=["x"], resources={"requests": {"cpu": "10m"}}),
            ],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "nodeSelector": {"disk": "ssd"},
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}, "finalizers": ["example.com/a"]},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def in_pod(**fields: Any) -> JsonObject:
    return {"spec": {"template": {"spec": fields}}}


PATCHES: Final[list[tuple[str, Any]]] = [
    ("strategic", in_pod(containers=[{"name": "side", "image": "side:2", "args": None}])),
    ("strategic", in_pod(containers=[{"name": "new", "image": "new:1"}])),
    ("strategic", in_pod(containers=[{"name": "web", "$patch": "delete"}])),
    ("strategic", in_pod(containers=[{"$patch": "replace"}, container("only")])),
    (
        "strategic",
        in_pod(
            **{"$setElementOrder/containers": [{"name": "new"}, {"name": "web"}]},
            containers=[container("new", env=[{"name": "B", "value": "2"}])],
        ),
    ),
    (
        "strategic",
        in_pod(containers=[{"name": "web", "env": [{"name": "A", "$patch": "delete"}, {"name": "C", "value": "3"}]}]),
    ),
    ("strategic", in_pod(volumes=[{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}])),
    ("strategic", {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
    ("strategic", in_pod(tolerations=[{"key": "b", "operator": "Exists"}], nodeSelector={"disk": None, "zone": "a"})),
    ("strategic", {"metadata": {"labels": {"app": None, "tier": "x"}, "annotations": {"a": "b"}}}),
    ("strategic", {"metadata": {"finalizers": ["example.com/b"]}}),
    ("strategic", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}),
    ("merge", {"spec": {"replicas": 5, "paused": True}, "metadata": {"labels": {"app": None}}}),
    ("merge", in_pod(containers=[container("merged")])),
    (
        "json",
        [{"op": "replace", "path": "/spec/replicas", "value": 7}, {"op": "remove", "path": "/metadata/labels/app"}],
    ),
    ("json", [{"op": "add", "path": "/spec/template/spec/containers/0/args", "value": ["z"]}]),
    ("json", [{"op": "copy", "from": "/spec/replicas", "path": "/spec/minReadySeconds"}]),
    ("json", [{"op": "add", "path": "/metadata/annotations", "value": {"x.y": "1"}}]),
]

REFUSED: Final[list[tuple[str, Any]]] = [
    ("json", [{"op": "test", "path": "/spec/replicas", "value": 9}]),
    ("json", [{"op": "remove", "path": "/spec/nothing"}]),
    ("json", [{"op": "add", "path": "/no/where", "value": 1}]),
]


def masked(document: JsonObject) -> JsonObject:
    """Without what differs from one write to the next."""
    metadata = {
        name: value
        for name, value in document["metadata"].items()
        if name not in ("resourceVersion", "generation", "managedFields", "uid", "creationTimestamp")
    }
    return {**document, "metadata": metadata}


def managers(document: JsonObject) -> list[JsonObject]:
    """The entries without their times."""
    entries = [
        {name: value for name, value in entry.items() if name != "time"}
        for entry in document["metadata"]["managedFields"]
    ]
    return sorted(entries, key=lambda entry: (entry["operation"], entry["manager"], entry.get("subresource", "")))


def normalised(admin: KubeClient, document: JsonObject) -> JsonObject:
    """What the server would store if it were sent our document."""
    return masked(admin.request("PUT", f"{PATH}/web", document, query={"dryRun": "All"}))


def server_side(admin: KubeClient, wanted: JsonObject, manager: str, force: str = "false") -> JsonObject:
    query = {"fieldManager": manager, "force": force}
    return admin.request("PATCH", f"{PATH}/web", wanted, query=query, content_type="application/apply-patch+yaml")


@pytest.fixture(autouse=True)
def no_deployment_is_left(admin: KubeClient) -> Iterator[None]:
    yield
    if admin.find("Deployment", "web") is not None:
        admin.patch("Deployment", "web", {"metadata": {"finalizers": None}})
        admin.delete("Deployment", "web")


@pytest.mark.parametrize(("form", "patch"), PATCHES, ids=[f"{form}-{index}" for index, (form, _) in enumerate(PATCHES)])
def test_a_patch_has_the_same_result(admin: KubeClient, form: str, patch: Any) -> None:
    before = admin.create(deployment())
    schema = schema_of("apps/v1", "Deployment")
    ours = patched(FORMS[form], before, patch, schema)
    expected = normalised(admin, ours)
    after = admin.patch("Deployment", "web", patch, form=form)
    assert masked(after) == expected
    bare = {**after, "metadata": {**after["metadata"], "managedFields": None}}
    assert managers(updated(before, bare, NO_AGENT, "Update", "", NOW, schema)) == managers(after)


@pytest.mark.parametrize(("form", "patch"), REFUSED)
def test_what_does_not_apply_is_refused_in_the_same_words(admin: KubeClient, form: str, patch: Any) -> None:
    before = admin.create(deployment())
    with pytest.raises(ServerRefusal) as theirs:
        admin.patch("Deployment", "web", patch, form=form)
    with pytest.raises(OurError) as ours:
        patched(FORMS[form], before, patch, schema_of("apps/v1", "Deployment"))
    assert (ours.value.code, ours.value.reason, ours.value.message) == (
        theirs.value.code,
        theirs.value.reason,
        theirs.value.status["message"],
    )


def test_a_create_is_tracked_alike(admin: KubeClient) -> None:
    created = admin.create(deployment(), query={"fieldManager": "me"})
    bare = {
        **created,
        "metadata": {name: value for name, value in created["metadata"].items() if name != "managedFields"},
    }
    tracked = updated(None, bare, "me", "Update", "", NOW, schema_of("apps/v1", "Deployment"))
    assert managers(tracked) == managers(created)


def applied_config(**spec: Any) -> JsonObject:
    config = deployment()
    return {**config, "metadata": {"name": "web", "namespace": "default"}, "spec": {**config["spec"], **spec}}


def with_containers(*containers: JsonObject) -> JsonObject:
    template = deployment()["spec"]["template"]
    return applied_config(template={**template, "spec": {"containers": list(containers)}})


APPLIES: Final[list[tuple[str, str, JsonObject]]] = [
    ("a", "false", applied_config()),
    ("a", "false", applied_config(replicas=3, paused=True)),
    ("b", "false", {**applied_config(), "spec": {"paused": True}}),
    ("a", "false", applied_config(replicas=3)),
    ("b", "true", {**applied_config(), "spec": {"replicas": 9}}),
    ("c", "false", with_containers(container("extra"))),
    ("a", "true", with_containers(container("side", args=["y"]))),
    (
        "c",
        "false",
        with_containers(container("extra", ports=[{"containerPort": 81}, {"containerPort": 81, "protocol": "UDP"}])),
    ),
    ("b", "false", {**applied_config(), "spec": {"replicas": 10}}),
    ("a", "true", {**applied_config(), "metadata": {"name": "web", "labels": {"l": "1"}}}),
    ("d", "false", {**applied_config(), "metadata": {"name": "web", "labels": {"m": "1"}}}),
    ("a", "true", applied_config()),
]


def test_a_series_of_applies_has_the_same_results(admin: KubeClient) -> None:
    schema = schema_of("apps/v1", "Deployment")
    live: JsonObject | None = None
    for index, (manager, force, wanted) in enumerate(APPLIES):
        conflict = None
        try:
            after = server_side(admin, wanted, manager, force)
        except ServerRefusal as error:
            conflict = error
        if conflict is not None:
            assert conflict.code == 409, (index, conflict)
            with pytest.raises(ApplyConflict) as ours:
                apply(live, wanted, manager, force == "true", NOW, schema)
            assert ours.value.message == conflict.status["message"]
            continue
        document = apply(live, wanted, manager, force == "true", NOW, schema)
        assert managers(document) == managers(after), index
        assert normalised(admin, {**document, "metadata": {**document["metadata"], "resourceVersion": None}}) == masked(
            after
        ), index
        live = after


def test_conflicts_have_the_same_words(admin: KubeClient) -> None:
    created = admin.create(deployment(), query={"fieldManager": "kubectl-client-side-apply"})
    for wanted in (
        applied_config(replicas=5),
        applied_config(
            replicas=5,
            template={**deployment()["spec"]["template"], "spec": {"containers": [container("web") | {"image": "z"}]}},
        ),
    ):
        with pytest.raises(ServerRefusal) as theirs:
            server_side(admin, wanted, "me")
        with pytest.raises(ApplyConflict) as ours:
            apply(created, wanted, "me", False, NOW, schema_of("apps/v1", "Deployment"))
        assert ours.value.message == theirs.value.status["message"]
        assert [(cause.message, cause.field) for cause in ours.value.causes] == [
            (cause["message"], cause["field"]) for cause in theirs.value.status["details"]["causes"]
        ]


OBJECTS: Final[list[JsonObject]] = list(yaml.safe_load_all(Path(__file__).with_name("objects.yaml").read_text()))


@pytest.mark.parametrize("obj", OBJECTS, ids=[f"{obj['kind']}-{obj['metadata']['name']}" for obj in OBJECTS])
def test_tables_have_the_same_columns_and_cells(admin: KubeClient, obj: JsonObject) -> None:
    kind = f"{obj['apiVersion'].rpartition('/')[0]}/{obj['kind']}".lstrip("/")
    created = admin.create(obj)
    name = obj["metadata"]["name"]
    path = admin.path(kind, name, created["metadata"].get("namespace", ""))
    theirs = admin.raw("GET", path, headers={"Accept": TABLE}).json()
    ours = table_of([created], obj["apiVersion"], obj["kind"], time.time())
    admin.raw("DELETE", path, {"gracePeriodSeconds": 0})
    columns = [
        (column["name"], column["type"], column["format"], column["priority"]) for column in theirs["columnDefinitions"]
    ]
    assert [(c["name"], c["type"], c["format"], c["priority"]) for c in ours["columnDefinitions"]] == columns
    ages = {
        index for index, column in enumerate(columns) if column[0] in ("Age", "Created At", "Last Seen", "First Seen")
    }
    assert shown(ours, ages) == shown(theirs, ages)
    assert ours["rows"][0]["object"]["kind"] == theirs["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def shown(table: JsonObject, ages: set[int]) -> list[Any]:
    return [cell for index, cell in enumerate(table["rows"][0]["cells"]) if index not in ages]
