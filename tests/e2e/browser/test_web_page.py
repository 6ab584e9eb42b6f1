# SPDX-License-Identifier: Apache-2.0
"""The web page of a real sandbox in a real browser: every page in both themes and two widths, live, and by keyboard alone."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.browser.conftest import Browser
from tests.e2e.browser.page_steps import AXE, COLOURS, DRAWN, LIVE, OVERFLOW, Step, assert_silent, place
from tests.e2e.browser.web_sandbox import PLACED, WAITING, WebSandbox, pod, web_sandbox

from steersman.testing.control_plane import Binaries

MATRIX: Step = ("wait", "[data-rows='10'] tbody td")
#: Every page and view, with what is there once it is drawn.
PLACES: dict[str, Step] = {
    "/cluster": DRAWN,
    "/cluster?colour=taint": ("wait_text", "[aria-label=Legend]", "example.com/gpu=present:NoSchedule (1)"),
    "/cluster?node=a-1": ("wait_text", "[aria-label='Chosen node']", "Ready"),
    "/pending": ("wait_text", "h2", "3 pods: Insufficient cpu"),
    "/pods": ("wait_text", "td", "default/web-0"),
    "/pods?place=gated": ("wait_text", "td", "default/gated-0"),
    "/pod/default/web-0": ("wait_text", "[aria-label=Timeline]", "bound"),
    "/pod/default/web-0?tab=matrix": MATRIX,
    "/pod/default/huge-0?tab=matrix": MATRIX,
    "/pod/default/web-0?tab=yaml": ("wait_text", "pre", "kind: Pod"),
    "/pod/default/web-0?tab=events": ("wait_text", "[aria-label=Events]", "Scheduled"),
    "/nodes": ("wait_text", "td", "gpu-0"),
    "/node/gpu-0": ("wait_text", "[aria-label='Labels and taints']", "example.com/gpu=present:NoSchedule"),
}


@pytest.fixture(scope="module")
def sandbox(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebSandbox]:
    with web_sandbox(tmp_path_factory.mktemp("web"), binaries) as running:
        yield running


@pytest.mark.parametrize(("theme", "width"), [("light", 1400), ("dark", 1400), ("light", 420)])
def test_every_page_is_drawn_in_silence_fits_and_is_accessible(
    browser: Browser, sandbox: WebSandbox, theme: str, width: int
) -> None:
    steps: list[Step] = [LIVE]
    for path, shown in PLACES.items():
        steps += [("hash", path), shown, ("evaluate", OVERFLOW), ("axe", str(AXE))]
    seen = browser.visit(sandbox.address, *steps, width=width, theme=theme)
    assert_silent(seen, sandbox.address)
    assert dict(zip(PLACES, seen.values[3::4], strict=True)) == dict.fromkeys(PLACES, 0)
    assert dict(zip(PLACES, seen.values[4::4], strict=True)) == {path: [] for path in PLACES}


def test_the_theme_follows_the_system_and_the_reader(browser: Browser, sandbox: WebSandbox) -> None:
    red = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    bright, dark = ("wait_function", f"{red} > 128"), ("wait_function", f"{red} < 128")
    steps = [
        LIVE,
        bright,
        ("theme", "dark"),
        dark,
        ("theme", "light"),
        bright,
        ("click", "[aria-label='Theme: as the system']"),
        ("click", "[aria-label='Theme: light']"),
        dark,
        ("click", "[aria-label='Theme: dark']"),
        bright,
    ]
    assert_silent(browser.visit(sandbox.address, *steps), sandbox.address)


def test_changes_are_seen_without_a_reload(browser: Browser, sandbox: WebSandbox, tmp_path: Path) -> None:
    manifest = tmp_path / "late.json"
    manifest.write_text(json.dumps(pod("late-0", "100m")))
    counted = ("evaluate", "document.querySelector('[data-stop=bound] strong').textContent")
    seen = browser.visit(
        sandbox.address,
        LIVE,
        DRAWN,
        counted,
        ("run", *sandbox.kubectl, "create", "-f", str(manifest)),
        ("wait_text", "[data-stop=bound]", str(PLACED + 1)),
        ("wait_text", "[aria-label='Last events']", "default/late-0"),
        ("run", *sandbox.kubectl, "cordon", "b-0"),
        ("hash", "/nodes"),
        ("wait_text", "tr", "Cordoned"),
        ("run", *sandbox.kubectl, "uncordon", "b-0"),
        ("wait_function", "!document.querySelector('table').textContent.includes('Cordoned')"),
        ("run", *sandbox.kubectl, "delete", "pod", "late-0"),
        ("hash", "/cluster"),
        ("wait_text", "[data-stop=bound]", str(PLACED)),
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[2] == str(PLACED)


def test_events_of_kubelets_do_not_crowd_out_the_others(browser: Browser, sandbox: WebSandbox) -> None:
    tags = ("texts", "[aria-label='Last events'] li .state")
    seen = browser.visit(
        sandbox.address,
        LIVE,
        ("wait_text", "[aria-label='Last events'] li", "Successfully assigned"),
        tags,
        ("select", "[aria-label='Who reports']", "kubelet"),
        ("wait_text", "[aria-label='Last events'] li", "Started"),
        tags,
    )
    assert_silent(seen, sandbox.address)
    assert "Scheduled" in seen.values[2]
    assert not {"Started", "Created", "Pulled"} & set(seen.values[2])
    assert "Scheduled" not in seen.values[5]


def test_the_life_of_a_pod_is_told_to_milliseconds(browser: Browser, sandbox: WebSandbox) -> None:
    script = """[...document.querySelectorAll('[aria-label=Timeline] li')].map(
        (line) => [line.querySelector('.tag').textContent, line.querySelector('time').textContent])"""
    seen = browser.visit(
        place(sandbox.address, "/pod/default/web-0"),
        ("wait_text", "[aria-label=Timeline]", "started"),
        ("evaluate", script),
    )
    assert_silent(seen, sandbox.address)
    times = dict(seen.values[1])
    assert [kind for kind, _ in seen.values[1]] == ["created", "attempt", "bound", "started"]
    assert all(len(times[kind]) == len("12:00:00.123") for kind in ("attempt", "bound", "started"))


def test_the_map_groups_colours_and_zooms(browser: Browser, sandbox: WebSandbox) -> None:
    canvas = "canvas[role=application]"
    group, colour = "[aria-label='Map of nodes'] select >> nth=0", "[aria-label='Map of nodes'] select >> nth=1"
    seen = browser.visit(
        sandbox.address,
        LIVE,
        DRAWN,
        ("select", group, "topology.kubernetes.io/zone"),
        ("select", colour, "taint"),
        ("wait_text", "[aria-label=Legend]", "no taint"),
        ("select", group, ""),
        ("evaluate", "location.hash"),
        ("evaluate", "document.querySelector(\"[aria-label='Map of nodes'] select\").selectedOptions[0].textContent"),
        ("hash", "/cluster?colour=room&pod=default/web-0"),
        ("wait_text", "[aria-label=Legend]", "a filter rejects it"),
        ("hash", "/cluster?colour=plugin&pod=default/web-0"),
        ("wait_text", "[aria-label=Legend]", "rejected"),
        ("wait_text", "option", "NodeResourcesFit"),
        ("hash", "/cluster?group=topology.kubernetes.io/zone"),
        DRAWN,
        ("evaluate", f"window.before = {COLOURS}"),
        ("drag", canvas, 60, 40),
        ("click", "[aria-label='Show all nodes']"),
        ("focus", canvas),
        ("press", "ArrowRight"),
        ("wait", "[aria-label='Chosen node']"),
        *[("press", "+")] * 6,
        # Close enough for the boxes of pods, which are asked for: their colours are not those of the overview.
        ("wait_function", "performance.getEntriesByType('resource').some((one) => /pods\\?node=/.test(one.name))"),
        ("press", "0"),
        DRAWN,
    )
    assert_silent(seen, sandbox.address)
    assert "colour=taint" in seen.values[6]
    assert seen.values[7] == "nothing"


def test_it_can_be_used_by_keyboard_alone(browser: Browser, sandbox: WebSandbox) -> None:
    pod_node = sandbox.pods()["web-3"]
    seen = browser.visit(
        sandbox.address,
        LIVE,
        DRAWN,
        ("press", "/"),
        ("evaluate", "document.activeElement.getAttribute('aria-label')"),
        *[("press", letter) for letter in "web-3"],
        ("wait_text", "[role=option]", "default/web-3"),
        ("press", "Enter"),
        ("wait_text", "h1", "default/web-3"),
        ("focus", "[role=tab][aria-selected=true]"),
        ("press", "ArrowRight"),
        MATRIX,
        ("press", "/"),
        *[("press", letter) for letter in pod_node],
        ("wait_text", "[role=option]", pod_node),
        ("press", "Enter"),
        ("wait_text", "h1", pod_node),
        ("hash", "/cluster"),
        DRAWN,
        ("focus", "canvas[role=application]"),
        ("press", "ArrowDown"),
        ("wait", "[aria-label='Chosen node']"),
        ("press", "Enter"),
        ("wait", "[aria-label='Pods on this node']"),
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[3] == "Search pods and nodes"


def test_the_matrix_sorts_shows_all_scores_and_is_saved(browser: Browser, sandbox: WebSandbox) -> None:
    totals = (
        "evaluate",
        "[...document.querySelectorAll('tbody td:nth-child(2)')].map((cell) => Number(cell.textContent))",
    )
    seen = browser.visit(
        place(sandbox.address, "/pod/default/web-0?tab=matrix&nodes=fit"),
        ("wait", "[data-rows='10'] tbody td"),
        totals,
        ("click", "th button >> text=Total"),
        totals,
        ("click", "button >> text=raw"),
        ("click", "[aria-label=Nodes] >> text=rejected"),
        ("wait_text", "td", "node(s) had untolerated taint(s)"),
        ("click", "[aria-label=Nodes] >> text=all"),
        ("text", "[aria-label='Matrix of nodes and plugins'] .body"),
        ("download", "text=Save as CSV"),
        ("evaluate", "location.hash"),
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[1] == sorted(seen.values[1], reverse=True)
    assert seen.values[3] == sorted(seen.values[3])
    assert sandbox.pods()["web-0"] in seen.values[8]
    header, *rows = csv.reader(io.StringIO(seen.values[9]))
    assert header[:3] == ["Node", "Total", "Rejected by"]
    assert "NodeResourcesFit ×1" in header
    assert len(rows) == 10
    assert {row[0]: row[2] for row in rows}["gpu-0"].startswith("TaintToleration: node(s) had untolerated taint(s)")
    assert "scores=raw" in seen.values[10]


def test_pods_that_wait_are_grouped_by_cause_with_what_would_wake_them(browser: Browser, sandbox: WebSandbox) -> None:
    seen = browser.visit(
        place(sandbox.address, "/pending"),
        ("wait_text", "h2", "3 pods: Insufficient cpu"),
        ("text", "main"),
        ("click", "td a >> text=huge-0"),
        ("wait_text", "h1", "default/huge-0"),
        ("text", "[aria-label=Summary]"),
    )
    assert_silent(seen, sandbox.address)
    text = seen.values[1]
    assert f"{WAITING} pods in 2 groups" in text
    assert "0/10 nodes are available" in text
    assert "Events that requeue them" in text
    assert "NodeResourcesFit" in text
    assert "Next attempt" in seen.values[4]


def test_commands_are_copied_with_the_kubeconfig(browser: Browser, sandbox: WebSandbox) -> None:
    kubeconfig = str(sandbox.process.kubeconfig)
    seen = browser.visit(
        place(sandbox.address, "/pod/default/web-0"),
        ("wait", "[aria-label=Commands]"),
        ("texts", "[aria-label=Commands] code"),
        ("click", "[aria-label^='Copy: kubectl'] >> nth=0"),
        ("wait_text", "[aria-label=Commands] button", "Copied"),
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[1][0] == f"kubectl --kubeconfig {kubeconfig} describe pod -n default web-0"
    assert seen.values[1][2] == f"steersman explain --kubeconfig {kubeconfig} -n default web-0"


def test_the_token_is_requested_and_leaves_the_address(browser: Browser, sandbox: WebSandbox) -> None:
    bare, _, token = sandbox.address.partition("#token=")
    seen = browser.visit(
        bare,
        ("wait_text", "h1", "This server asks for a token"),
        ("axe", str(AXE)),
        ("fill", "input[type=password]", "nobody's"),
        ("press", "Enter"),
        ("wait_text", "[role=alert]", "rejected this token"),
        ("fill", "input[type=password]", token),
        ("press", "Enter"),
        LIVE,
        ("evaluate", "[location.href, sessionStorage.length, document.cookie, Object.values(localStorage).join()]"),
    )
    assert seen.errors == []
    assert seen.values[1] == []
    href, kept, cookie, lasting = seen.values[8]
    assert (token in href, kept, cookie, token in lasting) == (False, 1, "", False)
    # The two refusals are all that the browser has to say.
    assert {message.split(": ", 1)[1].split(" (")[0] for message in seen.console} == {
        "Failed to load resource: the server responded with a status of 401"
    }


def test_what_is_not_there_is_reported_in_a_sentence(browser: Browser, sandbox: WebSandbox) -> None:
    seen = browser.visit(
        place(sandbox.address, "/pod/default/nobody"),
        ("wait_text", "[role=alert]", "nobody"),
        ("click", "[role=alert] a >> text=All pods"),
        ("wait_text", "h1", "Pods"),
        ("hash", "/nonsense"),
        ("wait_text", "main", "There is no page nonsense here"),
        ("hash", "/cluster?colour=room&pod=default/nobody"),
        ("wait_text", "[role=alert]", "nobody"),
    )
    assert seen.errors == []
