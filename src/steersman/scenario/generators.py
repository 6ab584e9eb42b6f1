# SPDX-License-Identifier: Apache-2.0
"""Pods and Jobs that arrive: a template, a process of arrivals and a distribution of run times become objects with a time.

`GeneratedObjects` merges the generators of a scenario in the order of time. What a generator gives depends on the seed and on
its own name, so that another generator beside it changes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from steersman import api
from steersman.api import codec, quantity_checks
from steersman.api.field_check import FieldCheck
from steersman.errors import InputError
from steersman.kubelets import RUN_SECONDS, check_annotations
from steersman.kubelets.durations import RandomDuration
from steersman.scenario.arrivals import Arrival, ArrivalProcess, ReplayedArrivals, arrival_process
from steersman.scenario.document import Generator, RunTimeSamples
from steersman.scenario.times import csv_rows, csv_seconds, random_seconds, seconds

Made: TypeAlias = api.Pod | api.Job

ONLY_PODS_AND_JOBS: Final = "generators make Pods and Jobs"
NO_SAMPLES: Final = "has no run times"

_replace = msgspec.structs.replace


class MeasuredRunTimes(NamedTuple):
    """Run times of a file, each as likely as the others."""

    samples: tuple[float, ...]

    def seconds(self, occasion: str) -> float:
        """One of the run times, chosen by the occasion: always the same for the same one."""
        position = RandomDuration("uniform", (0.0, 1.0)).seconds(occasion)
        return self.samples[min(int(position * len(self.samples)), len(self.samples) - 1)]


class PreparedGenerator(NamedTuple):
    """A generator whose document was checked."""

    name: str
    process: ArrivalProcess
    template: Made
    run_time: RandomDuration | MeasuredRunTimes | None
    since: float
    until: float | None
    #: Objects at most; None: as many as arrive.
    most: int | None

    @property
    def is_finite(self) -> bool:
        """Whether there is a last arrival."""
        return self.until is not None or self.most is not None or isinstance(self.process, ReplayedArrivals)

    def objects(self, seed: int) -> Iterator[tuple[float, Made]]:
        """Times and objects in the order of time; may be without end."""
        arrivals = self.process.arrivals(self.since, f"{seed}/{self.name}/arrivals")
        if self.until is not None:
            end = self.until
            arrivals = takewhile(lambda arrival: arrival.at < end, arrivals)
        for number, arrival in enumerate(islice(arrivals, self.most)):
            yield round(arrival.at, 6), self._made(number, arrival, f"{seed}/{self.name}/{number}")

    def _made(self, number: int, arrival: Arrival, occasion: str) -> Made:
        template = self.template
        prefix = template.metadata.name or self.name
        made: Made = _replace(template, metadata=_replace(template.metadata, name=f"{prefix}-{number}"))
        run = arrival.run_seconds
        if run is None and self.run_time is not None:
            run = self.run_time.seconds(f"{occasion}/run")
        if run is not None:
            made = _running_for(made, run)
        return made if arrival.requests is None else _requesting(made, arrival.requests)


class GeneratedObjects:
    """The objects of a scenario's generators, in the order of time; of one moment in the order of the generators."""

    def __init__(self, generators: Sequence[PreparedGenerator], seed: int) -> None:
        self._streams = [generator.objects(seed) for generator in generators]
        self._names = [generator.name for generator in generators]
        #: The next object of each generator: time, number of the generator, object.
        self._next: list[tuple[float, int, Made]] = []
        #: How many objects each generator gave.
        self.counts = dict.fromkeys(self._names, 0)
        #: Those that have given their last object, and not been told of yet; and those that have been.
        self._ended: list[str] = []
        self._told: set[str] = set()
        for index in range(len(generators)):
            self._advance(index)

    def next_time(self) -> float | None:
        """When something arrives next; None: never again."""
        return self._next[0][0] if self._next else None

    def due(self, now: float) -> list[Made]:
        """The objects that have arrived by now, and were not given yet."""
        found = []
        while self._next and self._next[0][0] <= now:
            _, index, made = heapq.heappop(self._next)
            self.counts[self._names[index]] += 1
            found.append(made)
            self._advance(index)
        return found

    def ended(self) -> list[str]:
        """The generators that have come to their end since this was asked last."""
        ended, self._ended = self._ended, []
        self._told.update(ended)
        return ended

    def unended(self) -> list[str]:
        """The generators that have not come to their end."""
        return [name for name in self._names if name not in self._told]

    def _advance(self, index: int) -> None:
        upcoming = next(self._streams[index], None)
        if upcoming is None:
            self._ended.append(self._names[index])
        else:
            heapq.heappush(self._next, (upcoming[0], index, upcoming[1]))


# -- from documents ----------------------------------------------------------------------------------------------------


def prepare_generator(said: Generator, path: str, base: Path) -> PreparedGenerator:
    """Checks a generator; raises `InputError` with the path of the field."""
    return PreparedGenerator(
        said.name,
        arrival_process(said.arrivals, f"{path}.arrivals", base),
        _template(said, f"{path}.template", base),
        _run_time(said, f"{path}.runTime", base),
        seconds(said.since, f"{path}.since"),
        None if said.until is None else seconds(said.until, f"{path}.until"),
        said.count,
    )


def _run_time(said: Generator, path: str, base: Path) -> RandomDuration | MeasuredRunTimes | None:
    if said.run_time is None:
        return None
    if not isinstance(said.run_time, RunTimeSamples):
        return random_seconds(said.run_time, path)
    file = base / said.run_time.file
    rows = csv_rows(file, {"column": said.run_time.column})
    samples = tuple(csv_seconds(file, line, row["column"]) for line, row in rows)
    if not samples:
        raise InputError(NO_SAMPLES, file=str(file), hint=f"write them below {said.run_time.column}")
    return MeasuredRunTimes(samples)


def _template(said: Generator, path: str, base: Path) -> Made:
    if isinstance(said.template, str):
        return _template_of_file(base / said.template, path)
    document = said.template
    try:
        made = codec.convert_object(document)
        FieldCheck("strict").check_document(document, f"{made.KIND} {said.name}")
        return _checked(made, path)
    except InputError as error:
        raise error.beneath(path) if not (error.field or "").startswith(path) else error from error


def _template_of_file(file: Path, path: str) -> Made:
    from steersman.api import manifests

    loaded = manifests.load([str(file)], validate="strict").objects
    if len(loaded) != 1:
        raise InputError(f"holds {len(loaded)} objects", file=str(file), hint=f"{path} is one Pod or Job")
    return _checked(loaded[0].object, path)


def _checked(made: api.Object, path: str) -> Made:
    if not isinstance(made, Made):
        raise InputError(ONLY_PODS_AND_JOBS, field=path, value=made.KIND, hint="write kind: Pod or kind: Job")
    quantity_checks.check_quantities(made)
    if isinstance(made, api.Pod):
        check_annotations(made)
    return made


# -- from templates ----------------------------------------------------------------------------------------------------


def _running_for(made: Made, run: float) -> Made:
    """The run time is drawn here and not by the kubelet, which knows the pod by its uid: that depends on what came before."""
    annotation = {RUN_SECONDS: f"{run:.3f}"}
    if isinstance(made, api.Pod):
        meta = made.metadata
        return _replace(made, metadata=_replace(meta, annotations={**meta.annotations, **annotation}))
    template = made.spec.template
    metadata = template.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), **annotation}
    changed = {**template, "metadata": {**metadata, "annotations": annotations}}
    return _replace(made, spec=_replace(made.spec, template=changed))


def _requesting(made: Made, requests: dict[str, str]) -> Made:
    """The first container asks for this instead of what the template has it ask for."""
    if isinstance(made, api.Job):
        return _job_requesting(made, requests)
    first, *others = made.spec.containers
    resources = _replace(first.resources, requests={**first.resources.requests, **requests})
    containers = (_replace(first, resources=resources), *others)
    changed: api.Pod = _replace(made, spec=_replace(made.spec, containers=containers))
    quantity_checks.check_quantities(changed)
    return changed


def _job_requesting(job: api.Job, requests: dict[str, str]) -> api.Job:
    template: dict[str, Any] = job.spec.template
    first, *others = template["spec"]["containers"]
    resources = first.get("resources") or {}
    asked = {**resources, "requests": {**(resources.get("requests") or {}), **requests}}
    spec = {**template["spec"], "containers": [{**first, "resources": asked}, *others]}
    changed: api.Job = _replace(job, spec=_replace(job.spec, template={**template, "spec": spec}))
    quantity_checks.check_quantities(changed)
    return changed
