# SPDX-License-Identifier: Apache-2.0
"""What the web page does to a real sandbox: objects made, changed and deleted, whole clusters in and out, time stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.e2e.browser.conftest import Browser
from tests.e2e.browser.page_steps import AXE, LIVE, OVERFLOW, Step, assert_silent, place
from tests.e2e.browser.web_sandbox import PLACED, PODS, WebSandbox, node, pod, web_sandbox

from steersman.testing.control_plane import Binaries, wait_until

EDITOR = ".cm-content"
#: What kube-scheduler-simulator's page has buttons for.
SIMULATED_KINDS = (
    "StorageClass",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "Node",
    "Pod",
    "PriorityClass",
    "Namespace",
)
PROFILES = [{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}]
READY: Step = ("wait", "[aria-label='List of objects'] td")


@pytest.fixture
def sandbox(binaries: Binaries, tmp_path: Path) -> Iterator[WebSandbox]:
    with web_sandbox(tmp_path, binaries) as running:
        yield running


def test_a_pod_is_made_from_a_template_and_gets_its_node(browser: Browser, sandbox: WebSandbox) -> None:
    seen = browser.visit(
        place(sandbox.address, "/objects?kind=Pod"),
        READY,
        ("click", "button >> text=New Pod"),
        ("wait_text", EDITOR, "kind: Pod"),
        ("axe", str(AXE)),
        ("evaluate", OVERFLOW),
        ("paste", EDITOR, yaml.safe_dump(pod("made-0", "250m"))),
        ("click", "button >> text=Validate"),
        ("wait_text", "[role=status]", "Valid: the server would take it."),
        ("click", "button >> text=Create"),
        ("wait_text", "[role=status]", "Created Pod default/made-0."),
        ("wait_text", "td", "made-0"),
        ("click", "button >> text=Close"),
        ("click", "td a >> text=made-0"),
        ("wait_text", EDITOR, "name: made-0"),
        ("text", EDITOR),
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[3:5] == [[], 0]
    assert "managedFields" not in seen.values[14]
    wait_until(lambda: sandbox.pods().get("made-0", "") != "")


def test_every_kind_of_the_simulator_is_made_from_its_template(browser: Browser, sandbox: WebSandbox) -> None:
    steps: list[Step] = []
    for kind in SIMULATED_KINDS:
        steps += [
            ("hash", f"/objects?kind={kind}"),
            ("click", f"button >> text=New {kind}"),
            ("wait_text", EDITOR, f"kind: {kind}"),
            ("click", 'button >> text="Create"'),
            ("wait_text", "[role=status]", f"Created {kind} "),
        ]
    seen = browser.visit(place(sandbox.address, "/objects"), READY, *steps)
    assert_silent(seen, sandbox.address)


def test_a_list_is_searched_and_sorted_by_two_columns(browser: Browser, sandbox: WebSandbox) -> None:
    names = ("texts", "[aria-label='List of objects'] tbody td:first-child")
    seen = browser.visit(
        place(sandbox.address, "/objects?kind=Pod"),
        READY,
        ("fill", "[aria-label='Part of a name']", "huge"),
        ("wait_function", "document.querySelectorAll('[aria-label=\"List of objects\"] [data-row]').length === 3"),
        ("click", "th button >> text=Name"),
        ("click", "th button >> text=Name"),
        ("click", "th button >> text=Namespace"),
        names,
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[-1] == ["huge-2", "huge-1", "huge-0"]


def test_an_object_folds_by_its_fields(browser: Browser, sandbox: WebSandbox) -> None:
    seen = browser.visit(
        place(sandbox.address, "/objects?kind=Pod&namespace=default&name=web-0"),
        ("wait_text", EDITOR, "containers:"),
        ("click", ".cm-foldGutter span[title='Fold line'] >> nth=0"),
        ("wait", ".cm-foldPlaceholder"),
    )
    assert_silent(seen, sandbox.address)


def test_the_pods_of_a_deleted_node_go_with_it(browser: Browser, sandbox: WebSandbox) -> None:
    """As in a cluster: the pod garbage collector finds them after a while."""
    there = [name for name, where in sandbox.pods().items() if where == "b-1"]
    assert there
    seen = browser.visit(
        place(sandbox.address, "/objects?kind=Node&name=b-1"),
        ("wait_text", EDITOR, "name: b-1"),
        ("click", 'button >> text="Delete"'),
        ("click", "button >> text=Really delete"),
        ("wait_text", "[role=status]", "Deleted Node b-1."),
        ("hash", "/time"),
        ("click", "[aria-label=Clock] button >> text=600x"),
        ("wait", "[aria-label=Speed] [aria-pressed=true] >> text=600x"),
    )
    assert_silent(seen, sandbox.address)
    wait_until(lambda: not set(there) & set(sandbox.pods()))


def test_an_object_is_changed_and_deleted_after_a_second_question(browser: Browser, sandbox: WebSandbox) -> None:
    meta = {"name": "settings", "namespace": "default"}
    before, after = ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"x": x}} for x in "12")
    assert sandbox.process.request("POST", "/api/v1/namespaces/default/configmaps", before)[0] == 201
    seen = browser.visit(
        place(sandbox.address, "/objects?kind=ConfigMap&namespace=default&name=settings"),
        ("wait_text", EDITOR, "name: settings"),
        ("paste", EDITOR, yaml.safe_dump(after)),
        ("click", 'button >> text="Save"'),
        ("wait_text", "[role=status]", "Saved ConfigMap settings."),
        ("run", *sandbox.kubectl, "get", "configmap", "settings", "-o", "jsonpath={.data.x}"),
        ("click", 'button >> text="Delete"'),
        ("click", "button >> text=Really delete"),
        ("wait_text", "[role=status]", "Deleted ConfigMap settings."),
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[4] == "2"
    assert sandbox.process.request("GET", "/api/v1/namespaces/default/configmaps/settings")[0] == 404


def test_a_manifest_that_is_wrong_is_refused_with_the_field(browser: Browser, sandbox: WebSandbox) -> None:
    wrong = yaml.safe_dump(pod("wrong-0", "1", tollerations=[]))
    seen = browser.visit(
        place(sandbox.address, "/objects?kind=Pod"),
        READY,
        ("click", "button >> text=New Pod"),
        ("wait_text", EDITOR, "kind: Pod"),
        ("paste", EDITOR, wrong),
        ("click", "button >> text=Create"),
        ("wait", "main .notice.no"),
        ("text", "main .notice.no"),
    )
    assert seen.errors == []
    assert "spec.tollerations" in seen.values[6]
    assert "wrong-0" not in sandbox.pods()


def test_pasted_documents_of_several_kinds_are_created_and_problems_marked_at_their_lines(
    browser: Browser, sandbox: WebSandbox
) -> None:
    documents = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}},
        pod("pasted-0", "100m"),
        pod("wrong-0", "1", tollerations=[]),
    ]
    text = yaml.safe_dump_all(documents, sort_keys=False)
    line = text.splitlines().index("  tollerations: []") + 1
    seen = browser.visit(
        place(sandbox.address, "/objects?kind=Node"),
        READY,
        ("click", "button >> text=Paste manifests"),
        ("wait", EDITOR),
        ("paste", EDITOR, text),
        ("click", 'button >> text="Create"'),
        ("wait", ".cm-lintRange-error"),
        ("text", "main > .notice >> nth=0"),
        ("text", "[role=alert]"),
        ("text", ".cm-lintRange-error"),
        ("axe", str(AXE)),
    )
    assert_silent(seen, sandbox.address)
    assert "1 object refused. Created ConfigMap settings, Pod default/pasted-0." in seen.values[6]
    assert f"spec.tollerations, line {line}" in seen.values[7]
    assert 'did you mean "tolerations"?' in seen.values[7]
    assert "tollerations" in seen.values[8]
    assert seen.values[9] == []
    wait_until(lambda: sandbox.pods().get("pasted-0", "") != "")


def test_a_whole_cluster_goes_out_and_comes_in(browser: Browser, sandbox: WebSandbox, tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text(yaml.safe_dump_all([node("new-0", "zone-a"), pod("new-0", "100m")]))
    seen = browser.visit(
        place(sandbox.address, "/objects"),
        READY,
        ("download", "button >> text=Export"),
        ("upload", "input[type=file]", str(more)),
        ("click", "button >> text=Import >> nth=-1"),
        ("wait_text", "[role=status]", "Imported more.yaml: 2 objects created, 0 updated."),
        ("wait_text", "td", "new-0"),
        ("select", "[aria-label=Editor] select", "simulator"),
        ("download", "button >> text=Export"),
    )
    assert_silent(seen, sandbox.address)
    names = [document["metadata"]["name"] for document in yaml.safe_load_all(seen.values[1]) if document]
    assert {"a-0", "web-0", "gated-0"} <= set(names)
    snapshot = json.loads(seen.values[7])
    assert {"pods", "nodes"} <= set(snapshot)
    assert len(snapshot["nodes"]) == 11
    wait_until(lambda: sandbox.pods().get("new-0", "") != "")


def test_a_snapshot_of_kube_scheduler_simulator_is_taken_in(
    browser: Browser, sandbox: WebSandbox, tmp_path: Path
) -> None:
    """Their page exports YAML, with the configuration of the scheduler."""
    snapshot = {
        "nodes": [node("theirs", "zone-z")],
        "pods": [pod("theirs-0", "100m")],
        "schedulerConfig": {"parallelism": 16, "profiles": PROFILES},
    }
    given = tmp_path / "export.yml"
    given.write_text(yaml.safe_dump(snapshot))
    seen = browser.visit(
        place(sandbox.address, "/objects"),
        READY,
        ("select", "[aria-label=Editor] select", "simulator"),
        ("upload", "input[type=file]", str(given)),
        ("click", "button >> text=Import >> nth=-1"),
        (
            "wait_text",
            "[role=status]",
            "Imported export.yml: 2 objects created, 0 updated; the scheduler has its configuration.",
        ),
        ("wait_text", "td", "theirs-0"),
        ("hash", "/configuration"),
        ("wait_text", "[aria-label='Profile default-scheduler'] tr", "MostAllocated"),
        ("hash", "/objects"),
        ("click", "button >> text=Reset"),
        ("click", "button >> text=Really reset"),
        ("wait_text", "[role=status]", "Reset: "),
        ("hash", "/configuration"),
        ("wait_text", "[aria-label='Profile default-scheduler'] tr", "LeastAllocated"),
    )
    assert seen.errors == []
    wait_until(lambda: "theirs-0" not in sandbox.pods() and "web-0" in sandbox.pods())


def test_a_reset_asks_once_more_and_gives_the_cluster_as_it_began(browser: Browser, sandbox: WebSandbox) -> None:
    assert sandbox.process.request("POST", PODS, pod("extra-0", "100m"))[0] == 201
    seen = browser.visit(
        place(sandbox.address, "/objects"),
        ("wait_text", "td", "extra-0"),
        ("click", "button >> text=Reset"),
        ("click", "button >> text=Keep it"),
        ("click", "button >> text=Reset"),
        ("click", "button >> text=Really reset"),
        ("wait_text", "[role=status]", "Reset: "),
        ("hash", "/cluster"),
        LIVE,
        ("wait_text", "[data-stop=bound]", str(PLACED)),
    )
    assert seen.errors == []
    wait_until(lambda: "extra-0" not in sandbox.pods() and "web-0" in sandbox.pods())


def test_time_is_stopped_stepped_and_sped_up(browser: Browser, sandbox: WebSandbox, tmp_path: Path) -> None:
    manifest = tmp_path / "late.json"
    manifest.write_text(json.dumps(pod("late-0", "100m")))
    seen = browser.visit(
        place(sandbox.address, "/time"),
        LIVE,
        ("wait", "[aria-label=Clock]"),
        ("axe", str(AXE)),
        ("evaluate", OVERFLOW),
        ("click", "[aria-label=Clock] button >> text=Pause"),
        ("wait_text", "[aria-label=Clock] header", "paused"),
        ("click", "[aria-label=Clock] button >> text=10x"),
        ("wait", "[aria-label=Speed] [aria-pressed=true] >> text=10x"),
        ("run", *sandbox.kubectl, "create", "-f", str(manifest)),
        ("wait_text", "[aria-label='Time and connection']", "paused, 1 decision waiting"),
        ("run", *sandbox.kubectl, "get", "pod", "late-0", "-o", "jsonpath={.spec.nodeName}"),
        ("click", "[aria-label=Clock] button >> text=Step one decision"),
        ("hash", "/pod/default/late-0"),
        ("wait_text", ".state", "bound"),
        ("hash", "/time"),
        ("click", "[aria-label='Time and connection'] button"),
        ("wait_text", "[aria-label=Clock] header", "runs"),
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[2:4] == [[], 0]
    assert seen.values[10] == ""
    assert sum(map(bool, sandbox.pods().values())) == PLACED + 1
