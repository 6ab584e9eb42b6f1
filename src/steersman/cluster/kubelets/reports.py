# SPDX-License-Identifier: Apache-2.0
"""Kubelet reports about pods with container statuses: statuses, documents, addresses, events.

`Kubelets` calls `pod_sync` and passes the result, which is written here if it has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from steersman.api import Node, Pod, PodStatus, key
from steersman.cluster.kubelets.containers import (
    CRASH_LOOP,
    ContainerRecord,
    PodRecords,
    documented_records,
    started,
    terminated,
    waiting_records,
)
from steersman.cluster.kubelets.nodes import host_ip, pod_address, pod_number
from steersman.cluster.kubelets.pod_status import PENDING, RUNNING, is_sidecar, rejected_status, reported_status
from steersman.cluster.kubelets.pod_sync import PodSync, final_phase, killed_records
from steersman.cluster.store import ObjectEventRecorder, Store
from steersman.cluster.store.documents import Document, carried

_replace = msgspec.structs.replace


class _KubeletEvent(NamedTuple):
    reason: str
    message: str
    is_warning: bool = False


class PodReports:
    """Reporter of pods that stores container records. Without `record`, it emits no events."""

    def __init__(self, store: Store, record: ObjectEventRecorder | None = None) -> None:
        self._store = store
        self._record = record
        self._nodes = store.objects(Node)
        #: Pod uid → records.
        self._records: dict[str, PodRecords] = {}
        self._last_address = 0

    def __contains__(self, uid: str) -> bool:
        return uid in self._records

    def forget(self, uid: str) -> None:
        self._records.pop(uid, None)

    def records(self, pod: Pod) -> PodRecords:
        """Return the last reported records of a pod: by this kubelet, from its document, or assumed
        from its phase."""
        known = self._records.get(pod.metadata.uid)
        if known is None and self._store.keeps_documents:
            known = documented_records(pod, self._store.document(Pod, key(pod)).get("status") or {})
            self._last_address = max(self._last_address, pod_number(pod.status.pod_ip))
        return _assumed_records(pod) if known is None else known

    def report(self, pod: Pod, sync: PodSync, *, has_sandbox: bool = True) -> Pod:
        """Report the containers; return the pod as stored."""
        before = self._records.get(pod.metadata.uid)
        self._records[pod.metadata.uid] = sync.records
        now = self._store.timestamp()
        status = reported_status(
            pod, sync.records, sync.phase, now, reason=sync.reason, message=sync.message, has_sandbox=has_sandbox
        )
        status = self._with_addresses(pod, status, has_sandbox)
        if status == pod.status and before == sync.records:
            return pod
        written = self._write(pod, status, sync.records)
        if self._record is not None:
            for happening in _happenings(pod, before or waiting_records(pod), sync):
                self._record(written, happening.reason, happening.message, is_warning=happening.is_warning)
        return written

    def reject(self, pod: Pod, reason: str, message: str) -> None:
        """Reject the pod, with an event."""
        status = rejected_status(pod, reason, message, self._store.timestamp())
        rejected = self._store.rewrite(pod, _replace(pod, status=status))
        if self._record is not None:
            self._record(rejected, reason, message, is_warning=True)

    def record_killing(self, pod: Pod) -> None:
        if self._record is not None:
            for container in pod.spec.containers:
                self._record(pod, "Killing", f"Stopping container {container.name}")

    def end(self, pod: Pod, exit_code: int) -> Pod:
        """Report that the running containers of a deleted pod terminated with this exit code."""
        records = killed_records(self.records(pod), self._store.timestamp(), exit_code)
        return self.report(pod, PodSync(records, final_phase(records), None))

    # -- inside ------------------------------------------------------------------------------------

    def _with_addresses(self, pod: Pod, status: PodStatus, has_sandbox: bool) -> PodStatus:
        node = self._nodes.get(pod.spec.node_name)
        host = status.host_ip or ("" if node is None else host_ip(node))
        address = status.pod_ip
        if not address and has_sandbox and status.phase == RUNNING:
            address = host if pod.spec.host_network else self._next_address()
        return _replace(status, host_ip=host, pod_ip=address)

    def _next_address(self) -> str:
        self._last_address += 1
        return pod_address(self._last_address)

    def _write(self, pod: Pod, status: PodStatus, records: PodRecords) -> Pod:
        new = _replace(pod, status=status)
        if not self._store.keeps_documents:
            return self._store.rewrite(pod, new)
        document = carried(self._store.document(Pod, key(pod)), pod, new)
        return self._store.rewrite(pod, new, {**document, "status": _documented(document["status"], status, records)})


def _documented(document: Document, status: PodStatus, records: PodRecords) -> Document:
    """Return the status as JSON with the complete records."""
    whole: dict[str, Any] = {**document, "containerStatuses": _plain(records.main)}
    if records.init:
        whole["initContainerStatuses"] = _plain(records.init)
    if status.host_ip:
        whole["hostIPs"] = [{"ip": status.host_ip}]
    if status.pod_ip:
        whole["podIPs"] = [{"ip": status.pod_ip}]
    return whole


def _plain(records: tuple[ContainerRecord, ...]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(records))


def _assumed_records(pod: Pod) -> PodRecords:
    """Return records of a pod of which only the phase is known; containers of a running pod started
    with it."""
    waiting = waiting_records(pod)
    since = pod.status.start_time
    if pod.status.phase in ("", PENDING) or since is None:
        return waiting

    def init_record(index: int, record: ContainerRecord) -> ContainerRecord:
        running = _replace(started(pod, record, since), ready=True)
        if is_sidecar(pod.spec.init_containers[index]):
            return running
        return terminated(running, 0, since, is_init=True)

    main = tuple(_replace(started(pod, record, since), ready=True) for record in waiting.main)
    return PodRecords(tuple(init_record(*each) for each in enumerate(waiting.init)), main)


def _happenings(pod: Pod, before: PodRecords, sync: PodSync) -> Iterator[_KubeletEvent]:
    """Yield the events between two reports."""
    old = {record.name: record for record in (*before.init, *before.main)}
    for record in (*sync.records.init, *sync.records.main):
        was = old.get(record.name, record)
        if record.container_id != was.container_id:
            yield _KubeletEvent("Pulled", f'Container image "{record.image}" already present on machine')
            yield _KubeletEvent("Created", "Container created")
            yield _KubeletEvent("Started", "Container started")
        waiting, waited = record.state.waiting, was.state.waiting
        if waiting is not None and waiting.reason == CRASH_LOOP and waiting != waited:
            name = f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"
            message = f"Back-off restarting failed container {record.name} in pod {name}"
            yield _KubeletEvent("BackOff", message, is_warning=True)
    if sync.reason:
        yield _KubeletEvent(sync.reason, sync.message)


UNUSABLE_ANNOTATION: Final = "InvalidAnnotation"
"""Reason for rejecting pods with invalid annotations."""
