# SPDX-License-Identifier: Apache-2.0
"""Execution of tasks on a Ray cluster, with the results of `simulation.processes.run_in_processes`.

The function is put into Ray's object store once; each worker process fetches it once and caches it.
Ray reruns tasks of failed workers and nodes elsewhere. Every node needs the same version of
Steersman; a worker with other versions rejects its task. Needs `steersman[ray]`.
"""

from __future__ import annotations

import logging
import platform
import socket
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, TypeVar

from steersman.base import InputError, SteersmanError
from steersman.simulation.processes import ATTEMPTS, OnDone, WorkerDied, in_order
from steersman.simulation.sweep.manifest import versions

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

NEEDS_RAY: Final = "sweeps on Ray need the package ray: pip install 'steersman[ray]'"
NO_STEERSMAN: Final = "workers of the Ray cluster cannot import {}: install the same steersman on every node"
_TASKS_PER_CORE: Final = 2
"""Number of tasks submitted per core: a running one and the next one."""
_SECONDS_TO_CONNECT: Final = 10.0
_CORES_QUERY_SECONDS: Final = 5.0
"""Interval for querying the number of cores, which changes with the nodes."""


class _Shipment:
    """Input of a worker: the function, and the required versions."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function
        self.versions = versions()


def run_on_ray(
    function: Callable[[TaskT], ResultT],
    tasks: Sequence[TaskT],
    *,
    address: str,
    attempts: int = ATTEMPTS,
    name: Callable[[TaskT], str] = repr,
    on_done: OnDone[ResultT] | None = None,
) -> Generator[ResultT, None, None]:
    """Yield the function's result for every task in order, computed by the cluster at `address`.

    "auto" is the local cluster. A task whose worker died is retried, at most `attempts` times in
    total, then `WorkerDied` with its `name` is raised. Raises `InputError` if no cluster responds.
    """
    ray = _ray()
    with _connected(ray, address):
        yield from in_order(_Submission(ray, function, tasks, attempts, name).results(), on_done)


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise SteersmanError(NEEDS_RAY) from None
    return ray


def check_cluster(address: str) -> None:
    """Raise `InputError` if nothing listens at HOST:PORT, because Ray would retry for minutes."""
    _ray()
    host, colon, port = address.rpartition(":")
    if not colon or "://" in address:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_CONNECT).close()
    except (OSError, ValueError) as error:
        raise _no_cluster(address, error) from error


def _no_cluster(address: str, error: Exception) -> InputError:
    hint = "start one with `ray start --head`, or give the HOST:PORT of one"
    return InputError(f"no Ray cluster answers: {error}", object="--ray", value=address, hint=hint)


@contextmanager
def _connected(ray: Any, address: str) -> Iterator[None]:
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise _no_cluster(address, error) from error
    try:
        yield
    finally:
        ray.shutdown()


class _Submission:
    """Submitted and waiting tasks."""

    def __init__(
        self,
        ray: Any,
        function: Callable[[TaskT], Any],
        tasks: Sequence[TaskT],
        attempts: int,
        name: Callable[[TaskT], str],
    ) -> None:
        self._ray = ray
        self._tasks = tasks
        self._attempts = attempts
        self._name = name
        self._remote = ray.remote(num_cpus=1, max_retries=attempts - 1)(_run_task)
        # Ray passes references in a list unresolved, otherwise it would fetch them for every task.
        self._shipment = [ray.put(_Shipment(function))]
        self._waiting = iter(range(len(tasks)))
        #: Reference → index of a submitted task.
        self._submitted: dict[Any, int] = {}

    def results(self) -> Iterator[tuple[int, Any]]:
        """Yield index and result of each task in the order of completion."""
        self._submit()
        while self._submitted:
            done, _ = self._ray.wait(list(self._submitted), timeout=_CORES_QUERY_SECONDS)
            for reference in done:
                position = self._submitted.pop(reference)
                yield position, self._result(reference, position)
            self._submit()

    def _submit(self) -> None:
        room = _TASKS_PER_CORE * max(1, int(self._ray.cluster_resources().get("CPU", 1))) - len(self._submitted)
        for position in islice(self._waiting, max(room, 0)):
            self._submitted[self._remote.remote(self._shipment, self._tasks[position])] = position

    def _result(self, reference: Any, position: int) -> Any:
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.RayTaskError as error:
            raise _reason(error) from error
        except exceptions.RayError as error:
            times = f"{self._attempts} times" if self._attempts > 1 else "once"
            how = str(error).splitlines()[0]
            task = self._name(self._tasks[position])
            raise WorkerDied(f"task {task} was run {times}, and each time its worker died ({how})") from error


def _reason(error: Any) -> Exception:
    """Return the exception that a task raised, or one that names the worker's missing package."""
    cause = error.cause
    if isinstance(cause, ImportError):
        return SteersmanError(NO_STEERSMAN.format(getattr(cause, "name", None) or "steersman"))
    return cause if isinstance(cause, Exception) else RuntimeError(str(error))


# -- in a worker process of the cluster ----------------------------------------------------------------------------------

#: Reference → function of the sweep that this process works for.
_functions: dict[Any, Callable[[Any], Any]] = {}


def _run_task(shipment: list[Any], task: Any) -> Any:
    reference = shipment[0]
    if reference not in _functions:
        _functions.clear()
        _functions[reference] = _received(_ray().get(reference))
    return _functions[reference](task)


def _received(shipment: _Shipment) -> Callable[[Any], Any]:
    """Return the function. Raises `SteersmanError` if this worker has other versions."""
    here = versions()
    for package, wanted in shipment.versions.items():
        if here[package] != wanted:
            raise SteersmanError(
                f"Ray node {platform.node()} has {package} {here[package]}, the sweep was started with {wanted}: "
                "its numbers need not be the same"
            )
    return shipment.function
