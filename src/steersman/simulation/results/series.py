# SPDX-License-Identifier: Apache-2.0
"""Time series of a run: utilisation, pending pods, waiting times, fragmentation and cost.

`SeriesSampler` samples the scheduler's columns before virtual time advances, and once more for a
result. After `MAX_SAMPLES` samples every other one is dropped, and the sampling rate is halved. A
value holds from its time until the next sample. `docs/how-to/time-series.md` has the definitions
for users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steersman.base import InputError
from steersman.base.graph_copy import shared_by_copies
from steersman.framework import BoolColumn, IntColumn
from steersman.scheduler.assembly import Scheduler
from steersman.simulation.node_pools import POOL_LABELS, PRICE_ANNOTATION, pool_of, price_of
from steersman.simulation.results.utilisation import PODS, resource_columns
from steersman.simulation.virtual_time.writer import EmbeddedWriter

Amounts: TypeAlias = Mapping[str, tuple[IntColumn, IntColumn]]
"""Requested and allocatable amounts per row, by resource."""

MAX_SAMPLES: Final = 512
NOT_TRIED: Final = "NotTried"
BACKOFF: Final = "Backoff"
BINDING: Final = "Binding"
_MAX_RESOURCES: Final = 12
"""Maximum number of resources with series; users can define any number."""
_MAX_SHAPES: Final = 64
"""Maximum number of distinct requests of pending pods for which fragmentation is computed."""
_SECONDS_PER_HOUR: Final = 3600.0


class Percentiles(NamedTuple):
    """Two percentiles over time."""

    p50: Sequence[float]
    p99: Sequence[float]


@shared_by_copies
class Sample(NamedTuple):
    """Measured values at one time. Amounts are pairs: requested, allocatable."""

    time: float
    cluster: Mapping[str, tuple[int, int]]
    pools: Mapping[str, Mapping[str, tuple[int, int]]]
    pending: Mapping[str, int]
    lanes: Mapping[str, int]
    #: Number of pods bound so far.
    placed: int
    preemptions: int
    #: Free amounts on nodes where no pending pod fits.
    unusable: Mapping[str, int]
    #: Price of all nodes per hour.
    price: float


class Series:
    """Time series of a run. All sequences have one value for each of `times`; fractions are between
    0 and 1."""

    def __init__(self, samples: Sequence[Sample], waits: Sequence[float]) -> None:
        """`waits` are the waiting times of bound pods, in binding order."""
        self._samples = samples
        self._waits = waits

    @cached_property
    def times(self) -> list[float]:
        """Seconds since the start of the simulation."""
        return [sample.time for sample in self._samples]

    @cached_property
    def utilisation(self) -> dict[str, list[float]]:
        """Requested fraction of the allocatable amounts of all nodes, by resource."""
        return _fractions([sample.cluster for sample in self._samples])

    @cached_property
    def by_pool(self) -> dict[str, dict[str, list[float]]]:
        """Requested fraction of the allocatable amounts of a pool's nodes, by pool and resource."""
        names = sorted({pool for sample in self._samples for pool in sample.pools})
        return {name: _fractions([sample.pools.get(name, {}) for sample in self._samples]) for name in names}

    @cached_property
    def pending(self) -> dict[str, list[int]]:
        """Pods without a node, by reason: the plugins that rejected or gate them (a pod may count
        for several), `Backoff`, `NotTried`, or `Binding` for a pod that waits for Permit or PreBind
        plugins."""
        return _counts([sample.pending for sample in self._samples])

    @cached_property
    def lanes(self) -> dict[str, list[int]]:
        """Pods in each part of the queue: active, backoff, errorBackoff, unschedulable, gated,
        inFlight."""
        return _counts([sample.lanes for sample in self._samples])

    @cached_property
    def waiting(self) -> Percentiles:
        """Waiting times of the pods bound so far, in seconds; 0 without any."""
        waits = np.asarray(self._waits, np.float64)
        known: dict[int, tuple[float, float]] = {0: (0.0, 0.0)}
        for sample in self._samples:
            if sample.placed not in known:
                known[sample.placed] = _percentiles(waits[: sample.placed])
        both = [known[sample.placed] for sample in self._samples]
        return Percentiles([p50 for p50, _ in both], [p99 for _, p99 in both])

    @cached_property
    def preemptions(self) -> list[int]:
        """Number of preempted pods so far."""
        return [sample.preemptions for sample in self._samples]

    @cached_property
    def fragmentation(self) -> dict[str, list[float]]:
        """Fraction of the allocatable amounts that is free on nodes where no pending pod fits, by
        resource."""
        names = sorted({name for sample in self._samples for name in sample.unusable})
        return {
            name: [
                _fraction(sample.unusable.get(name, 0), sample.cluster.get(name, (0, 0))[1]) for sample in self._samples
            ]
            for name in names
        }

    @cached_property
    def cost(self) -> list[float]:
        """Total price of all nodes per hour."""
        return [sample.price for sample in self._samples]

    @property
    def total_cost(self) -> float:
        """Total cost of the nodes from the first to the last sample."""
        spans = zip(self._samples, self._samples[1:], strict=False)
        return sum(before.price * (after.time - before.time) for before, after in spans) / _SECONDS_PER_HOUR

    def to_dict(self) -> dict[str, Any]:
        """Return the series as plain lists and values."""
        return {
            "times": self.times,
            "utilisation": self.utilisation,
            "byPool": self.by_pool,
            "pending": self.pending,
            "lanes": self.lanes,
            "waiting": {"p50": list(self.waiting.p50), "p99": list(self.waiting.p99)},
            "preemptions": self.preemptions,
            "fragmentation": self.fragmentation,
            "cost": self.cost,
            "totalCost": self.total_cost,
        }

    def __len__(self) -> int:
        """Number of samples."""
        return len(self._samples)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Series) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]


def _percentiles(waits: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 50th and 99th percentiles of the waits; each is the wait of some pod."""
    half, most = np.percentile(waits, (50, 99), method="inverted_cdf").tolist()
    return half, most


def _fraction(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _fractions(samples: Sequence[Mapping[str, tuple[int, int]]]) -> dict[str, list[float]]:
    names = {name: None for sample in samples for name in sample}
    return {name: [_fraction(*sample.get(name, (0, 0))) for sample in samples] for name in names}


def _counts(samples: Sequence[Mapping[str, int]]) -> dict[str, list[int]]:
    names = {name: None for sample in samples for name in sample}
    return {name: [sample.get(name, 0) for sample in samples] for name in names}


class SeriesSampler:
    """Sampler of one simulation."""

    def __init__(self, scheduler: Scheduler, writer: EmbeddedWriter) -> None:
        self._scheduler = scheduler
        self._writer = writer
        self._samples: list[Sample] = []
        #: Only every n-th time is sampled.
        self._every = 1
        self._moments = 0
        self._nodes = _NodePools()

    def tick(self) -> None:
        """Take a sample if one is due. Called before time advances."""
        self._moments += 1
        if self._moments % self._every:
            return
        if self._samples and self._samples[-1].time == self._writer.now():
            self._samples.pop()
        self._samples.append(self._sample())
        if len(self._samples) >= MAX_SAMPLES:
            del self._samples[1::2]
            self._every *= 2

    def series(self) -> Series:
        """Return the series so far."""
        samples = [sample for sample in self._samples if sample.time < self._writer.now()]
        return Series((*samples, self._sample()), tuple(self._writer.waits))

    def _sample(self) -> Sample:
        scheduler, writer = self._scheduler, self._writer
        table = scheduler.cache.nodes
        self._nodes.catch_up(scheduler)
        amounts = dict(resource_columns(table, _MAX_RESOURCES))
        pools = self._nodes
        return Sample(
            time=writer.now(),
            cluster={name: (int(used.sum()), int(offered.sum())) for name, (used, offered) in amounts.items()},
            pools=pools.sums(table.alive, amounts) if len(pools.names) > 1 or "" not in pools.names else {},
            pending=self._pending(),
            lanes=self._lanes(),
            placed=len(writer.waits),
            preemptions=len(writer.preemptions),
            unusable=self._unusable(amounts),
            price=float(pools.prices[table.alive].sum()),
        )

    def _lanes(self) -> dict[str, int]:
        sizes = self._scheduler.queue.statistics()
        return {
            "active": sizes.active,
            "backoff": sizes.backoff,
            "errorBackoff": sizes.error_backoff,
            "unschedulable": sizes.unschedulable,
            "gated": sizes.gated,
            "inFlight": sizes.in_flight,
        }

    def _pending(self) -> dict[str, int]:
        queue = self._scheduler.queue
        sizes = queue.statistics()
        others = {NOT_TRIED: sizes.active, BACKOFF: sizes.backoff + sizes.error_backoff, BINDING: sizes.in_flight}
        return {**queue.rejections(), **{reason: count for reason, count in others.items() if count}}

    def _unusable(self, amounts: Amounts) -> dict[str, int]:
        """Return the free amounts on nodes where no pending pod fits, by resource."""
        shapes = self._waiting_requests()
        if not shapes:
            return {}
        free = {name: offered - used for name, (used, offered) in amounts.items()}
        fits_no_pod = free[PODS] < 1
        fits_a_shape = np.zeros(len(fits_no_pod), np.bool_)
        for requests in shapes:
            fits = ~fits_no_pod
            for name, amount in requests.items():
                if amount:
                    fits &= free[name] >= amount if name in free else False
            fits_a_shape |= fits
        return {name: int(np.maximum(left, 0)[~fits_a_shape].sum()) for name, left in free.items()}

    def _waiting_requests(self) -> list[Mapping[str, int]]:
        """Return the distinct requests of pending pods."""
        shapes = self._scheduler.cache.shapes
        seen: set[int] = set()
        found: dict[int, Mapping[str, int]] = {}
        for queued in self._scheduler.queue.unschedulable_pods():
            containers = id(queued.pod.spec.containers)
            if containers in seen or queued.is_gated:
                continue
            seen.add(containers)
            shape = shapes.info(queued.pod).shape
            found[shape.fingerprint] = shape.requests
            if len(found) >= _MAX_SHAPES:
                break
        return list(found.values())


class _NodePools:
    """Pool and price of every row, updated from the log of changed nodes."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._position = -1
        #: Pool and price by row.
        self._pools: NDArray[np.intp] = np.zeros(0, np.intp)
        self.prices: NDArray[np.float64] = np.zeros(0, np.float64)

    def catch_up(self, scheduler: Scheduler) -> None:
        table = scheduler.cache.nodes
        log = table.node_log
        if self._position == log.end and len(self._pools) == table.capacity:
            return
        changed = log.since(self._position) if self._position >= 0 and len(self._pools) == table.capacity else None
        if changed is None:
            self.names = {}
            self._pools = np.zeros(table.capacity, np.intp)
            self.prices = np.zeros(table.capacity, np.float64)
        has_pools, has_prices = any(map(table.has_label, POOL_LABELS)), table.has_label(PRICE_ANNOTATION)
        for row in table.rows.values() if changed is None else changed:
            node = table.nodes[row]
            if node is not None:
                pool = pool_of(node) if has_pools else ""
                self._pools[row] = self.names.setdefault(pool, len(self.names))
                if has_prices or PRICE_ANNOTATION in node.metadata.annotations:
                    self.prices[row] = _known_price(node)
                elif changed is not None:
                    self.prices[row] = 0.0
        self._position = log.end

    def sums(self, alive: BoolColumn, amounts: Amounts) -> dict[str, dict[str, tuple[int, int]]]:
        """Return the sums by pool of the amounts, which belong to the rows `alive`."""
        pools = self._pools[alive]
        count = len(self.names)
        found: dict[str, dict[str, tuple[int, int]]] = {name: {} for name in self.names}
        for resource, columns in amounts.items():
            used, offered = (np.bincount(pools, weights=column, minlength=count) for column in columns)
            for name, number in self.names.items():
                if offered[number] or used[number]:
                    found[name][resource] = int(used[number]), int(offered[number])
        return {name: by_resource for name, by_resource in found.items() if by_resource}


def _known_price(node: Any) -> float:
    """Return the node's price; an invalid price, which only direct writes to the store can cause,
    is 0."""
    try:
        return price_of(node)
    except InputError:
        return 0.0
