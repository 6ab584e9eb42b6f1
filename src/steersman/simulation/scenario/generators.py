# SPDX-License-Identifier: Apache-2.0
"""Generated Pods and Jobs: a template, an arrival process and run times produce objects with times.

`GeneratedObjects` merges the generators of a scenario chronologically. A generator's output depends
only on the seed and its name, not on other generators.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from steersman import api
from steersman.api import ObjectCheck, codec, quantity_checks
from steersman.base import InputError
from steersman.cluster.kubelets import RUN_SECONDS, RandomDuration, check_annotations
from steersman.simulation.scenario.arrivals import ArrivalProcess, ReplayedArrivals, arrival_process
from steersman.simulation.scenario.document import Generator, RunTimeSamples
from steersman.simulation.scenario.recorded_arrivals import Arrival
from steersman.simulation.scenario.times import csv_rows, csv_seconds, random_seconds, seconds

Made: TypeAlias = api.Pod | api.Job

ONLY_PODS_AND_JOBS: Final = "generators make Pods and Jobs"
NO_SAMPLES: Final = "has no run times"

_replace = msgspec.structs.replace


class MeasuredRunTimes(NamedTuple):
    """Equally likely run times from a file."""

    samples: tuple[float, ...]

    def seconds(self, occasion: str) -> float:
        """Return a run time, chosen deterministically by `occasion`."""
        position = RandomDuration("uniform", (0.0, 1.0)).seconds(occasion)
        return self.samples[min(int(position * len(self.samples)), len(self.samples) - 1)]


class PreparedGenerator(NamedTuple):
    """A checked generator."""

    name: str
    process: ArrivalProcess
    template: Made
    run_time: RandomDuration | MeasuredRunTimes | None
    since: float
    until: float | None
    #: Maximum number of arrivals, if limited.
    most: int | None

    @property
    def is_finite(self) -> bool:
        """Whether the number of arrivals is finite."""
        return self.until is not None or self.most is not None or isinstance(self.process, ReplayedArrivals)

    def objects(self, seed: int) -> Iterator[tuple[float, Made]]:
        """Yield (time, object) in chronological order; may be infinite."""
        arrivals = self.process.arrivals(self.since, f"{seed}/{self.name}/arrivals")
        if self.until is not None:
            end = self.until
            arrivals = takewhile(lambda arrival: arrival.at < end, arrivals)
        for number, arrival in enumerate(islice(arrivals, self.most)):
            made, at = self._made(number, arrival, f"{seed}/{self.name}/{number}"), round(arrival.at, 6)
            if arrival.replicas is None or isinstance(made, api.Job):
                yield at, made
            else:
                yield from ((at, _named(made, f"{made.metadata.name}-{each}")) for each in range(arrival.replicas))

    def _made(self, number: int, arrival: Arrival, occasion: str) -> Made:
        template = self.template
        prefix = template.metadata.name or self.name
        made = _with_columns(_named(template, f"{prefix}-{number}"), arrival)
        run = arrival.run_seconds
        if run is None and self.run_time is not None:
            run = self.run_time.seconds(f"{occasion}/run")
        if run is not None:
            made = _running_for(made, run)
        return made if arrival.requests is None else _requesting(made, arrival.requests)


class GeneratedObjects:
    """The generators' objects in chronological order; ties in the order of the generators."""

    def __init__(self, generators: Sequence[PreparedGenerator], seed: int) -> None:
        self._streams = [generator.objects(seed) for generator in generators]
        self._names = [generator.name for generator in generators]
        #: Heap of the next (time, generator index, object) of each generator.
        self._next: list[tuple[float, int, Made]] = []
        #: Generator → number of its objects so far.
        self.counts = dict.fromkeys(self._names, 0)
        #: Exhausted generators that `ended` has not returned yet, and those that it has.
        self._ended: list[str] = []
        self._told: set[str] = set()
        for index in range(len(generators)):
            self._advance(index)

    def next_time(self) -> float | None:
        """Return the time of the next arrival, or None."""
        return self._next[0][0] if self._next else None

    def due(self, now: float) -> list[Made]:
        """Remove and return the objects that arrived until `now`."""
        found = []
        while self._next and self._next[0][0] <= now:
            _, index, made = heapq.heappop(self._next)
            self.counts[self._names[index]] += 1
            found.append(made)
            self._advance(index)
        return found

    def ended(self) -> list[str]:
        """Return the generators that were exhausted since the last call."""
        ended, self._ended = self._ended, []
        self._told.update(ended)
        return ended

    def unended(self) -> list[str]:
        """Return the generators not yet reported by `ended`."""
        return [name for name in self._names if name not in self._told]

    def _advance(self, index: int) -> None:
        upcoming = next(self._streams[index], None)
        if upcoming is None:
            self._ended.append(self._names[index])
        else:
            heapq.heappush(self._next, (upcoming[0], index, upcoming[1]))


# -- from documents ----------------------------------------------------------------------------------------------------


def prepare_generator(document: Generator, path: str, base: Path) -> PreparedGenerator:
    """Check a generator. Raises `InputError` with the path of the field."""
    return PreparedGenerator(
        document.name,
        arrival_process(document.arrivals, f"{path}.arrivals", base),
        _template(document, f"{path}.template", base),
        _run_time(document, f"{path}.runTime", base),
        seconds(document.since, f"{path}.since"),
        None if document.until is None else seconds(document.until, f"{path}.until"),
        document.count,
    )


def _run_time(document: Generator, path: str, base: Path) -> RandomDuration | MeasuredRunTimes | None:
    if document.run_time is None:
        return None
    if not isinstance(document.run_time, RunTimeSamples):
        return random_seconds(document.run_time, path)
    file = base / document.run_time.file
    rows = csv_rows(file, {"column": document.run_time.column})
    samples = tuple(csv_seconds(file, line, row["column"]) for line, row in rows)
    if not samples:
        raise InputError(NO_SAMPLES, file=str(file), hint=f"write them below {document.run_time.column}")
    return MeasuredRunTimes(samples)


def _template(said: Generator, path: str, base: Path) -> Made:
    if isinstance(said.template, str):
        return _template_of_file(base / said.template, path)
    document = said.template
    try:
        made = codec.convert_object(document)
        check = ObjectCheck("strict")
        metadata = {"name": said.name, **(document.get("metadata") or {})}
        check.check_document({**document, "metadata": metadata}, f"{made.KIND} {said.name}")
        check.raise_errors()
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


def _named(made: Made, name: str) -> Made:
    named: Made = _replace(made, metadata=_replace(made.metadata, name=name))
    return named


def _with_columns(made: Made, arrival: Arrival) -> Made:
    """Return the object with the recorded values other than requests and run time."""
    if arrival[3:] == Arrival(0.0)[3:]:
        return made
    is_number = arrival.priority.removeprefix("-").isdecimal()
    priority: dict[str, Any] = {"priority": int(arrival.priority)} if is_number else {}
    priority_class = "" if is_number else arrival.priority
    meta = made.metadata
    labels, namespace = {**meta.labels, **arrival.labels}, arrival.namespace or meta.namespace
    made = _replace(made, metadata=_replace(meta, namespace=namespace, labels=labels))
    if isinstance(made, api.Pod):
        selector = {**made.spec.node_selector, **arrival.node_selector}
        named = {"priority_class_name": priority_class} if priority_class else priority
        return _replace(made, spec=_replace(made.spec, node_selector=selector, **named))
    return _job_with_columns(made, arrival, {"priorityClassName": priority_class} if priority_class else priority)


def _job_with_columns(job: api.Job, arrival: Arrival, spec: dict[str, Any]) -> api.Job:
    template: dict[str, Any] = job.spec.template
    metadata, inner = template.get("metadata") or {}, template["spec"]
    labels = {**(metadata.get("labels") or {}), **arrival.labels}
    selector = {**(inner.get("nodeSelector") or {}), **arrival.node_selector}
    changed = {"metadata": {**metadata, "labels": labels}, "spec": {**inner, "nodeSelector": selector, **spec}}
    count = arrival.replicas
    counts = {} if count is None else {"completions": count, "parallelism": count}
    changed_job: api.Job = _replace(job, spec=_replace(job.spec, template={**template, **changed}, **counts))
    return changed_job


def _running_for(made: Made, run: float) -> Made:
    """Return the object with its run time; the kubelet's choice would depend on the pod's UID."""
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
    """Return the object with these requests of the first container instead of the template's."""
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
    resources_with_requests = {**resources, "requests": {**(resources.get("requests") or {}), **requests}}
    spec = {**template["spec"], "containers": [{**first, "resources": resources_with_requests}, *others]}
    changed: api.Job = _replace(job, spec=_replace(job.spec, template={**template, "spec": spec}))
    quantity_checks.check_quantities(changed)
    return changed
