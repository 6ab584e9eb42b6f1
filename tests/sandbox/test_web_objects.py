# SPDX-License-Identifier: Apache-2.0
"""Texts of several objects that are pasted on the page of a sandbox, and the search for fixes of a pending pod."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import process_time
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession, ClientTimeout
from tests.sandbox.test_web_actions import NODE, POD, Acting
from tests.sandbox.test_web_apply import Client

from steersman import api
from steersman.sandbox import SandboxOptions, pod_fixes, running_sandbox
from steersman.sandbox.object_templates import template_list

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: shop\n"
MISSPELT = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  contaners: []\n"


@pytest.fixture
def acting() -> Acting:
    return Acting()


def created(acting: Acting, *texts: str, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = acting.done("POST", f"objects{query}", "---\n".join(texts).encode())
    return found


def test_objects_of_several_kinds_are_created_together(acting: Acting) -> None:
    found = created(acting, NAMESPACE, CONFIG, query="?namespace=other")
    assert found == {"created": ["Namespace shop", "ConfigMap shop/settings"], "updated": [], "problems": []}


def test_an_object_that_exists_is_updated(acting: Acting) -> None:
    created(acting, NAMESPACE, CONFIG)
    changed = created(acting, NAMESPACE, f"{CONFIG}data: {{a: b}}\n")
    assert (changed["created"], changed["updated"]) == ([], ["Namespace shop", "ConfigMap shop/settings"])
    path = "kube/api/v1/namespaces/shop/configmaps/settings"
    assert acting.done("GET", path)["data"] == {"a": "b"}


def test_a_misspelt_field_is_marked_at_its_line_and_stops_no_other_object(acting: Acting) -> None:
    found = created(acting, MISSPELT, NAMESPACE)
    assert found["created"] == ["Namespace shop"]
    (problem,) = found["problems"]
    assert (problem["line"], problem["field"]) == (5, "spec.contaners")
    assert problem["hint"] == 'did you mean "containers"?'


def test_a_misspelt_kind_is_marked_at_its_line(acting: Acting) -> None:
    (problem,) = created(acting, NAMESPACE, "apiVersion: apps/v1\nkind: Deploymnet\nmetadata: {name: x}\n")["problems"]
    assert (problem["line"], problem["hint"]) == (6, 'did you mean "Deployment" of "apps/v1"?')


def test_a_refusal_of_the_api_server_is_marked_at_the_line_of_its_field(acting: Acting) -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: UPPER\n"
    (problem,) = created(acting, NAMESPACE, text)["problems"]
    assert (problem["line"], problem["field"]) == (11, "metadata.name")


def test_a_dry_run_creates_nothing(acting: Acting) -> None:
    assert created(acting, NAMESPACE, query="?dryRun=true")["created"] == ["Namespace shop"]
    assert "shop" not in acting.names(api.Namespace)


@pytest.mark.parametrize(("text", "line"), [("a: [\n", 2), ("apiVersion: v1\nkind: Pod\nkind: Pod\n", 3)])
def test_what_is_no_yaml_is_refused_with_its_line(acting: Acting, text: str, line: int) -> None:
    answer = acting.ask("POST", "objects", text.encode())
    assert answer.status == 422
    assert f'"line":{line}'.encode() in answer.body


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: name\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: [name]\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 5}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: [a]}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n",
        "apiVersion: v1\nkind: ConfigMap\n",
        "apiVersion: v1\nkind: [Pod]\n",
        "apiVersion: 1\nkind: Pod\nmetadata: {name: x}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: text\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: {a: b}}\n",
        "just text",
        "- a\n- b\n",
        "kind: Pod\n",
        "",
        "---\n---\n",
    ],
)
def test_a_document_of_another_form_is_a_problem_and_no_internal_error(acting: Acting, text: str) -> None:
    answer = acting.ask("POST", "objects", text.encode())
    assert answer.status in (200, 422)
    assert answer.status == 422 or msgspec.json.decode(answer.body)["problems"]


def test_many_problems_of_a_long_text_are_located_in_time(acting: Acting) -> None:
    """Each of 300 documents has a problem; the text is parsed once for all of their lines."""
    begin = process_time()
    problems = created(acting, *[MISSPELT] * 300)["problems"]
    assert [problem["line"] for problem in problems] == [5 + 6 * number for number in range(300)]
    assert process_time() - begin < 2


def test_templates_use_a_zone_of_the_cluster(acting: Acting) -> None:
    labels = {"topology.kubernetes.io/zone": "eu-b"}
    acting.done("POST", "kube/api/v1/nodes", {**NODE, "metadata": {"name": "n", "labels": labels}})
    kinds = {one["kind"]: one["yaml"] for one in acting.done("GET", "templates")["kinds"]}
    assert "topology.kubernetes.io/zone: eu-b" in kinds["Pod"]
    assert "topology.kubernetes.io/zone: a\n" not in kinds["Pod"]


def test_a_kind_that_two_groups_serve_is_listed_once(acting: Acting) -> None:
    kinds = [one.kind for one in template_list(acting.catalog).kinds]
    assert kinds.count("Event") == 1


async def _fixes(folder: Path) -> list[tuple[int, Any]]:
    options = SandboxOptions(nodes=2, web_port=0, kubeconfig=folder / "kubeconfig")
    async with running_sandbox(options) as sandbox, ClientSession(timeout=ClientTimeout(60)) as session:
        client = Client(sandbox, session)
        huge = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100"}}}
        pod = {**POD, "metadata": {"name": "huge"}, "spec": {"containers": [huge]}}
        await client.ask("POST", "kube/api/v1/namespaces/default/pods", pod)
        info = await client.ask("GET", "info")
        wanted = ("fixes?pod=default/huge", "fixes?pod=default/none", "fixes?pod=huge")
        return [info, *[await client.ask("GET", path) for path in wanted]]


def test_fixes_of_a_pending_pod_come_with_their_commands(tmp_path: Path) -> None:
    (_, info), (code, page), missing, bad = asyncio.run(_fixes(tmp_path))
    assert "fixes" in info["capabilities"]
    assert code == 200
    assert "Lower the cpu request of container c from 100 to 8" in page["fixes"][0]["summary"]
    assert "kubectl" in page["fixes"][0]["commands"][0]
    assert (missing[0], bad[0]) == (409, 400)
    assert "there is no pod none" in missing[1]["message"]


def test_a_search_for_fixes_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_fixes, "MAX_SECONDS", 0.01)
    code, status = asyncio.run(_fixes(tmp_path))[1]
    assert (code, status["reason"]) == (504, "Timeout")
