# SPDX-License-Identifier: Apache-2.0
"""A running sandbox and its parts.

kubectl ─HTTPS─► ApiServer ─► ApiService ─► Store ◄─► controllers, kubelets, volumes
                                              └────► scheduler ─► Store
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from steersman import api
from steersman.base import InternalErrors
from steersman.cluster import controllers
from steersman.cluster.apiserver import ApiServer, ApiService, Catalog, CustomResources, Pages, Tokens, in_memory
from steersman.cluster.kubelets import SANDBOX_POLICY, Kubelets, check_annotations, load_policy
from steersman.cluster.store import (
    Document,
    KubeAdmission,
    Store,
    typed,
)
from steersman.config import FeatureGates
from steersman.framework import is_custom
from steersman.kube.serving import Listen, bound_sockets
from steersman.record import LiveRecording
from steersman.sandbox.applied_configuration import AppliedConfiguration
from steersman.sandbox.clock_page import ClockPage
from steersman.sandbox.credentials import (
    SandboxCredentials,
    kubeconfig_document,
    new_credentials,
    write_kubeconfig,
)
from steersman.sandbox.default_objects import PROVISIONER, DefaultObjects
from steersman.sandbox.default_roles import RoleAggregation
from steersman.sandbox.event_objects import EventObjects
from steersman.sandbox.foreign_controllers import Heartbeats, VolumeProvisioner
from steersman.sandbox.heap import keep_collections_short
from steersman.sandbox.manifest_files import create_all
from steersman.sandbox.nodes import create_nodes, default_template, read_template
from steersman.sandbox.options import NO_SCHEDULER, SandboxOptions
from steersman.sandbox.persistence import ClusterData, RestoredCluster, WriteJournal
from steersman.sandbox.pod_fixes import PodFixes
from steersman.sandbox.scheduling import (
    DrivenScheduler,
    ReplaceableScheduler,
    configuration_text,
    new_recording,
    scheduler_options,
    start_scheduler,
)
from steersman.sandbox.web import ConfigurationSource
from steersman.sandbox.web_actions import SandboxActions, SandboxClock
from steersman.sandbox.web_host import SandboxPage, SandboxWeb, served_page
from steersman.scheduler.assembly import SchedulerOptions, kinds_of_scheduler
from steersman.scheduler.host import HostTasks, LoopTimers, PlainPorts, ScaledClock, keep_freed_memory

logger = logging.getLogger(__name__)

HISTORY_LENGTH: Final = 50_000
"""Minimum history in writes, for lagging watches and between chunks of a list."""


class Sandbox(msgspec.Struct, frozen=True):
    """A running sandbox. `kubeconfig` is its file, None if none was requested."""

    url: str
    kubeconfig: Path | None
    store: Store
    clock: ScaledClock
    timers: LoopTimers
    credentials: SandboxCredentials
    #: Gets an exception when the sandbox cannot continue.
    failure: asyncio.Future[None]
    #: Notes for the user about the initial files.
    notes: tuple[str, ...] = ()
    #: The web page; None if it is not served.
    page: SandboxPage | None = None


@asynccontextmanager
async def running_sandbox(options: SandboxOptions) -> AsyncIterator[Sandbox]:
    """Run a sandbox within the block. Raise `InputError` or `OSError` if it cannot start."""
    keep_freed_memory()
    errors = InternalErrors()
    chosen = None if options.scheduler == NO_SCHEDULER else scheduler_options(options, errors)
    template = read_template(options.node_template) if options.node_template else default_template()
    data = None if options.data is None else ClusterData(options.data)
    try:
        async with _running(options, chosen, template, errors, data) as sandbox:
            yield sandbox
    except BaseExceptionGroup as several:
        # A task group wraps the error that ends it; a single error is raised without the group.
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
    gates = FeatureGates.parse(options.feature_gates, options.emulated_version)
    catalog = Catalog(_declared_kinds(chosen), gates)
    restored = None if data is None else data.restore(catalog.declared)
    clock = ScaledClock(options.speed, start=None if restored is None else max(restored.now, time.time()))
    timers = LoopTimers(clock, asyncio.get_running_loop())
    store = _store(clock, restored, gates)
    make_credentials = partial(new_credentials, options.bind_address)
    credentials = make_credentials() if data is None else data.credentials(make_credentials)
    failure = asyncio.get_running_loop().create_future()
    journal = None if data is None else WriteJournal(store, data, failure.set_exception)
    durable = in_memory if journal is None else journal.durable
    sockets = _sockets(options, data)
    port = int(sockets[0].getsockname()[1])
    if data is not None:
        data.port = port
    authority = credentials.certificate.chain.decode()
    DefaultObjects(store, catalog, authority, port, fills_namespaces=options.runs_controllers)
    if options.runs_controllers:
        RoleAggregation(store, catalog)
    customs = CustomResources(store, catalog)
    events = EventObjects(store, timers)
    async with _closing(sockets), asyncio.TaskGroup() as group:
        tasks = HostTasks(group)
        tasks.create_task(keep_collections_short(store), name="keep garbage collections short")
        _start_cluster(store, timers, events, errors, options, tasks, gates)
        starter = _SchedulerStarter(options, store, timers, events, tasks)
        schedulers = None
        if chosen is not None:
            schedulers = ReplaceableScheduler(starter.start, chosen)
            await schedulers.current.scheduler.background.refresh()
        create_nodes(store, options.nodes, template)
        notes = create_all(store, catalog, options.files, options.validate)
        tokens = Tokens(store, credentials.token)
        clock_page = ClockPage(clock, None if schedulers is None else schedulers.step)
        pages = Pages(catalog, customs, f"{options.bind_address}:{port}", clock_page)
        service = ApiService(store, catalog, customs, tokens, pages)
        listen = Listen(options.bind_address, port, credentials.tls())
        async with ApiServer(listen, service, tokens, durable, sockets=sockets):
            url = f"https://{_host(options.bind_address)}:{port}"
            if options.kubeconfig is not None:
                write_kubeconfig(options.kubeconfig, kubeconfig_document(url, credentials))
            actions = partial(SandboxActions, store, catalog, service, SandboxClock(clock, clock_page), durable=durable)
            async with _web_page(options, store, schedulers, actions) as page:
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


def _web_page(
    options: SandboxOptions,
    store: Store,
    schedulers: ReplaceableScheduler | None,
    make_actions: Callable[[AppliedConfiguration], SandboxActions],
) -> AbstractAsyncContextManager[SandboxPage | None]:
    """Return the context in which the web page is served, if it is requested and there is a
    scheduler to show."""
    if schedulers is None or options.web_port is None:
        return nullcontext()
    written = ConfigurationSource(configuration_text(options.config_file), options.config_file)
    configuration = AppliedConfiguration(schedulers, written)
    fixes = _fixes(options, configuration)
    web = SandboxWeb(store, schedulers, make_actions(configuration), _absolute(options.kubeconfig), fixes)
    return served_page(options.web_port, web)


def _fixes(options: SandboxOptions, configuration: AppliedConfiguration) -> PodFixes | None:
    if options.kubeconfig is None:
        return None
    flags = [word for plugin in options.plugins for word in ("--plugin", plugin)]
    flags += ["--feature-gates", options.feature_gates] if options.feature_gates else []
    flags += ["--emulated-version", options.emulated_version] if options.emulated_version else []
    return PodFixes(_absolute(options.kubeconfig), configuration.text, flags)


def _absolute(path: Path | None) -> str:
    return "" if path is None else str(path.resolve())


def _sockets(options: SandboxOptions, data: ClusterData | None) -> Sequence[socket.socket]:
    """Return sockets on the given port, else that of the last run (for kubeconfigs), else any."""
    if not options.port and data is not None and data.port:
        try:
            return bound_sockets(Listen(options.bind_address, data.port))
        except OSError:
            logger.warning("port %d of the last run is not free: another one is used", data.port)
    return bound_sockets(Listen(options.bind_address, options.port))


@asynccontextmanager
async def _closing(sockets: Sequence[socket.socket]) -> AsyncIterator[None]:
    """Close the sockets at the end of the block, even if no server has used them."""
    try:
        yield
    finally:
        for bound in sockets:
            bound.close()


def _store(clock: ScaledClock, restored: RestoredCluster | None, gates: FeatureGates) -> Store:
    store = Store(
        clock,
        admission=KubeAdmission(
            check_annotations,
            enforces_classes=True,
            assigns_service_accounts=True,
            group_policies=gates.enabled("PodGroupPreemptionPolicy"),
        ),
        history=HISTORY_LENGTH,
        keeps_documents=True,
        awaited_finalizers=None,
    )
    if restored is not None:
        objects = ((typed(document, kind), document) for kind, document in restored.objects)
        store.restore(restored.version, objects, restored.commits)
    return store


class _SchedulerStarter:
    """Starts the schedulers of a sandbox in turn, each with its own record if requested."""

    def __init__(
        self, options: SandboxOptions, store: Store, timers: LoopTimers, events: EventObjects, tasks: HostTasks
    ) -> None:
        self._options = options
        self._store = store
        self._timers = timers
        self._events = events
        self._tasks = tasks
        self._recording: LiveRecording | PlainPorts = PlainPorts()

    def start(self, made_with: SchedulerOptions) -> DrivenScheduler:
        options = self._options
        self._recording.close()  # of the replaced scheduler
        if options.record:
            self._recording = new_recording(options.record, made_with, options.seed, self._store.clock)
        return start_scheduler(
            self._store, self._timers, self._events, made_with, options.seed, self._tasks, self._recording
        )

    async def close_recording(self) -> None:
        asyncio.get_running_loop().set_task_factory(None)
        await asyncio.to_thread(self._recording.close)


def _start_cluster(
    store: Store,
    timers: LoopTimers,
    events: EventObjects,
    errors: InternalErrors,
    options: SandboxOptions,
    tasks: HostTasks,
    gates: FeatureGates,
) -> None:
    """Start all parts of a cluster except the scheduler."""
    policy = load_policy(options.kubelet_policy) if options.kubelet_policy else SANDBOX_POLICY
    kubelets = Kubelets(store, timers, policy, record=events.record_kubelet, survives_bad_pods=True)
    heartbeats = Heartbeats(store, kubelets.is_silent, always=not options.runs_controllers)
    tasks.create_task(heartbeats.run(), name="renew leases of nodes")
    if not options.runs_controllers:
        VolumeProvisioner(store, PROVISIONER)
    else:
        controllers.start(controllers.Cluster(store, timers, events.record, errors, is_overdue=timers.is_overdue))
        controllers.start_claim_controllers(store, timers, has_group_claims=gates.enabled("DRAWorkloadResourceClaims"))


def _declared_kinds(options: SchedulerOptions | None) -> list[type[api.Object]]:
    """Return the structs of custom kinds that plugins declare."""
    if options is None:
        return []
    known = kinds_of_scheduler(options.configuration, options.gates, options.registry).known
    return [kind for kind in known if is_custom(kind)]


def _host(address: str) -> str:
    """Return the server's address for clients on this machine."""
    if address in ("0.0.0.0", "::", ""):
        return "127.0.0.1"
    try:
        return f"[{address}]" if ipaddress.ip_address(address).version == 6 else address
    except ValueError:
        return address
