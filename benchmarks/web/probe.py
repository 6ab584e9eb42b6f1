# SPDX-License-Identifier: Apache-2.0
"""Uses the web page as a reader would and measures it, in an environment that has Playwright: `probe.py CHROMIUM ADDRESS POD`.

Prints a JSON document with `lines`. The browser renders in software. Tasks are those that Chromium calls long, above 50 ms.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Final

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


def probe(page: Page, address: str, pod: str) -> list[str]:
    page.add_init_script(TASKS)
    page.goto(f"{address}&/cluster?node=node-0")
    page.wait_for_selector("[aria-label='Chosen node']")
    page.wait_for_selector("canvas[role=application]")
    page.wait_for_timeout(3000)
    load = page.evaluate(TAKE_TASKS)
    frames = page.evaluate(PAN)
    panning = page.evaluate(TAKE_TASKS)
    followed = [page.evaluate(FOLLOW, cordoned) for cordoned in (True, False) * 3]
    page.wait_for_timeout(10_000)
    watching = page.evaluate(TAKE_TASKS)
    memory = resident_megabytes(page)
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
    page.evaluate("(pod) => { location.hash = `/pod/${pod}` }", pod)
    page.wait_for_selector("[role=tab]")
    page.wait_for_timeout(1000)
    arriving = page.evaluate(TAKE_TASKS)
    opened = []
    for _ in range(5):
        opened.append(page.evaluate(MATRIX))
        size = page.inner_text("[data-rows] header .quiet")
        page.click("[role=tab] >> nth=0")
        page.wait_for_timeout(300)
    tasks = page.evaluate(TAKE_TASKS)
    return [
        f"panning: {frames:.0f} frames a second",
        f"changes are seen after {sorted(followed)[len(followed) // 2]:.0f} ms, at most {max(followed):.0f} ms",
        f"longest task: {load:.0f} ms while loading, {panning:.0f} ms panning, {watching:.0f} ms watching, "
        f"{arriving:.0f} ms going to a pod, {tasks:.0f} ms with the matrix",
        f"memory of the page's process {memory:.0f} MB, of these JavaScript {heap:.0f} MB",
        f"the matrix ({size}) opens in {sorted(opened)[len(opened) // 2]:.0f} ms after the click, "
        f"{opened[0]:.0f} ms the first time, {max(opened):.0f} ms at most",
    ]


def main() -> None:
    chromium, address, pod = sys.argv[1:]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, chromium_sandbox=os.geteuid() != 0)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(TIMEOUT_MS)
        print(json.dumps({"lines": probe(page, address, pod)}))
        browser.close()


if __name__ == "__main__":
    main()
