# SPDX-License-Identifier: Apache-2.0
"""A moment of a live cluster's record, as a simulation: the objects that the scheduler knew, and where it had put its pods."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from steersman import api
from steersman.api import codec
from steersman.errors import InputError
from steersman.framework.watching import is_custom
from steersman.kubelets import DEFAULT_POLICY
from steersman.record.frames import (
    BindingBody,
    DecisionBody,
    Frame,
    FrameKind,
    RunBody,
    WatchedChange,
    WatchEventBody,
)
from steersman.record.live_items import kind_text
from steersman.record.reader import RecordReader, snapshot_of
from steersman.record.recorded_run import body_of
from steersman.record.recorded_setup import NO_CONSENT, PluginConsent, scheduler_options
from steersman.sim import Simulation


def live_simulation_at(reader: RecordReader, until: float, plugins: PluginConsent) -> Simulation:
    """The cluster as the recorded scheduler knew it at that time. Raises `InputError`."""
    known = KnownCluster(reader, plugins)
    for frame in reader.all_frames():
        if frame.time > until:
            break
        known.add(frame)
    if known.run is None:
        raise InputError("does not say how it began", file=str(reader.directory))
    options = scheduler_options(known.run, None, plugins)
    simulation = Simulation(options, known.run.seed, until, DEFAULT_POLICY, controllers=False)
    simulation.add(*known.objects_with_nodes())
    return simulation


class KnownCluster:
    """The objects that the scheduler of a record knows at a time."""

    def __init__(self, reader: RecordReader, plugins: PluginConsent = NO_CONSENT) -> None:
        self._reader = reader
        self._plugins = plugins
        self.run: RunBody | None = None
        self._kinds: dict[str, type[api.Object]] = {}
        self._objects: dict[tuple[str, str], api.Object] = {}
        #: By uid, the node of a pod that the scheduler has decided on.
        self._decided: dict[str, str] = {}

    def add(self, frame: Frame) -> None:
        if frame.kind == FrameKind.SNAPSHOT:
            if snapshot_of(frame, self._reader.directory).begins:
                self._decided.clear()
            self._objects.clear()
        elif frame.kind == FrameKind.RUN:
            self._begin(body_of(frame, RunBody, self._reader.directory))
        elif frame.kind == FrameKind.OBJECT:
            self._put(codec.convert_object(codec.plain(frame.body), filter(is_custom, self._kinds.values())))
        elif frame.kind in (FrameKind.WATCH_EVENT, FrameKind.TOLD_MEANWHILE):
            self._tell(body_of(frame, WatchEventBody, self._reader.directory))
        elif frame.kind == FrameKind.DECISION:
            decision = body_of(frame, DecisionBody, self._reader.directory)
            if decision.node:
                self._decided[decision.uid] = decision.node
        elif frame.kind == FrameKind.BINDING:
            binding = body_of(frame, BindingBody, self._reader.directory)
            if binding.message:
                self._decided.pop(binding.uid, None)

    def _begin(self, run: RunBody) -> None:
        if self.run is None or run.seed != self.run.seed:
            with Simulation(scheduler_options(run, None, self._plugins), controllers=False) as simulation:
                self._kinds = {kind_text(kind): kind for kind in simulation.known_kinds}
        self.run = run

    def _tell(self, body: WatchEventBody) -> None:
        kind = self._kinds.get(body.kind)
        if kind is None or body.type is WatchedChange.EXPECTED:
            return
        obj = codec.decode(body.object, kind)
        if body.type is WatchedChange.CHANGED:
            self._put(obj)
        else:
            self._objects.pop((body.kind, api.key(obj)), None)

    def _put(self, obj: api.Object) -> None:
        self._objects[kind_text(type(obj)), api.key(obj)] = obj

    def objects_with_nodes(self) -> list[api.Object]:
        """All objects; pods that were decided on, and are not bound yet, have their node."""
        return [with_decided_node(obj, self._decided) for obj in self._objects.values()]


def with_decided_node(obj: api.Object, decided: Mapping[str, str]) -> api.Object:
    """The object; a pod that has no node, and was decided on, with its node. `decided` has nodes by uid."""
    if not isinstance(obj, api.Pod) or obj.spec.node_name or (node := decided.get(obj.metadata.uid)) is None:
        return obj
    return msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, node_name=node))
