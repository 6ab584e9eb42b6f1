# SPDX-License-Identifier: Apache-2.0
"""The nodes of a chaos run: they come, go, are cordoned, tainted and labelled, and get what waves of pods ask for."""

from __future__ import annotations

import itertools
import random
import threading
from functools import partial
from typing import Any, Final

from tests.chaos.persistence import Persistent
from tests.chaos.pod_templates import DEDICATED, HOSTNAME, POOL, SMALL, ZONE, Wave

from steersman.testing import make_node
from steersman.testing.control_plane import JsonObject, manifest

ZONES: Final = 3
SMALL_CPU, LARGE_CPU = 2000, 8000
_SMALL_EVERY: Final = 10
#: Nodes per wave that get its label or resource.
_PER_WAVE: Final = 12
#: At most this share of the nodes is cordoned, and as many are tainted.
_LARGEST_SHARE: Final = 0.1
_PERIOD_SECONDS: Final = 1.0


class NodeOperator:
    """Changes one thing about nodes each second. Other threads may ask for more."""

    def __init__(self, persistent: Persistent, count: int, seed: int) -> None:
        self._do = persistent
        self._client = persistent.client
        self._count = count
        self._chance = random.Random(f"{seed}/nodes")
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        #: Names of the nodes there are.
        self.names: set[str] = set()
        self._cordoned: list[str] = []
        self._tainted: list[str] = []
        self._decorated: dict[str, list[str]] = {}

    def create_all(self) -> None:
        nodes = [_node(next(self._numbers)) for _ in range(self._count)]
        self.names.update(node["metadata"]["name"] for node in nodes)
        self._client.create_nodes(*nodes)

    def run(self, stopped: threading.Event) -> None:
        """Until the load is stopped, in a thread of its own."""
        changes = (self._cordon, self._taint, self._label, self._label, self._replace_one)
        while not stopped.wait(_PERIOD_SECONDS):
            self._chance.choice(changes)()

    # For faults.

    def delete_some(self, count: int) -> None:
        for name in self._some(count):
            self._delete(name)

    def add_missing(self) -> None:
        while len(self.names) < self._count and not self._do.ended.is_set():
            self._add()

    # For waves.

    def decorate(self, wave: Wave) -> None:
        """Some nodes get what the wave asks for."""
        if wave.node_labels or wave.node_resources:
            chosen = self._some(_PER_WAVE)
            self._decorated[wave.name] = chosen
            for name in chosen:
                self._change(name, wave.node_labels, wave.node_resources)

    def undecorate(self, wave: Wave) -> None:
        for name in self._decorated.pop(wave.name, ()):
            if name in self.names:
                self._change(name, dict.fromkeys(wave.node_labels), dict.fromkeys(wave.node_resources))

    def _change(self, name: str, labels: dict[str, Any], resources: dict[str, Any]) -> None:
        if labels:
            self._patch(name, {"metadata": {"labels": labels}})
        if resources:
            change = {"status": {"capacity": resources, "allocatable": resources}}
            self._do(partial(self._client.patch, "Node", name, change, subresource="status"))

    # What it does by itself.

    def _cordon(self) -> None:
        self._toggle(self._cordoned, {"spec": {"unschedulable": True}}, {"spec": {"unschedulable": None}})

    def _taint(self) -> None:
        taint = {"key": DEDICATED, "value": "yes", "effect": "NoSchedule"}
        self._toggle(self._tainted, {"spec": {"taints": [taint]}}, {"spec": {"taints": None}})

    def _toggle(self, toggled: list[str], on: JsonObject, off: JsonObject) -> None:
        """For one more node, or for the first of those again when there are enough."""
        if len(toggled) >= _LARGEST_SHARE * self._count:
            self._patch(toggled.pop(0), off)
            return
        for name in self._some(1):
            toggled.append(name)
            self._patch(name, on)

    def _label(self) -> None:
        for name in self._some(1):
            self._patch(name, {"metadata": {"labels": {"chaos.example.com/mood": f"m{self._chance.randrange(10**6)}"}}})

    def _replace_one(self) -> None:
        """A new node has a new name, as machines of a cloud do."""
        self.delete_some(1)
        self._add()

    def _some(self, count: int) -> list[str]:
        with self._lock:
            return self._chance.sample(sorted(self.names), min(count, len(self.names)))

    def _add(self) -> None:
        node = _node(next(self._numbers))
        name = node["metadata"]["name"]
        self._do(partial(self._client.create, node))
        # Admission puts a taint on every new node, and only a controller would take it away.
        self._patch(name, {"spec": {"taints": None}})
        with self._lock:
            self.names.add(name)

    def _delete(self, name: str) -> None:
        with self._lock:
            self.names.discard(name)
        self._do(partial(self._client.delete, "Node", name))

    def _patch(self, name: str, change: JsonObject) -> None:
        self._do(partial(self._client.patch, "Node", name, change))


def cpu_of(node: str) -> int:
    """In thousandths, by the name of a node."""
    return SMALL_CPU if int(node[1:]) % _SMALL_EVERY == 0 else LARGE_CPU


def _node(number: int) -> JsonObject:
    name = f"n{number}"
    pool = SMALL if cpu_of(name) == SMALL_CPU else "large"
    labels = {HOSTNAME: name, ZONE: f"z{number % ZONES}", POOL: pool}
    return manifest(make_node(name).capacity(cpu=f"{cpu_of(name)}m", memory="32Gi", pods="110").labels(labels))
