# SPDX-License-Identifier: Apache-2.0
"""`make web-pictures`: starts a sandbox with a cluster to look at, and has a browser draw the pages of the documentation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

Document = dict[str, Any]

VISIT: Final = Path(__file__).with_name("visit_page.py")
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
#: A configuration that packs: the fullest node that still fits is the best.
PACK: Final = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      disabled:
      - name: NodeResourcesBalancedAllocation
      - name: PodTopologySpread
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources:
        - {name: cpu, weight: 1}
        - {name: memory, weight: 1}
"""
TRIAL: Final[list[list[object]]] = [
    ["paste", ".cm-content", PACK],
    ["wait_text", "[role=status]", "differ"],
    ["click", "button >> text=Try it"],
    ["wait", "[aria-label=Comparison] td"],
]
MORE_STEPS: Final = {"cluster": GROWTH, "weights": TRIAL}
#: The name of the picture, the place, what is waited for, the theme, and the height.
PICTURES: Final = (
    ("cluster", "/cluster", "canvas[role=application]", "light", HEIGHT),
    ("cluster-dark", "/cluster?group=example.com/pool&resource=memory", "canvas[role=application]", "dark", HEIGHT),
    ("pending", "/pending", "[aria-label*=Insufficient] td", "light", 760),
    ("pod", "/pod/{pending}", "[aria-label=Timeline] li", "light", 590),
    ("matrix", "/pod/{placed}?tab=matrix", "[data-rows] tbody td", "light", HEIGHT),
    ("node", "/node/gpu-eu-a-0", "[aria-label='Pods on this node'] td", "light", 620),
    ("configuration", "/configuration", "[aria-label^=Profile] td", "light", HEIGHT),
    ("weights", "/configuration?tab=edit", ".cm-line", "light", 1240),
    ("objects", "/objects?kind=Deployment&namespace=default&name=web", ".cm-line", "light", 700),
    ("time", "/time", "[aria-label=Clock]", "light", 560),
)


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
def sandbox(folder: Path) -> Iterator[str]:
    """A sandbox with the cluster; the address of its page."""
    manifests, log = folder / "objects.json", folder / "log"
    items = [*nodes(), *deployments()]
    manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    command = [sys.executable, "-m", "steersman", "sandbox", "-f", str(manifests), "--kubeconfig", "sandbox.kubeconfig"]
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


def main() -> None:
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sandbox(Path(folder)) as address:
        named = examples(address)
        for name, place, shown, theme, height in PICTURES:
            path = target / f"{name}.png"
            steps: list[list[object]] = [["wait_text", "[role=status]", "Live"], ["wait", shown]]
            steps += [*MORE_STEPS.get(name, []), ["screenshot", str(path), {}]]
            visit(f"{address}&{place.format(**named)}", steps, theme, height)
            print(path)


if __name__ == "__main__":
    main()
