# SPDX-License-Identifier: Apache-2.0
"""`make web-pictures`: starts a sandbox with a cluster to look at, and has a browser draw the pages of the documentation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

Document = dict[str, Any]
Pictures = tuple[tuple[str, str, str, str, int], ...]

VISIT: Final = Path(__file__).with_name("visit_page.py")
PAGE: Final = Path("docs/how-to/web.md")
WIDTH: Final = 1280
HEIGHT: Final = 800
START_SECONDS: Final = 120.0
POOLS: Final[dict[str, tuple[int, Document]]] = {
    "general": (44, {"cpu": "8", "memory": "32Gi"}),
    "highmem": (14, {"cpu": "8", "memory": "64Gi"}),
    "gpu": (6, {"cpu": "16", "memory": "128Gi", "nvidia.com/gpu": "4"}),
    "spot": (10, {"cpu": "4", "memory": "16Gi"}),
}
TAINTS: Final = {
    "gpu": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
    "spot": [{"key": "example.com/spot", "effect": "PreferNoSchedule"}],
}
TOLERATION: Final = {"key": "nvidia.com/gpu", "operator": "Exists"}
ZONES: Final = ("eu-a", "eu-b", "eu-c")
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
#: Deployments: replicas, requests, and what else their pods say.
WORKLOADS: Final[dict[str, tuple[int, Document, Document]]] = {
    "web": (300, {"cpu": "500m", "memory": "1Gi"}, {}),
    "api": (150, {"cpu": "1", "memory": "2Gi"}, {}),
    "cache": (36, {"cpu": "1", "memory": "24Gi"}, {"nodeSelector": {"example.com/pool": "highmem"}}),
    "batch": (140, {"cpu": "1500m", "memory": "3Gi"}, {}),
    "train": (90, {"cpu": "2", "memory": "16Gi", "nvidia.com/gpu": "1"}, {"tolerations": [TOLERATION]}),
    "huge": (3, {"cpu": "12", "memory": "200Gi"}, {}),
}
UNPLACED: Final = 21
"""Pods that no node can take: all of `huge`, and those of `train` for which there is no device."""
#: Something to see in the curves: a Deployment grows, as the page itself would have it.
GROWTH: Final[list[list[object]]] = [
    [
        "evaluate",
        """fetch("web/v1/kube/apis/apps/v1/namespaces/default/deployments/web", {
            method: "PATCH",
            headers: {
                Authorization: `Bearer ${sessionStorage.getItem("steersman-token")}`,
                "Content-Type": "application/merge-patch+json",
            },
            body: JSON.stringify({ spec: { replicas: 520 } }),
        }).then((answer) => answer.status)""",
    ],
    ["wait_text", "[data-stop=bound] strong", "918"],
]
EVERY_DECISION: Final[list[object]] = ["fill", "[aria-label='How many decisions']", "1000"]
COMPARED: Final[list[object]] = ["wait", "[aria-label=Comparison] td"]
#: The name of the picture, the place, what is waited for, the theme, and the height.
PICTURES: Final[Pictures] = (
    ("cluster", "/cluster", "canvas[role=application]", "light", HEIGHT),
    ("cluster-dark", "/cluster?group=example.com/pool&resource=memory", "canvas[role=application]", "dark", HEIGHT),
    ("pending", "/pending", "[aria-label*=Insufficient] td", "light", 760),
    ("pod", "/pod/{pending}", "[aria-label=Timeline] li", "light", 590),
    ("matrix", "/pod/{placed}?tab=matrix", "[data-rows] tbody td", "light", HEIGHT),
    ("node", "/node/gpu-eu-a-0", "[aria-label='Pods on this node'] td", "light", 620),
    ("configuration", "/configuration", "[aria-label^=Profile] td", "light", HEIGHT),
    ("objects", "/objects?kind=Deployment&namespace=default&name=web", ".cm-line", "light", 700),
    ("time", "/time", "[aria-label=Clock]", "light", 560),
)


#: Pictures of the cluster of the page that they are in: which configuration packs.
PACKED_PICTURES: Final[Pictures] = (
    ("weights", "/configuration?tab=edit", ".cm-line", "light", 1180),
    ("compare", "/compare", ".cm-line", "light", 960),
)


def file_in_page(name: str) -> str:
    """A file that a reader of the page is to write."""
    found = re.search(rf"<!-- file: {re.escape(name)} -->\n```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    if found is None:
        sys.exit(f"web-pictures: {PAGE} has no file {name}")
    return found[1]


def packed_steps() -> dict[str, list[list[object]]]:
    """What is done before each of the pictures about packing."""
    pack = file_in_page("pack.yaml")
    light = pack.replace("weight: 10", "weight: 1")
    return {
        "weights": [
            ["paste", ".cm-content", pack],
            ["wait_text", "[role=status]", "differ"],
            EVERY_DECISION,
            ["click", "button >> text=Try it"],
            COMPARED,
        ],
        "compare": [
            ["paste", ".cm-content >> nth=0", light],
            ["paste", ".cm-content >> nth=1", pack],
            EVERY_DECISION,
            ["click", 'button >> text="Compare"'],
            COMPARED,
        ],
    }


def nodes() -> Iterator[Document]:
    for zone in ZONES:
        for pool, (count, size) in POOLS.items():
            for number in range(count):
                name = f"{pool}-{zone}-{number}"
                room = {**size, "pods": "110"}
                labels = {ZONE_LABEL: zone, "example.com/pool": pool, "kubernetes.io/hostname": name}
                yield {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": name, "labels": labels},
                    "spec": {"taints": TAINTS.get(pool, []), "unschedulable": (pool, number) == ("general", 7)},
                    "status": {
                        "capacity": room,
                        "allocatable": room,
                        "conditions": [{"type": "Ready", "status": "True"}],
                    },
                }


def deployments() -> Iterator[Document]:
    for name, (replicas, requests, spec) in WORKLOADS.items():
        limits = {key: value for key, value in requests.items() if "/" in key}
        container = {"name": name, "image": f"example/{name}", "resources": {"requests": requests, "limits": limits}}
        template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **spec}}
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
        }


@contextmanager
def sandbox(folder: Path, manifests: str, *arguments: str) -> Iterator[str]:
    """A sandbox with these objects; the address of its page."""
    objects, log = folder / "objects.yaml", folder / "log"
    objects.write_text(manifests)
    command = [sys.executable, "-m", "steersman", "sandbox", "-f", str(objects), "--kubeconfig", "sandbox.kubeconfig"]
    command += arguments
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while "Ctrl-C" not in log.read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"web-pictures: the sandbox did not start:\n{log.read_text()}")
        time.sleep(0.1)
    return next(
        line.removeprefix("The page: ") for line in log.read_text().splitlines() if line.startswith("The page: ")
    )


def visit(url: str, steps: list[list[object]], theme: str, height: int = HEIGHT) -> list[Any]:
    wanted = {"url": url, "width": WIDTH, "height": height, "theme": theme, "steps": steps}
    command = [os.environ["BROWSER_PYTHON"], str(VISIT), os.environ["CHROMIUM"]]
    done = subprocess.run(command, input=json.dumps(wanted), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"web-pictures: {done.stderr[-2000:]}")
    values: list[Any] = json.loads(done.stdout)["values"]
    return values


def examples(address: str) -> dict[str, str]:
    """A pod that waits and one that has a node, once everything that fits is placed."""
    settled: list[object] = ["wait_text", "[data-stop=unschedulable] strong", str(UNPLACED)]
    names = "[...document.querySelectorAll('td a')].map((link) => link.textContent)[0]"
    steps = [settled]
    for place, text in (("/pods?place=unschedulable&text=train", "train"), ("/pods?place=bound&text=batch", "batch")):
        steps += [["hash", place], ["wait_text", "td a", text], ["evaluate", names]]
    values = visit(address, steps, "light")
    return {"pending": values[3], "placed": values[6]}


def draw(address: str, pictures: Pictures, steps: dict[str, list[list[object]]], names: dict[str, str]) -> None:
    """Draws pictures of one sandbox, each after its steps; `names` stand for objects in places."""
    target = Path(sys.argv[1])
    for name, place, shown, theme, height in pictures:
        path = target / f"{name}.png"
        wanted: list[list[object]] = [["wait_text", "[role=status]", "Live"], ["wait", shown]]
        wanted += [*steps.get(name, []), ["screenshot", str(path), {}]]
        visit(f"{address}&{place.format(**names)}", wanted, theme, height)
        print(path)


def main() -> None:
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes(), *deployments()]})
    with tempfile.TemporaryDirectory() as folder, sandbox(Path(folder), objects) as address:
        draw(address, PICTURES, {"cluster": GROWTH}, examples(address))
    with (
        tempfile.TemporaryDirectory() as folder,
        sandbox(Path(folder), file_in_page("shop.yaml"), "--nodes", "60") as address,
    ):
        visit(address, [["wait_text", "[data-stop=bound] strong", "192"]], "light")
        draw(address, PACKED_PICTURES, packed_steps(), {})


if __name__ == "__main__":
    main()
