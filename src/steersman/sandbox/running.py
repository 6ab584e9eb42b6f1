# SPDX-License-Identifier: Apache-2.0
"""A sandbox put together, between its start and its end.

kubectl ─HTTPS─► ApiServer ─► ApiService ─► Store ◄─► controllers, kubelets, volumes
                                              └────► scheduler ─► Store
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman import api, controllers
from steersman.apiserver.catalog import Catalog
from steersman.apiserver.custom_resources import CustomResources
from steersman.apiserver.pages import Pages
from steersman.apiserver.reviews import Tokens
from steersman.apiserver.server import ApiServer, in_memory
from steersman.apiserver.service import ApiService
from steersman.assembly import SchedulerOptions
from steersman.assembly.registry import kinds_of_scheduler
from steersman.embedded import (
    Document,
    EphemeralClaims,
    KubeAdmission,
    ResourceClaimController,
    Store,
    VolumeController,
)
from steersman.embedded.documents import typed
from steersman.framework.watching import is_custom
from steersman.host import LoopTimers, ScaledClock, keep_freed_memory
from steersman.internal_errors import InternalErrors
from steersman.kubelets import SANDBOX_POLICY, Kubelets, check_annotations, load_policy
from steersman.record.live_recording import LiveRecording
from steersman.sandbox.applied_configuration import AppliedConfiguration
from steersman.sandbox.clock_page import ClockPage
from steersman.sandbox.credentials import (
    SandboxCredentials,
    kubeconfig_document,
    new_credentials,
    write_kubeconfig,
)
from steersman.sandbox.default_objects import PROVISIONER, DefaultObjects
from steersman.sandbox.event_objects import EventObjects
from steersman.sandbox.foreign_controllers import Heartbeats, VolumeProvisioner
from steersman.sandbox.heap import keep_collections_short
from steersman.sandbox.manifest_files import create_all
from steersman.sandbox.nodes import create_nodes, default_template, read_template
from steersman.sandbox.options import NO_SCHEDULER, SandboxOptions
from steersman.sandbox.persistence import ClusterData, RestoredCluster, WriteJournal
from steersman.sandbox.scheduling import (
    DrivenScheduler,
    ReplaceableScheduler,
    configuration_text,
    new_recording,
    scheduler_options,
    start_scheduler,
)
from steersman.sandbox.web_actions import SandboxActions, SandboxClock
from steersman.sandbox.web_host import SandboxPage, SandboxWeb, served_page
from steersman.serving.listener import Listen, bound_sockets
from steersman.web import ConfigurationSource

logger = logging.getLogger(__name__)

HISTORY_LENGTH: Final = 50_000
"""So many writes, at least, a watch may lag behind, and a list in chunks may take."""


class Sandbox(msgspec.Struct, frozen=True):
    """A sandbox that runs. `kubeconfig` is where clients find it, None if no file was wanted."""

    url: str
    kubeconfig: Path | None
    store: Store
    clock: ScaledClock
    timers: LoopTimers
    credentials: SandboxCredentials
    #: Has an exception when the sandbox can no longer go on.
    failure: asyncio.Future[None]
    #: What the user should know about the files that it began with.
    notes: tuple[str, ...] = ()
    #: The web page; None: there is none.
    page: SandboxPage | None = None


@asynccontextmanager
async def running_sandbox(options: SandboxOptions) -> AsyncIterator[Sandbox]:
    """Everything ends with the block. Raises `InputError` and `OSError` before anything has begun."""
    keep_freed_memory()
    errors = InternalErrors()
    chosen = None if options.scheduler == NO_SCHEDULER else scheduler_options(options, errors)
    template = read_template(options.node_template) if options.node_template else default_template()
    data = None if options.data is None else ClusterData(options.data)
    try:
        async with _running(options, chosen, template, errors, data) as sandbox:
            yield sandbox
    except BaseExceptionGroup as several:
        # A group of tasks wraps whatever ends it; one error is told as it is.
        raise several.exceptions[0] from several
    finally:
        if data is not None:
            data.close()


@asynccontextmanager
async def _running(
    options: SandboxOptions,
    chosen: SchedulerOptions | None,
    template: Document,
    errors: InternalErrors,
    data: ClusterData | None,
) -> AsyncIterator[Sandbox]:
    catalog = Catalog(_declared_kinds(chosen))
    restored = None if data is None else data.restore(catalog.declared)
    clock = ScaledClock(options.speed, start=None if restored is None else max(restored.now, time.time()))
    timers = LoopTimers(clock, asyncio.get_running_loop())
    store = _store(clock, restored)
    make_credentials = partial(new_credentials, options.bind_address)
    credentials = make_credentials() if data is None else data.credentials(make_credentials)
    failure = asyncio.get_running_loop().create_future()
    journal = None if data is None else WriteJournal(store, data, failure.set_exception)
    durable = in_memory if journal is None else journal.durable
    sockets = _sockets(options, data)
    port = int(sockets[0].getsockname()[1])
    if data is not None:
        data.port = port
    DefaultObjects(store, catalog, credentials.certificate.chain.decode(), port)
    customs = CustomResources(store, catalog)
    events = EventObjects(store, timers)
    async with _closing(sockets), asyncio.TaskGroup() as group:
        tasks = _Tasks(group)
        tasks.create_task(keep_collections_short(store), name="keep garbage collections short")
        _start_cluster(store, timers, events, errors, options, tasks)
        starter = _SchedulerStarter(options, store, timers, events, tasks)
        schedulers = None
        if chosen is not None:
            schedulers = ReplaceableScheduler(starter.start, chosen)
            await schedulers.current.scheduler.background.refresh()
        create_nodes(store, options.nodes, template)
        notes = create_all(store, catalog, options.files, options.validate)
        tokens = Tokens(store, credentials.token)
        pages = Pages(catalog, customs, f"{options.bind_address}:{port}", ClockPage(clock))
        service = ApiService(store, catalog, customs, tokens, pages)
        listen = Listen(options.bind_address, port, credentials.tls())
        async with ApiServer(listen, service, tokens, durable, sockets=sockets):
            url = f"https://{_host(options.bind_address)}:{port}"
            if options.kubeconfig is not None:
                write_kubeconfig(options.kubeconfig, kubeconfig_document(url, credentials))
            serving: AbstractAsyncContextManager[SandboxPage | None] = nullcontext()
            if schedulers is not None and options.web_port is not None:
                page_clock, configuration = SandboxClock(clock, schedulers), _applied(options, schedulers)
                actions = SandboxActions(store, catalog, service, page_clock, configuration, durable)
                web = SandboxWeb(store, schedulers, actions, _absolute(options.kubeconfig))
                serving = served_page(options.web_port, web)
            async with serving as page:
                try:
                    yield Sandbox(
                        url, options.kubeconfig, store, clock, timers, credentials, failure, tuple(notes), page
                    )
                finally:
                    timers.close()
        tasks.cancel()
    await starter.close_recording()
    if journal is not None:
        await journal.close()


def _applied(options: SandboxOptions, schedulers: ReplaceableScheduler) -> AppliedConfiguration:
    written = ConfigurationSource(configuration_text(options.config_file), options.config_file)
    return AppliedConfiguration(schedulers, written)


def _absolute(path: Path | None) -> str:
    return "" if path is None else str(path.resolve())


def _sockets(options: SandboxOptions, data: ClusterData | None) -> Sequence[socket.socket]:
    """Sockets on the port that was asked for, else on that of the last run, so kubeconfig files stay valid; else on any."""
    if not options.port and data is not None and data.port:
        try:
            return bound_sockets(Listen(options.bind_address, data.port))
        except OSError:
            logger.warning("port %d of the last run is not free: another one is used", data.port)
    return bound_sockets(Listen(options.bind_address, options.port))


@asynccontextmanager
async def _closing(sockets: Sequence[socket.socket]) -> AsyncIterator[None]:
    """Closes them at the end of the block, also where no server has come to listen on them."""
    try:
        yield
    finally:
        for bound in sockets:
            bound.close()


def _store(clock: ScaledClock, restored: RestoredCluster | None) -> Store:
    store = Store(
        clock,
        admission=KubeAdmission(check_annotations, assigns_service_accounts=True),
        history=HISTORY_LENGTH,
        keeps_documents=True,
        awaited_finalizers=None,
    )
    if restored is not None:
        objects = ((typed(document, kind), document) for kind, document in restored.objects)
        store.restore(restored.version, objects, restored.commits)
    return store


class _Tasks:
    """Tasks of a sandbox; those that still run end with it."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._running: set[asyncio.Task[None]] = set()

    def create_task(self, work: Coroutine[Any, Any, None], *, name: str | None = None) -> asyncio.Task[None]:
        task = self._group.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        for task in self._running:
            task.cancel()


class _SchedulerStarter:
    """Starts the schedulers of a sandbox, one after the other, each with a record of its own if that is wanted."""

    def __init__(
        self, options: SandboxOptions, store: Store, timers: LoopTimers, events: EventObjects, tasks: _Tasks
    ) -> None:
        self._options = options
        self._store = store
        self._timers = timers
        self._events = events
        self._tasks = tasks
        self._recording: LiveRecording | None = None

    def start(self, made_with: SchedulerOptions) -> DrivenScheduler:
        options = self._options
        if self._recording is not None:
            self._recording.close()  # that of the scheduler which this one replaces
        if options.record:
            self._recording = new_recording(options.record, made_with, options.seed, self._store.clock)
        return start_scheduler(
            self._store, self._timers, self._events, made_with, options.seed, self._tasks, self._recording
        )

    async def close_recording(self) -> None:
        if self._recording is not None:
            asyncio.get_running_loop().set_task_factory(None)
            await asyncio.to_thread(self._recording.close)


def _start_cluster(
    store: Store,
    timers: LoopTimers,
    events: EventObjects,
    errors: InternalErrors,
    options: SandboxOptions,
    tasks: _Tasks,
) -> None:
    """Starts everything that lives in a cluster besides the scheduler."""
    policy = load_policy(options.kubelet_policy) if options.kubelet_policy else SANDBOX_POLICY
    kubelets = Kubelets(store, timers, policy, record=events.record_kubelet, survives_bad_pods=True)
    if not options.runs_controllers:
        VolumeProvisioner(store, PROVISIONER)
        tasks.create_task(Heartbeats(store, kubelets.is_silent).run(), name="renew leases of nodes")
    else:
        controllers.start(controllers.Cluster(store, timers, events.record, errors, is_overdue=timers.is_overdue))
        EphemeralClaims(store)
        VolumeController(store, timers)
        ResourceClaimController(store)


def _declared_kinds(options: SchedulerOptions | None) -> list[type[api.Object]]:
    """The structs that plugins have for kinds of their own."""
    if options is None:
        return []
    kinds = kinds_of_scheduler(options.configuration, options.gates, options.registry)
    return [kind for kind in (*kinds.watched, *kinds.read) if is_custom(kind)]


def _host(address: str) -> str:
    """Where clients on this machine reach the server."""
    if address in ("0.0.0.0", "::", ""):
        return "127.0.0.1"
    try:
        return f"[{address}]" if ipaddress.ip_address(address).version == 6 else address
    except ValueError:
        return address
