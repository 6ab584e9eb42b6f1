# SPDX-License-Identifier: Apache-2.0
"""The load of a chaos run: waves of pods with ever new templates, each in a namespace that is deleted when its waves are over.

A wave lives for `lifetime` seconds, so the number of pods is bounded. Besides, probes come at a steady pace: plain pods whose
way to a node is the latency that is judged. No controller empties namespaces here; this module does.
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from tests.chaos.node_operator import NodeOperator
from tests.chaos.persistence import Persistent
from tests.chaos.pod_templates import GATE, WAVE, Wave, make_wave, probe

from steersman.testing.control_plane import JsonObject

WAVE_SECONDS: Final = 3.0
PROBES: Final = "probes"
_WAVES_PER_NAMESPACE: Final = 6
_PROBES_PER_SECOND: Final = 2.0
_GATED_SECONDS: Final = 3.0


@dataclass(slots=True)
class Team:
    """A namespace and the waves in it that are alive."""

    namespace: str
    waves: list[tuple[float, Wave]] = field(default_factory=list)
    #: No further wave will come.
    complete: bool = False


class Tenants:
    """Creates `rate` pods per second in waves, and probes."""

    def __init__(self, persistent: Persistent, nodes: NodeOperator, rate: float, lifetime: float, seed: int) -> None:
        self._do = persistent
        self._client = persistent.client
        self._nodes = nodes
        self._size = round(rate * WAVE_SECONDS)
        self._rate = rate
        self._lifetime = lifetime
        self._seed = seed
        self._lock = threading.Lock()
        self._teams: list[Team] = []
        self.created = 0
        self.stopped = threading.Event()

    def run_waves(self) -> None:
        """Until the load is stopped, in a thread of its own."""
        for number in itertools.count():
            if self._over:
                return
            began = time.monotonic()
            self._create_wave(number)
            self._retire()
            self.stopped.wait(max(0.0, WAVE_SECONDS - (time.monotonic() - began)))

    def run_probes(self) -> None:
        """Until the load is stopped, in a thread of its own. Probes live as long as waves."""
        self._do(partial(self._client.create, namespace_object(PROBES)))
        kept = int(self._lifetime * _PROBES_PER_SECOND)
        for number in itertools.count():
            if self.stopped.wait(1 / _PROBES_PER_SECOND) or self._over:
                return
            self._create(probe(number, PROBES))
            if number >= kept:
                self._do(partial(self._client.delete, "Pod", f"probe-{number - kept}", PROBES))

    @property
    def _over(self) -> bool:
        return self.stopped.is_set() or self._do.ended.is_set()

    def delete_a_namespace(self) -> None:
        """The oldest one with pods: a fault."""
        with self._lock:
            team = next((team for team in self._teams if team.waves), None)
            if team is None:
                return
            self._teams.remove(team)
            team.complete = True
        self._remove_namespace(team)
        for _, wave in team.waves:
            self._nodes.undecorate(wave)

    def _create_wave(self, number: int) -> None:
        team = self._team(number)
        wave = make_wave(number, team.namespace, self._size, self._seed)
        self._nodes.decorate(wave)
        with self._lock:
            team.waves.append((time.monotonic(), wave))
        pause = WAVE_SECONDS / max(1, len(wave.objects)) / 2
        for obj in wave.objects:
            self._create(obj)
            if self.stopped.wait(pause):
                return
        if wave.gated:
            self.stopped.wait(_GATED_SECONDS)
            self._open_gates(wave)

    def _open_gates(self, wave: Wave) -> None:
        """Of every second pod: the others wait, with a reason."""
        for pod in wave.pods[::2]:
            name = pod["metadata"]["name"]
            change = {"spec": {"schedulingGates": [{"$patch": "delete", "name": GATE}]}}
            self._do(partial(self._client.patch, "Pod", name, change, wave.namespace, form="strategic"))

    def _create(self, obj: JsonObject) -> None:
        self.created += obj["kind"] == "Pod"
        self._do(partial(self._client.create, obj))

    def _team(self, number: int) -> Team:
        """A new namespace after some waves, or when the last one was deleted."""
        with self._lock:
            current = self._teams[-1] if self._teams else None
            if current is not None and not current.complete and number % _WAVES_PER_NAMESPACE:
                return current
            if current is not None:
                current.complete = True
            team = Team(f"team-{number}")
            self._teams.append(team)
        self._do(partial(self._client.create, namespace_object(team.namespace)))
        return team

    def _retire(self) -> None:
        """Waves whose time is over, and namespaces without waves."""
        oldest = time.monotonic() - self._lifetime
        for team in list(self._teams):
            for began, wave in list(team.waves):
                if began < oldest:
                    self._remove_wave(team.namespace, wave)
                    team.waves.remove((began, wave))
            if team.complete and not team.waves:
                with self._lock:
                    if team not in self._teams:
                        continue
                    self._teams.remove(team)
                self._remove_namespace(team)

    def _remove_wave(self, namespace: str, wave: Wave) -> None:
        self._do(partial(self._client.delete_all, "Pod", namespace, labels=f"{WAVE}={wave.name}"))
        for claim in wave.claims:
            remove_claim(self._do, claim["metadata"]["name"], namespace)
        self._nodes.undecorate(wave)

    def _remove_namespace(self, team: Team) -> None:
        """Terminating first, as with a real deletion; then empty; then gone."""
        name = team.namespace
        self._do(partial(self._client.delete, "Namespace", name))
        pods: partial[list[JsonObject]] = partial(self._client.list, "Pod", name)
        while self._do(pods):
            self._do(partial(self._client.delete_all, "Pod", name))
        for _, wave in team.waves:
            for claim in wave.claims:
                remove_claim(self._do, claim["metadata"]["name"], name)
        namespace = self._do(partial(self._client.get, "Namespace", name))
        if namespace is not None:
            namespace["spec"]["finalizers"] = []
            self._do(partial(self._client.replace, namespace, "finalize"))


def namespace_object(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def remove_claim(do: Persistent, name: str, namespace: str) -> None:
    """With the finalizer of the scheduler, which a controller would take away. Answers are not decoded: they may be deep."""
    path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}"
    headers = {"Content-Type": "application/merge-patch+json"}
    do(partial(do.client.raw, "PATCH", path, {"metadata": {"finalizers": None}}, headers=headers))
    do(partial(do.client.raw, "DELETE", path))
