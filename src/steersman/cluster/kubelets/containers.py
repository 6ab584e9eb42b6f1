# SPDX-License-Identifier: Apache-2.0
"""Containers as reported by a kubelet: the complete `status.containerStatuses`.

The API structs hold only what decisions need, restarts and exit codes; `ContainerRecord` holds the
rest too. `Kubelets` stores records of the pods that need them. A store that keeps documents
contains them, and they are read from there again.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final, NamedTuple

import msgspec

from steersman import api
from steersman.api import Container, Duration, Pod, timestamps
from steersman.base import InputError

CONTAINER_CREATING: Final = "ContainerCreating"
POD_INITIALIZING: Final = "PodInitializing"
CRASH_LOOP: Final = "CrashLoopBackOff"
COMPLETED: Final = "Completed"
ERROR: Final = "Error"
UNKNOWN: Final = "Unknown"
KILLED_CODE: Final = 137
REBOOTED_CODE: Final = 255
"""Exit code that container runtimes report for containers running at a reboot."""
FIRST_BACKOFF_SECONDS: Final = 10
MAX_BACKOFF_SECONDS: Final = 300
FORGIVEN_SECONDS: Final = 2 * MAX_BACKOFF_SECONDS
"""A container that ran for longer is restarted without backoff."""

_replace = msgspec.structs.replace


class WaitingState(api.Struct, frozen=True):
    reason: str = ""
    message: str = ""


class RunningState(api.Struct, frozen=True):
    started_at: str = ""


class TerminatedState(api.Struct, frozen=True):
    # With a factory, zero is serialised too: clients require the field.
    exit_code: int = msgspec.field(default_factory=int)
    reason: str = ""
    message: str = ""
    started_at: str = ""
    finished_at: str = ""
    container_id: str = ""


class RecordedState(api.Struct, frozen=True):
    """State of a container: at most one of the three."""

    waiting: WaitingState | None = None
    running: RunningState | None = None
    terminated: TerminatedState | None = None


class ContainerRecord(api.Struct, frozen=True):
    """An entry of `status.containerStatuses` or `status.initContainerStatuses`."""

    name: str = ""
    state: RecordedState = RecordedState()
    last_state: RecordedState = RecordedState()
    ready: bool = msgspec.field(default_factory=bool)
    restart_count: int = msgspec.field(default_factory=int)
    image: str = msgspec.field(default_factory=str)
    image_id: str = msgspec.field(default_factory=str)
    container_id: str = ""
    started: bool | None = None

    @property
    def exit_code(self) -> int | None:
        """Exit code of a terminated container; None for others."""
        return None if self.state.terminated is None else self.state.terminated.exit_code

    @property
    def has_run(self) -> bool:
        return self.state.waiting is None or self.last_state.terminated is not None

    def backoff_seconds(self) -> int:
        """Return the backoff before the terminated container restarts; 0 after a reboot, which
        resets the kubelet."""
        ended = self.state.terminated or self.last_state.terminated
        assert ended is not None
        ran = timestamps.parse(ended.finished_at) - timestamps.parse(ended.started_at)
        if self.restart_count == 0 or ran > FORGIVEN_SECONDS or ended.reason == UNKNOWN:
            return 0
        return min(FIRST_BACKOFF_SECONDS << min(self.restart_count - 1, 10), MAX_BACKOFF_SECONDS)

    def plain(self) -> api.ContainerStatus:
        """Return the status with the fields of the API struct."""
        ended = self.state.terminated
        state = None if ended is None else api.ContainerStateTerminated(exit_code=ended.exit_code, reason=ended.reason)
        return api.ContainerStatus(
            name=self.name, restart_count=self.restart_count, state=api.ContainerState(terminated=state)
        )


class PodRecords(NamedTuple):
    """Containers of a pod, in the order of its spec."""

    init: tuple[ContainerRecord, ...]
    main: tuple[ContainerRecord, ...]


# -- from one state to the next --------------------------------------------------------------------


def waiting_records(pod: Pod) -> PodRecords:
    """Return the container records of a new pod on a node."""
    reason = POD_INITIALIZING if pod.spec.init_containers else CONTAINER_CREATING
    return PodRecords(
        tuple(_waiting_record(container, reason) for container in pod.spec.init_containers),
        tuple(_waiting_record(container, reason) for container in pod.spec.containers),
    )


def started(pod: Pod, record: ContainerRecord, now: str) -> ContainerRecord:
    """Return the record of a container that is started or restarted."""
    is_restart = record.has_run
    ended = record.state.terminated
    count = record.restart_count + is_restart
    return _replace(
        record,
        state=RecordedState(running=RunningState(now)),
        last_state=record.last_state if ended is None else RecordedState(terminated=ended),
        restart_count=count,
        image_id=f"sha256:{_digest(record.image)}",
        container_id=f"containerd://{_digest(pod.metadata.uid, record.name, str(count))}",
        started=True,
        ready=False,
    )


def terminated(
    record: ContainerRecord, exit_code: int, now: str, *, reason: str = "", is_init: bool = False
) -> ContainerRecord:
    """Return the record of an ended container; a succeeded init container counts as ready."""
    running = record.state.running
    state = TerminatedState(
        exit_code=exit_code,
        reason=reason or (ERROR if exit_code else COMPLETED),
        started_at=now if running is None else running.started_at,
        finished_at=now,
        container_id=record.container_id,
    )
    is_ready = is_init and exit_code == 0
    return _replace(record, state=RecordedState(terminated=state), ready=is_ready, started=False)


def backing_off(pod: Pod, record: ContainerRecord, seconds: int) -> ContainerRecord:
    """Return the record of a container that waits for a restart after a number of seconds."""
    meta = pod.metadata
    name = f"{meta.name}_{meta.namespace}({meta.uid})"
    pause = Duration.from_seconds(seconds)
    message = f"back-off {pause} restarting failed container={record.name} pod={name}"
    ended = RecordedState(terminated=record.state.terminated)
    return _replace(record, state=RecordedState(waiting=WaitingState(CRASH_LOOP, message)), last_state=ended)


def _waiting_record(container: Container, reason: str) -> ContainerRecord:
    state = RecordedState(waiting=WaitingState(reason))
    return ContainerRecord(name=container.name, state=state, image=container.image, started=False)


def _digest(*parts: str) -> str:
    return hashlib.blake2b("/".join(parts).encode(), digest_size=32).hexdigest()


# -- from documents --------------------------------------------------------------------------------


def documented_records(pod: Pod, status: dict[str, Any]) -> PodRecords | None:
    """Return the records in the `status` of a pod's document; None if invalid or if containers
    differ."""
    try:
        init = msgspec.convert(status.get("initContainerStatuses") or [], tuple[ContainerRecord, ...])
        main = msgspec.convert(status.get("containerStatuses") or [], tuple[ContainerRecord, ...])
    except msgspec.ValidationError:
        return None
    names = [[record.name for record in records] for records in (init, main)]
    wanted = [[container.name for container in some] for some in (pod.spec.init_containers, pod.spec.containers)]
    are_usable = all(_has_readable_times(record) for record in (*init, *main))
    return PodRecords(init, main) if names == wanted and are_usable else None


def _has_readable_times(record: ContainerRecord) -> bool:
    try:
        for state in (record.state, record.last_state):
            if state.running is not None:
                timestamps.parse(state.running.started_at)
            if state.terminated is not None:
                timestamps.parse(state.terminated.started_at)
                timestamps.parse(state.terminated.finished_at)
    except InputError:
        return False
    return True
