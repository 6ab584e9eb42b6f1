# SPDX-License-Identifier: Apache-2.0
"""Buttons, sliders and presets on the web page of a real sandbox: first steps, fixes, nodes, workloads, weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.browser.conftest import Browser
from tests.e2e.browser.page_steps import AXE, DRAWN, LIVE, OVERFLOW, Step, assert_silent, place
from tests.e2e.browser.web_sandbox import PLACED, WebSandbox, web_sandbox
from tests.sandbox.sandbox_process import SandboxProcess

from steersman.testing.control_plane import Binaries, wait_until

EDITOR = ".cm-content"
PACK = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
  plugins:
    score: {disabled: [{name: NodeResourcesFit}], enabled: [{name: NodeResourcesFit, weight: 10}]}
"""
NODE = "/api/v1/nodes/b-0"


@pytest.fixture
def sandbox(binaries: Binaries, tmp_path: Path) -> Iterator[WebSandbox]:
    with web_sandbox(tmp_path, binaries) as running:
        yield running


def pressed(selector: str, *keys: str) -> list[Step]:
    return [("focus", selector), *(("press", key) for key in keys)]


@pytest.mark.parametrize("width", [1280, 380])
def test_an_empty_sandbox_offers_nodes_and_then_a_first_deployment(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    with SandboxProcess(tmp_path) as process:
        line = next(line for line in process.output.splitlines() if line.startswith("The page: "))
        address = line.removeprefix("The page: ")
        seen = browser.visit(
            address,
            LIVE,
            ("wait_text", "[aria-label='First steps'] h2", "no nodes yet"),
            ("axe", str(AXE)),
            ("evaluate", OVERFLOW),
            ("click", "button >> text=Add six nodes"),
            ("wait_text", "[aria-label='First steps'] h2", "Your cluster is ready"),
            DRAWN,
            ("click", "button >> text=Create a Deployment"),
            ("wait_text", "[data-stop=bound] strong", "6"),
            ("wait_function", "document.querySelector(\"[aria-label='First steps']\") === null"),
            ("evaluate", OVERFLOW),
            width=width,
        )
        assert_silent(seen, address)
        assert [seen.values[2], seen.values[3], seen.values[-1]] == [[], 0, 0]


def test_the_page_of_a_pending_pod_finds_what_would_help_with_its_commands(
    browser: Browser, sandbox: WebSandbox
) -> None:
    panel = "[aria-label='What would help']"
    seen = browser.visit(
        place(sandbox.address, "/pod/default/huge-0"),
        ("click", f"{panel} button >> text=Find what would help"),
        ("wait_text", f"{panel} [role=status]", "the smallest first"),
        ("text", panel),
        ("texts", f"{panel} code"),
        ("axe", str(AXE)),
        ("hash", "/pod/default/web-0"),
        ("wait_text", "h1", "default/web-0"),
        ("evaluate", "document.querySelector(\"[aria-label='What would help']\") === null"),
    )
    assert_silent(seen, sandbox.address)
    assert "Lower the cpu request of container main from 12 to" in seen.values[2]
    assert any(command.startswith("kubectl ") and "huge-0" in command for command in seen.values[3])
    assert seen.values[4] == []
    assert seen.values[-1]


def test_a_node_is_cordoned_tainted_drained_and_deleted_by_buttons(browser: Browser, sandbox: WebSandbox) -> None:
    there = [name for name, where in sandbox.pods().items() if where == "b-0"]
    assert there
    seen = browser.visit(
        place(sandbox.address, "/node/b-0"),
        ("click", 'button >> text="Cordon"'),
        ("wait_text", "[aria-label=Summary] .state", "Cordoned"),
        ("click", 'button >> text="Uncordon"'),
        ("wait_text", "[role=status]", "b-0 takes pods again."),
        ("fill", "[aria-label^=Taint]", "example.com/test=1:NoSchedule"),
        ("click", "button >> text=Add taint"),
        ("wait_text", "[aria-label='Labels and taints']", "example.com/test=1:NoSchedule"),
        ("wait_text", "button", "Remove taint"),
        ("click", "button >> text=Remove taint"),
        ("wait_text", "[role=status]", "b-0 lost the taint"),
        ("click", 'button >> text="Drain"'),
        ("click", "button >> text=Really drain"),
        ("wait_text", "[role=status]", f"b-0 is cordoned, {len(there)} pods evicted."),
        ("axe", str(AXE)),
        ("click", 'button >> text="Delete"'),
        ("click", "button >> text=Really delete"),
        ("wait_text", "[role=alert]", "b-0"),
        ("wait_text", "[role=alert] a", "All nodes"),
    )
    assert seen.errors == []
    assert seen.values[13] == []
    wait_until(lambda: not set(there) & set(sandbox.pods()), 90)  # the pod garbage collector waits 40 s
    assert sandbox.process.request("GET", NODE)[0] == 404


def test_a_deployment_is_scaled_on_the_page_of_its_pod(browser: Browser, sandbox: WebSandbox) -> None:
    seen = browser.visit(
        sandbox.address,
        LIVE,
        ("run", *sandbox.kubectl, "create", "deployment", "shop", "--image=x", "--replicas=2"),
        ("hash", "/pods?text=shop"),
        ("wait_text", "td", "default/shop-"),
        ("click", "td a >> text=default/shop- >> nth=0"),
        ("wait_text", "[aria-label=Summary] label", "Deployment shop"),
        ("fill", "[aria-label=Replicas]", "5"),
        ("click", 'button >> text="Scale"'),
        ("wait_text", "[role=status]", "Deployment default/shop is scaled to 5."),
    )
    assert_silent(seen, sandbox.address)
    wait_until(lambda: sum(name.startswith("shop-") and bool(on) for name, on in sandbox.pods().items()) == 5)


def test_moving_a_slider_places_the_pods_again_and_recolours_the_map(
    browser: Browser, binaries: Binaries, tmp_path: Path
) -> None:
    packing = tmp_path / "pack.yaml"
    packing.write_text(PACK)
    with web_sandbox(tmp_path, binaries, "--config", str(packing)) as sandbox:
        _check_sliders(browser, sandbox)


def _check_sliders(browser: Browser, sandbox: WebSandbox) -> None:
    picture = "document.querySelector(\"[aria-label='Map of the trial'] canvas\").toDataURL()"
    seen = browser.visit(
        sandbox.address,
        ("run", *sandbox.kubectl, "create", "deployment", "shop", "--image=x", "--replicas=6"),
        ("wait_text", "[data-stop=bound] strong", str(PLACED + 6)),
        ("hash", "/configuration?tab=edit"),
        ("wait_text", EDITOR, "KubeSchedulerConfiguration"),
        *pressed("[aria-label='Weight of NodeResourcesFit']", "Home"),
        ("wait_text", "[aria-label=Comparison] h2", "would go elsewhere"),
        ("wait_text", "[aria-label=Comparison]", f"{PLACED + 6} decisions compared"),
        ("click", "button >> text=As decided"),
        ("wait_function", f"window.before = {picture}"),
        ("click", "button >> text=Edited"),
        ("wait_function", f"window.before !== {picture}"),
        ("axe", str(AXE)),
        ("evaluate", OVERFLOW),
        ("click", "button >> text=As in effect"),
        ("wait_text", "[aria-label=Comparison] h2", "Nothing moves"),
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[-4:-2] == [[], 0]


def test_after_apply_presets_are_compared_on_the_placed_pods(browser: Browser, sandbox: WebSandbox) -> None:
    seen = browser.visit(
        place(sandbox.address, "/compare"),
        ("wait_text", EDITOR, "KubeSchedulerConfiguration"),
        ("click", "[aria-label='Presets for B'] >> text=Pack"),
        ("wait_text", f"{EDITOR} >> nth=1", "MostAllocated"),
        ("hash", "/configuration?tab=edit"),
        ("wait_text", EDITOR, "KubeSchedulerConfiguration"),
        ("click", 'button >> text="Apply"'),
        ("wait_text", "[role=status]", "Applied"),
        ("wait_text", "main", "applied on this page"),
        ("hash", "/compare"),
        ("click", "[aria-label='Presets for A'] >> text=Spread"),
        ("click", "[aria-label='Presets for B'] >> text=Pack"),
        ("click", 'button >> text="Compare"'),
        ("wait_text", "[aria-label=Comparison] h2", "would go elsewhere"),
        ("text", "[aria-label=Comparison] header"),
    )
    assert_silent(seen, sandbox.address)
    assert f"{PLACED} decisions compared" in seen.values[-1]


def test_relative_times_tick_and_filters_act_while_typing(browser: Browser, sandbox: WebSandbox) -> None:
    age = "document.querySelector('[aria-label=Summary] dl').textContent.match(/Created *(.*?) ago/)[1]"
    rows = "document.querySelectorAll('[data-row]').length"
    seen = browser.visit(
        place(sandbox.address, "/pod/default/huge-0"),
        ("wait", "[aria-label=Summary] dl"),
        ("wait_function", f"window.then = {age}"),
        ("wait_function", f"window.then !== {age}"),
        ("hash", "/pods"),
        ("wait_text", "td", "default/web-0"),
        *pressed("label:has-text('Name has') input", "h", "u"),
        ("wait_function", f"{rows} === 3"),
        ("evaluate", "document.activeElement.tagName"),
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[-1] == "INPUT"


def test_nodes_have_bars_and_equal_events_are_one_line(browser: Browser, sandbox: WebSandbox) -> None:
    state = "[...document.querySelectorAll('tr')].find((row) => row.textContent.includes('b-0')).cells[1]"
    failed = "[aria-label='Last events'] li:has-text('FailedScheduling')"
    seen = browser.visit(
        sandbox.address,
        LIVE,
        ("wait_text", failed, "and 2 others"),
        ("texts", failed),
        ("run", *sandbox.kubectl, "cordon", "b-0"),
        ("hash", "/nodes"),
        ("wait_text", "td", "Cordoned"),
        ("evaluate", f"{state}.className"),
        ("texts", "tr:has-text('b-1') td:has(.meter)"),
    )
    assert_silent(seen, sandbox.address)
    assert len(seen.values[2]) == 1
    assert "×3" in seen.values[2][0]
    assert "state-warn" in seen.values[6]
    assert "25 % · 1 of 4" in seen.values[7]


def test_the_header_of_a_narrow_page_is_low_and_shows_the_chosen_page(browser: Browser, sandbox: WebSandbox) -> None:
    chosen = """(() => { const menu = document.querySelector("nav").getBoundingClientRect();
        const link = document.querySelector("nav [aria-current]").getBoundingClientRect();
        return link.left >= menu.left - 1 && link.right <= menu.right + 1; })()"""
    seen = browser.visit(
        place(sandbox.address, "/compare"),
        ("wait_text", EDITOR, "KubeSchedulerConfiguration"),
        ("evaluate", "document.querySelector('main').getBoundingClientRect().top"),
        ("evaluate", chosen),
        ("evaluate", "document.querySelector('nav').classList.contains('before')"),
        ("hash", "/cluster"),
        DRAWN,
        ("evaluate", chosen),
        ("evaluate", "document.querySelector('nav').classList.contains('after')"),
        width=380,
        height=780,
    )
    assert_silent(seen, sandbox.address)
    assert seen.values[1] < 780 * 0.18
    assert [seen.values[place] for place in (2, 3, 6, 7)] == [True] * 4
