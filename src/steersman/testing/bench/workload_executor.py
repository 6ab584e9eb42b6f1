# SPDX-License-Identifier: Apache-2.0
"""Executor of a workload's operations on a host, one after the other, with measurements.

    Prepared ─► operations ─► WorkloadExecutor.step ─► BenchCluster
                                        └─► Collection ─► Measurement

As in upstream's harness, pods without a namespace go to `namespace-N`, where N is the operation's
index; an operation waits for its own pods unless it skips that, and barriers wait for those. Churn,
slow deletions and steady states block or run in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Final

from steersman import api
from steersman.base import InputError, SteersmanError
from steersman.scheduler.host import HostTasks
from steersman.testing.bench.created_objects import ClaimAllocator, node_drafts, pod_drafts, resource_slice_drafts
from steersman.testing.bench.host import BenchCluster, Host, PodBarrier, WorkloadError, matches
from steersman.testing.bench.measurement import Collection, Measurement
from steersman.testing.bench.operations import (
    AllocResourceClaims,
    Barrier,
    Churn,
    ChurnMode,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePodGroups,
    CreatePods,
    CreateResourceClaims,
    CreateResourceDriver,
    DeletePods,
    Operation,
    PodStage,
    Sleep,
    StartCollectingMetrics,
    StopCollectingMetrics,
    UpdateAny,
    seconds_of,
)
from steersman.testing.bench.templates import Draft, Templates, named, of_kind

OVERLAPPING: Final = "metrics are being collected already; stop that first"
#: As in upstream's harness.
GROUPS_TIMEOUT_SECONDS: Final = 10.0
GROUPS_POLL_SECONDS: Final = 0.1
NOT_COLLECTING: Final = "no metrics are being collected; startCollectingMetrics comes first"


class WorkloadExecutor:
    """Executes one workload on one host. `tasks` runs the background operations."""

    def __init__(
        self,
        host: Host,
        tasks: HostTasks,
        templates: Templates,
        default_pod_file: str | None = None,
        metrics: Mapping[str, object] | None = None,
    ) -> None:
        self._host = host
        self._cluster = host.cluster
        self._tasks = tasks
        self._templates = templates
        self._default_pod_file = default_pod_file
        self._metrics = metrics
        #: Number of pods per namespace that no operation has waited for yet.
        self._unawaited: dict[str, int] = {}
        self._collection: Collection | None = None
        self._memory_task: asyncio.Task[None] | None = None
        self._current_barrier: PodBarrier | None = None
        self.measurements: list[Measurement] = []

    @property
    def progress(self) -> tuple[int, int]:
        """Numbers of pods that have arrived and are expected, in the current wait."""
        return (0, 0) if self._current_barrier is None else (self._current_barrier.count, self._current_barrier.wanted)

    async def step(self, place: int, operation: Operation) -> None:
        """Execute the operation, which has this index among the unrolled ones."""
        match operation:
            case CreateNodes():
                await self._create_nodes(place, operation)
            case CreateNamespaces():
                await self._create_namespaces(operation)
            case CreatePods():
                await self._create_pods(place, operation)
            case DeletePods():
                await self._delete_pods(operation)
            case Churn():
                await self._churn(place, operation)
            case UpdateAny():
                await self._update_any(operation)
            case CreateAny():
                await self._create_any(operation)
            case CreatePodGroups():
                await self._create_pod_groups(operation)
            case Barrier():
                await self._barrier(operation)
            case Sleep():
                await asyncio.sleep(seconds_of(operation.duration, "duration"))
            case StartCollectingMetrics():
                self._start(operation.name, operation.namespaces, operation.label_selector)
            case StopCollectingMetrics():
                self._finish()
            case CreateResourceDriver():
                await self._cluster.create_all(resource_slice_drafts(operation, await self._names(api.Node)))
            case CreateResourceClaims():
                await self._create_claims(operation)
            case AllocResourceClaims():
                await self._allocate_claims(operation)
            case _:
                raise WorkloadError(f"operation {operation.opcode} is not known here")

    # -- nodes and namespaces ----------------------------------------------------------------------------------------

    async def _create_nodes(self, place: int, operation: CreateNodes) -> None:
        await self._cluster.create_all(node_drafts(operation, f"node-{place}-", self._templates))

    async def _create_namespaces(self, operation: CreateNamespaces) -> None:
        file = operation.namespace_template_path
        base = api.Namespace() if file is None else self._templates(file).make_object(api.Namespace)
        for number in range(operation.count):
            await self._provide_namespace(f"{operation.prefix}-{number}", base)

    async def _provide_namespace(self, name: str, base: api.Namespace | None = None) -> None:
        self._unawaited.setdefault(name, 0)
        await self._cluster.provide_namespace(named(base or api.Namespace(), name=name))

    # -- pods --------------------------------------------------------------------------------------------------------

    async def _create_pods(self, place: int, operation: CreatePods) -> None:
        namespace = operation.namespace or f"namespace-{place}"
        await self._provide_namespace(namespace)
        # Read before the measurement starts.
        drafts = list(pod_drafts(operation, namespace, self._default_pod_file, self._templates))
        if operation.collect_metrics:
            self._start(namespace, (namespace,), {})
        if operation.steady_state:
            await sustain_load(self._cluster, drafts, namespace, seconds_of(operation.duration, "duration"))
        else:
            await self._create_and_wait(operation, namespace, drafts)
        if operation.collect_metrics:
            self._finish()

    async def _create_and_wait(self, operation: CreatePods, namespace: str, drafts: Sequence[Sequence[Draft]]) -> None:
        if operation.skip_wait_to_completion:
            self._unawaited[namespace] += operation.count
            await self._cluster.create_all(drafts)
            return
        earlier = PodBarrier(self._cluster, namespace, {}, PodStage.SCHEDULED).count
        await self._cluster.create_all(drafts)
        await self._wait(namespace, earlier + operation.count)

    async def _delete_pods(self, operation: DeletePods) -> None:
        keys = [
            api.key(pod)
            for pod in self._cluster.pods().values()
            if pod.metadata.namespace == operation.namespace and matches(pod, operation.label_selector)
        ]
        work = delete_pods(keys, operation.delete_pods_per_second, self._cluster)
        if operation.skip_wait_to_completion:
            self._tasks.create_task(work)
        else:
            await work

    # -- objects of any kind -----------------------------------------------------------------------------------------

    async def _churn(self, place: int, operation: Churn) -> None:
        namespace = operation.namespace or f"namespace-{place}"
        await self._cluster.provide_namespace(named(api.Namespace(), name=namespace))
        self._tasks.create_task(churn(operation, namespace, self._cluster, self._templates))

    async def _create_any(self, operation: CreateAny) -> None:
        for index in range(operation.count):
            await self._cluster.create(await self._placed(operation, index))

    async def _create_pod_groups(self, operation: CreatePodGroups) -> None:
        await self._provide_namespace(operation.namespace)
        template, known = self._templates(operation.template_path), self._host.scheduler.cache.pod_groups
        if known is None:
            raise InputError("GenericWorkload is off", field="featureGates", hint="set GenericWorkload: true")
        names = list[str]()
        for index in range(operation.count):
            draft = template.draft(index, operation.count, operation.template_params)
            group = named(of_kind(api.PodGroup, draft, template.file), namespace=operation.namespace)
            await self._cluster.create(Draft(group, draft.document))
            names.append(group.metadata.name)
        try:
            async with asyncio.timeout(GROUPS_TIMEOUT_SECONDS):
                while any(known.pod_group(operation.namespace, name) is None for name in names):
                    await asyncio.sleep(GROUPS_POLL_SECONDS)
        except TimeoutError as error:
            raise WorkloadError("the scheduler did not receive the pod groups in time") from error

    async def _update_any(self, operation: UpdateAny) -> None:
        if not operation.update_per_second:
            for index in range(operation.count):
                await self._cluster.update(await self._placed(operation, index), operation.subresources)
            return
        async for index in ticks(1 / operation.update_per_second):
            if index >= operation.count:
                return
            await self._cluster.update(await self._placed(operation, index), operation.subresources)

    async def _placed(self, operation: CreateAny, index: int) -> Draft:
        """Return the object of a template in the operation's namespace, created if missing."""
        draft = self._templates(operation.template_path).draft(index, operation.count, operation.template_params)
        obj = draft.object
        if obj.NAMESPACED is not bool(operation.namespace):
            needs = "needs a namespace" if obj.NAMESPACED else "belongs to no namespace"
            raise InputError(f"{obj.KIND} {needs}", file=operation.template_path, field="namespace")
        if not obj.NAMESPACED:
            return draft
        await self._provide_namespace(operation.namespace)
        return Draft(named(obj, namespace=operation.namespace), draft.document)

    # -- devices -----------------------------------------------------------------------------------------------------

    async def _names(self, kind: type[api.Object]) -> list[str]:
        return [obj.metadata.name for obj in await self._cluster.list(kind)]

    async def _create_claims(self, operation: CreateResourceClaims) -> None:
        await self._provide_namespace(operation.namespace)
        claim = self._templates(operation.template_path).make_object(api.ResourceClaim)
        draft = Draft(named(claim, namespace=operation.namespace))
        await self._cluster.create_all([draft] for _ in range(operation.count))

    async def _allocate_claims(self, operation: AllocResourceClaims) -> None:
        cluster = self._cluster
        allocator = ClaimAllocator(
            await cluster.list(api.Node), await cluster.list(api.ResourceSlice), await cluster.list(api.DeviceClass)
        )
        claims = await cluster.list(api.ResourceClaim)
        for claim in allocator.allocated(claims, operation.namespace):
            await cluster.update(Draft(claim))

    # -- waiting and measuring ---------------------------------------------------------------------------------------

    async def _barrier(self, operation: Barrier) -> None:
        namespaces = operation.namespaces or tuple(self._unawaited)
        for namespace in namespaces:
            if namespace not in self._unawaited:
                known = ", ".join(self._unawaited) or "none"
                raise InputError("has no pods to wait for", field="namespaces", value=namespace, hint=f"known: {known}")
            await self._wait(namespace, self._unawaited[namespace], operation.label_selector, operation.stage)
        if operation.stage is PodStage.SCHEDULED:
            for namespace in namespaces:
                del self._unawaited[namespace]

    async def _wait(
        self, namespace: str, wanted: int, selector: Mapping[str, str] = {}, stage: PodStage = PodStage.SCHEDULED
    ) -> None:
        self._current_barrier = PodBarrier(self._cluster, namespace, selector, stage)
        await self._current_barrier.reached(wanted)
        self._current_barrier = None

    def _start(self, name: str, namespaces: Sequence[str], selector: Mapping[str, str]) -> None:
        if self._collection is not None:
            raise InputError(OVERLAPPING)
        self._collection = Collection(self._host, name, namespaces, selector, self._metrics)
        self._memory_task = self._tasks.create_task(self._collection.sample_memory())

    def _finish(self) -> None:
        if self._collection is None or self._memory_task is None:
            raise InputError(NOT_COLLECTING)
        self._memory_task.cancel()
        self.measurements.append(self._collection.finish())
        self._collection = None


# -- operations that are spread over time ------------------------------------------------------------------------------

DEFAULT_INTERVAL_SECONDS: Final = 0.5
NOTHING_SCHEDULED: Final = "no pod was scheduled; make the duration longer, or the pods fewer"


async def ticks(seconds: float) -> AsyncIterator[int]:
    """Yield 0, 1, 2, … periodically, first after one period; missed ticks are not repeated."""
    loop = asyncio.get_running_loop()
    due = loop.time() + seconds
    for number in count():
        await asyncio.sleep(max(0.0, due - loop.time()))
        yield number
        due = max(due + seconds, loop.time())


async def churn(operation: Churn, namespace: str, cluster: BenchCluster, templates: Templates) -> None:
    """Create objects, or create and delete them, until cancelled or the number is reached."""
    made = [_in_namespace(templates(file).draft(), namespace) for file in operation.template_paths]
    interval = operation.interval_milliseconds / 1000 or DEFAULT_INTERVAL_SECONDS
    if operation.mode == ChurnMode.CREATE:
        await _create(made, operation.number, interval, cluster)
    else:
        await _recreate(made, operation.number, interval, cluster)


async def _create(drafts: list[Draft], number: int, interval: float, cluster: BenchCluster) -> None:
    async for tick in ticks(interval):
        for draft in drafts:
            await _created(draft, cluster)
        if number and tick + 1 >= number:
            return


async def _recreate(drafts: list[Draft], number: int, interval: float, cluster: BenchCluster) -> None:
    """Create `number` objects of each draft in turn, then delete them, and repeat."""
    alive: dict[tuple[int, int], str] = {}
    async for tick in ticks(interval):
        for position, draft in enumerate(drafts):
            place = position, tick % number
            if place in alive:
                await cluster.delete(type(draft.object), alive.pop(place))
            elif key := await _created(draft, cluster):
                alive[place] = key


async def _created(draft: Draft, cluster: BenchCluster) -> str:
    """Return the key of the created object; "" if the server refuses it, as upstream."""
    with suppress(SteersmanError):
        return await cluster.create(draft)
    return ""


async def delete_pods(keys: Iterable[str], per_second: int, cluster: BenchCluster) -> None:
    """Delete pods all at once, or at most `per_second`."""
    if not per_second:
        await cluster.delete_pods(keys)
        return
    remaining = list(keys)
    async for number in ticks(1 / per_second):
        if number >= len(remaining):
            return
        await cluster.delete(api.Pod, remaining[number])


def _in_namespace(draft: Draft, namespace: str) -> Draft:
    obj = draft.object
    return Draft(named(obj, namespace=namespace), draft.document) if obj.NAMESPACED else draft


async def sustain_load(
    cluster: BenchCluster, drafts: Sequence[Sequence[Draft]], namespace: str, seconds: float
) -> None:
    """Repeatedly create a batch of pods, wait until it is scheduled, and delete it, for a duration.

    All pods of the namespace are deleted with each batch.
    """
    batches = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                # Claims and volumes outlive their pods, and are created only once.
                await cluster.create_all(drafts if batches == 0 else [group[-1:] for group in drafts])
                await PodBarrier(cluster, namespace, {}, PodStage.SCHEDULED).reached(len(drafts))
                batches += 1
                doomed = [key for key, pod in cluster.pods().items() if pod.metadata.namespace == namespace]
                await cluster.delete_pods(doomed, grace_period_seconds=0)
                await asyncio.sleep(0)
    except TimeoutError:
        if not batches and not any(pod.spec.node_name for pod in cluster.pods().values()):
            raise WorkloadError(NOTHING_SCHEDULED) from None
