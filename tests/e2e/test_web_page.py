# SPDX-License-Identifier: Apache-2.0
"""`steersman run --web` on a real API server: data for those who may see it, and for nobody else's page."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator

import pytest
from tests.e2e.cleaning import empty

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, Steersman, manifest, wait_until

RULES = [
    {"nonResourceURLs": ["/web/v1/*"], "verbs": ["get"]},
    {"nonResourceURLs": ["/web/v1/configuration/*"], "verbs": ["post"]},
]


@pytest.fixture(scope="module")
def looker(shared_plane: ControlPlane) -> str:
    """The token of somebody who may look at the page, and do nothing else."""
    admin, meta = shared_plane.admin, {"name": "looker", "namespace": "default"}
    group = "rbac.authorization.k8s.io"
    admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    role: JsonObject = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": "looker"}}
    admin.apply({**role, "rules": RULES})
    admin.apply(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "looker"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "looker"},
            "subjects": [{"kind": "ServiceAccount", **meta}],
        }
    )
    return admin.token("looker")


@pytest.fixture(scope="module")
def scheduler(shared_plane: ControlPlane) -> Iterator[Steersman]:
    admin = shared_plane.admin
    empty(admin)
    nodes = [make_node(name).capacity(cpu="4", memory="8Gi", pods="10") for name in ("one", "two")]
    admin.create_nodes(*(manifest(node) for node in nodes))
    for name, cpu in (("fits", "100m"), ("huge", "1000")):
        admin.create(manifest(make_pod(name).req(cpu=cpu)))
    with Steersman(shared_plane, flags=["--web"]) as running:
        wait_until(lambda: _is_placed(admin, "fits") and _has_condition(admin, "huge"))
        yield running
    empty(admin)


def _is_placed(admin: KubeClient, name: str) -> bool:
    return bool(admin.get("Pod", name, "default")["spec"].get("nodeName"))


def _has_condition(admin: KubeClient, name: str) -> bool:
    return bool(admin.get("Pod", name, "default")["status"].get("conditions"))


def get(scheduler: Steersman, path: str, token: str) -> JsonObject:
    code, text = scheduler.get(f"/web/v1/{path}", token=token)
    assert code == 200, text
    found: JsonObject = json.loads(text)
    return found


def test_without_a_token_there_are_files_and_no_data(scheduler: Steersman) -> None:
    assert scheduler.get("/web/v1/info")[0] == 401
    assert scheduler.get("/web/v1/info", token="made-up")[0] == 401
    # The page, or one sentence on how to build it: never a question who asks.
    assert scheduler.get("/")[0] in (200, 404)


def test_without_the_right_there_is_no_data(scheduler: Steersman, shared_plane: ControlPlane) -> None:
    admin = shared_plane.admin
    admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "other", "namespace": "default"}})
    token = admin.token("other")
    for path in ("info", "cluster", "stream", "pods/default/fits/matrix"):
        code, text = scheduler.get(f"/web/v1/{path}", token=token)
        assert (code, "system:serviceaccount:default:other" in text) == (403, True)


def test_who_may_look_sees_the_cluster(scheduler: Steersman, looker: str) -> None:
    info = get(scheduler, "info", looker)
    assert (info["host"], info["readOnly"]) == ("run", True)
    columns = get(scheduler, "cluster", looker)["nodes"]
    assert sorted(columns["name"]) == ["one", "two"]
    assert sum(columns["pods"]) == 1


def test_a_pod_that_waits_says_why(scheduler: Steersman, looker: str) -> None:
    (group,) = get(scheduler, "pending", looker)["groups"]
    assert (group["title"], group["count"]) == ("Insufficient cpu", 1)
    matrix = get(scheduler, "pods/default/huge/matrix", looker)
    assert matrix["fits"] == [0, 0]
    assert matrix["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_a_pod_with_a_node_shows_its_decision_and_its_matrix(scheduler: Steersman, looker: str) -> None:
    page = get(scheduler, "pods/default/fits", looker)
    assert page["decisions"][0]["node"] == page["node"]
    assert get(scheduler, "pods/default/fits/matrix", looker)["fits"] == [1, 1]


def test_it_is_read_only(scheduler: Steersman, looker: str) -> None:
    """The right to get is no right to post, and no path takes anything."""
    assert _request(scheduler, "POST", "/web/v1/info", looker)[0] == 403


def test_the_stream_begins_with_all_there_is(scheduler: Steersman, looker: str) -> None:
    connection = _connection(scheduler)
    connection.request("GET", "/web/v1/stream", headers={"Authorization": f"Bearer {looker}"})
    answer = connection.getresponse()
    assert answer.getheader("Content-Type", "").startswith("text/event-stream")
    lines = [answer.readline().decode() for _ in range(3)]
    assert lines[1] == "event: snapshot\n"
    assert sorted(json.loads(lines[2].removeprefix("data: "))["nodes"]["name"]) == ["one", "two"]
    connection.close()


def test_another_configuration_is_tried_by_authorized_users(scheduler: Steersman, looker: str) -> None:
    header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    body = json.dumps({"yaml": header})
    code, text = _request(scheduler, "POST", "/web/v1/configuration/try", looker, body=body)
    assert code == 200, text
    assert [decision["pod"] for decision in json.loads(text)["decisions"]] == ["default/fits"]
    assert json.loads(text)["moved"] == 0
    assert get(scheduler, "configuration", looker)["profiles"][0]["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_another_site_gets_nothing_even_with_the_token(
    scheduler: Steersman, looker: str, headers: dict[str, str]
) -> None:
    code, text = _request(scheduler, "GET", "/web/v1/info", looker, headers)
    assert (code, "another site" in text) == (403, True)


def _request(
    scheduler: Steersman, method: str, path: str, token: str, headers: dict[str, str] | None = None, body: str = ""
) -> tuple[int, str]:
    connection = _connection(scheduler)
    connection.request(method, path, body or None, headers={"Authorization": f"Bearer {token}", **(headers or {})})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def _connection(scheduler: Steersman) -> http.client.HTTPSConnection:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(scheduler.url.removeprefix("https://"), context=context, timeout=60)
