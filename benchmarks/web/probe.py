# SPDX-License-Identifier: Apache-2.0
"""Uses the web page as a reader would and measures it, in an environment that has Playwright: `probe.py CHROMIUM ADDRESS POD`.

Prints a JSON document with `lines`. The browser renders in software. Of tasks both is told: how long they took, as Chromium's
`longtask` does for those above 50 ms, and their CPU time, which other work on the machine does not lengthen.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from playwright.sync_api import Page, sync_playwright

TIMEOUT_MS: Final = 120_000
TASKS: Final = """window.longTasks = [];
new PerformanceObserver((list) => { for (const task of list.getEntries()) window.longTasks.push(task.duration); })
    .observe({ type: "longtask", buffered: true });"""
TAKE_TASKS: Final = "Math.max(0, ...window.longTasks.splice(0))"
PAN: Final = """async () => {
    const canvas = document.querySelector("canvas[role=application]");
    const box = canvas.getBoundingClientRect();
    canvas.setPointerCapture = () => {};
    const fire = (type, x, y) => canvas.dispatchEvent(
        new PointerEvent(type, { clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true }));
    fire("pointerdown", 300, 150);
    const began = performance.now();
    let frames = 0;
    await new Promise((done) => {
        const frame = (now) => {
            frames += 1;
            fire("pointermove", 300 + 150 * Math.sin(frames / 10), 150 + 80 * Math.cos(frames / 13));
            if (now - began < 5000) requestAnimationFrame(frame); else done();
        };
        requestAnimationFrame(frame);
    });
    fire("pointerup", 300, 150);
    return (1000 * frames) / (performance.now() - began);
}"""
FOLLOW: Final = """async (unschedulable) => {
    const seen = () => document.querySelector("[aria-label='Chosen node']").textContent.includes("Cordoned");
    const headers = { "Content-Type": "application/merge-patch+json",
        Authorization: `Bearer ${sessionStorage.getItem("steersman-token")}` };
    const body = JSON.stringify({ spec: { unschedulable } });
    const began = performance.now();
    await fetch("web/v1/kube/api/v1/nodes/node-0", { method: "PATCH", headers, body });
    while (seen() !== unschedulable) await new Promise(requestAnimationFrame);
    return performance.now() - began;
}"""
MATRIX: Final = """async () => {
    const tab = [...document.querySelectorAll("[role=tab]")].find((one) => one.textContent.includes("plugins"));
    const began = performance.now();
    tab.click();
    while (!document.querySelector("[data-rows] tbody td")) await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - began;
}"""


class LongestTask(NamedTuple):
    """Of a while, in milliseconds."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.0f} ms ({self.cpu:.0f} ms of CPU)"


def longest_task(page: Page, use: Callable[[], object]) -> LongestTask:
    """The longest task of the page while it is used so."""
    browser = page.context.browser
    assert browser is not None, "the page has one"
    browser.start_tracing(page=page, categories=["toplevel", "__metadata"])
    use()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    threads = {(one["pid"], one["tid"]) for one in events if one.get("args", {}).get("name") == "CrRendererMain"}
    tasks = [one for one in events if (one["pid"], one["tid"]) in threads and one.get("ph") == "X"]
    wall = page.evaluate(TAKE_TASKS)
    return LongestTask(wall, max((one.get("tdur", 0) for one in tasks), default=0) / 1000)


def resident_megabytes(page: Page) -> float:
    """Of the process that runs the page."""
    session = page.context.browser.new_browser_cdp_session() if page.context.browser else None
    assert session is not None
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = []
    for process in processes:
        if process["type"] == "renderer":
            status = Path(f"/proc/{process['id']}/status").read_text()
            sizes += [int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS")]
    return max(sizes)


def load(page: Page, address: str) -> None:
    page.goto(f"{address}&/cluster?node=node-0")
    page.wait_for_selector("[aria-label='Chosen node']")
    page.wait_for_selector("canvas[role=application]")
    page.wait_for_timeout(3000)


def go_to(page: Page, pod: str) -> None:
    page.evaluate("(pod) => { location.hash = `/pod/${pod}` }", pod)
    page.wait_for_selector("[role=tab]")
    page.wait_for_timeout(1000)


def open_matrix(page: Page) -> list[float]:
    """How long it took each time, in milliseconds."""
    opened = []
    for _ in range(9):
        opened.append(page.evaluate(MATRIX))
        page.click("[role=tab] >> nth=0")
        page.wait_for_timeout(300)
    page.evaluate(MATRIX)
    return opened


def probe(page: Page, address: str, pod: str) -> list[str]:
    page.add_init_script(TASKS)
    loading = longest_task(page, lambda: load(page, address))
    frames = page.evaluate(PAN)
    panning = page.evaluate(TAKE_TASKS)
    followed = [page.evaluate(FOLLOW, cordoned) for cordoned in (True, False) * 3]
    watching = longest_task(page, lambda: page.wait_for_timeout(10_000))
    memory = resident_megabytes(page)
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
    arriving = longest_task(page, lambda: go_to(page, pod))
    opened: list[float] = []
    opening = longest_task(page, lambda: opened.extend(open_matrix(page)))
    size = page.inner_text("[data-rows] header .quiet")
    return [
        f"panning: {frames:.0f} frames a second, longest task {panning:.0f} ms",
        f"changes are seen after {sorted(followed)[len(followed) // 2]:.0f} ms, at most {max(followed):.0f} ms",
        f"longest task: loading {loading}, watching {watching}, going to a pod {arriving}, opening the matrix {opening}",
        f"memory of the page's process {memory:.0f} MB, of these JavaScript {heap:.0f} MB",
        f"the matrix ({size}) opens in {sorted(opened)[len(opened) // 2]:.0f} ms after the click, "
        f"{opened[0]:.0f} ms the first time, {max(opened):.0f} ms at most",
    ]


def probe_file(page: Page, url: str, pod: str) -> list[str]:
    """Opens a report and goes from page to page."""
    page.add_init_script(TASKS)
    places = {
        "pending": ("/pending", "h1"),
        "all pods": ("/pods", "[data-row]"),
        "a pod": (f"/pod/{pod}", "[aria-label=Timeline] li"),
        "its matrix": (f"/pod/{pod}?tab=matrix", "[data-rows] tbody td"),
        "all nodes": ("/nodes", "[data-row]"),
        "a node": ("/node/node-0", "[aria-label='Pods on this node']"),
    }
    seconds = {}

    def visit(name: str, go: Callable[[], object], shown: str) -> LongestTask:
        def use() -> None:
            begin = time.monotonic()
            go()
            page.wait_for_selector(shown, state="attached")
            seconds[name] = time.monotonic() - begin
            page.wait_for_timeout(1500)

        return longest_task(page, use)

    tasks = {"opening": visit("opening", lambda: page.goto(f"{url}#/cluster"), "canvas[role=application]")}
    for name, (place, shown) in places.items():
        tasks[name] = visit(name, partial(page.evaluate, "(place) => { location.hash = place }", place), shown)
    memory = resident_megabytes(page)
    lines = [f"{name}: shown after {seconds[name]:.2f} s, longest task {task}" for name, task in tasks.items()]
    return [*lines, f"memory of the page's process {memory:.0f} MB"]


def main() -> None:
    chromium, address, pod = sys.argv[1:]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, chromium_sandbox=os.geteuid() != 0)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(TIMEOUT_MS)
        probed = probe_file if address.startswith("file:") else probe
        print(json.dumps({"lines": probed(page, address, pod)}))
        browser.close()


if __name__ == "__main__":
    main()
