# SPDX-License-Identifier: Apache-2.0
"""Parallel execution of a function over tasks in local processes.

    for result in run_in_processes(Trial(simulation), range(50), on_done=show):
        ...                                        # in the order of the tasks, whichever ends first

The function is pickled once and sent once to each worker process, then only tasks are sent. A
function with data is an object with `__call__`; its state stays in the worker between tasks. A
worker that dies, as from lack of memory, is replaced, and its task retried.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, Final, Generic, TypeAlias, TypeVar

from steersman.base import SteersmanError

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")
OnDone: TypeAlias = Callable[[int, ResultT], None]
"""Callback with the index of a finished task and its result."""

ATTEMPTS: Final = 3
"""Number of attempts of a task whose worker dies."""
_SECONDS_TO_END: Final = 5.0
"""Time for a worker to end after its termination was requested."""
_NOT_READY: Final = (
    "a worker process ended before it was ready ({how}); a script that starts worker processes does so below "
    '`if __name__ == "__main__":`'
)

# No plain fork, because the caller may have threads. A fork server has none, and preloads modules.
if sys.platform == "win32":
    _CONTEXT = get_context("spawn")
else:
    _CONTEXT = get_context("forkserver")


class WorkerDied(SteersmanError):
    """A task failed because every worker process that ran it died."""


def default_workers() -> int:
    """Return the number of cores available to this process."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepare_workers(*modules: str) -> None:
    """Start the fork server with preloaded modules in the background; optional, but saves time."""
    if sys.platform == "win32":
        return
    from multiprocessing import forkserver

    _CONTEXT.set_forkserver_preload([__name__, *modules])
    with _no_interrupts():
        forkserver.ensure_running()


def run_in_processes(
    function: Callable[[TaskT], ResultT],
    tasks: Sequence[TaskT],
    *,
    workers: int | None = None,
    attempts: int = ATTEMPTS,
    name: Callable[[TaskT], str] = repr,
    on_done: OnDone[ResultT] | None = None,
) -> Generator[ResultT, None, None]:
    """Yield the function's result for every task, in the order of the tasks.

    `workers` is the number of processes, by default one per core; with one worker, tasks run in
    this process. `function`, tasks and results must be picklable. Exceptions of the function are
    raised here. A task whose worker died is run at most `attempts` times, then `WorkerDied` with
    its `name` is raised. Workers end with the iteration, also after an exception or Ctrl-C.
    """
    count = min(default_workers() if workers is None else workers, len(tasks))
    if count <= 1:
        return _in_this_process(function, tasks, on_done)
    return _in_workers(_Pool(function, tasks, count, attempts, name), on_done)


def _in_this_process(
    function: Callable[[TaskT], ResultT], tasks: Sequence[TaskT], on_done: OnDone[ResultT] | None
) -> Generator[ResultT, None, None]:
    for position, task in enumerate(tasks):
        result = function(task)
        if on_done is not None:
            on_done(position, result)
        yield result


def _in_workers(pool: _Pool[TaskT, ResultT], on_done: OnDone[ResultT] | None) -> Generator[ResultT, None, None]:
    with contextlib.closing(pool):
        yield from in_order(pool.results(), on_done)


def in_order(results: Iterator[tuple[int, ResultT]], on_done: OnDone[ResultT] | None) -> Generator[ResultT, None, None]:
    """Yield the results of (index, result) pairs, which come in any order, sorted by index."""
    early: dict[int, ResultT] = {}
    due = 0
    for position, result in results:
        if on_done is not None:
            on_done(position, result)
        early[position] = result
        while due in early:
            yield early.pop(due)
            due += 1
    if early:
        raise RuntimeError(f"the result of task {due} has not come, but of {len(early)} tasks after it")


class _Worker:
    """The parent's handle of a worker process, with its current task."""

    def __init__(self) -> None:
        prepare_workers()
        self.connection, far_end = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_work, args=(far_end,), daemon=True)
        with _no_interrupts():
            self._process.start()
        far_end.close()  # so that the stream ends with the process
        self.has_function = False
        #: Index of its current task, or None.
        self.task: int | None = None

    def hear(self) -> bytes | None:
        """Return the next message; None if the process has died."""
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            return None

    def send(self, message: bytes) -> bool:
        """Send a message; return False if the process has died."""
        try:
            self.connection.send_bytes(message)
        except OSError:
            return False
        return True

    def end(self) -> None:
        """Terminate the worker immediately."""
        self.connection.close()
        self._process.terminate()
        self._process.join(_SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()

    def how_it_ended(self) -> str:
        """Return the signal (`SIGKILL, as when memory runs out`) or `exit code 1`."""
        self._process.join(_SECONDS_TO_END)
        code = self._process.exitcode
        if code == -signal.SIGKILL:
            return "SIGKILL, as when memory runs out"
        return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"


class _Pool(Generic[TaskT, ResultT]):
    """Distributor of tasks to workers and collector of results, in one thread."""

    def __init__(
        self,
        function: Callable[[TaskT], ResultT],
        tasks: Sequence[TaskT],
        workers: int,
        attempts: int,
        name: Callable[[TaskT], str],
    ) -> None:
        self._function = pickle.dumps(function, pickle.HIGHEST_PROTOCOL)
        self._tasks = tasks
        self._attempts = attempts
        self._name = name
        self._waiting = deque(range(len(tasks)))
        #: Index of the task (None: before the first) → number of times its worker died.
        self._deaths: dict[int | None, int] = {}
        self._size = workers
        self._workers: dict[Connection, _Worker] = {}

    def results(self) -> Iterator[tuple[int, ResultT]]:
        """Yield index and result of each task in the order of completion."""
        for _ in range(self._size):
            self._start_worker()
        while self._workers:
            for connection in wait(list(self._workers)):
                worker = self._workers[connection]  # type: ignore[index]  # only connections were waited for
                message = worker.hear()
                done = None if message is None else self._taken(worker, message)
                if message is None or not self._go_on(worker):
                    self._replace(worker)
                if done is not None:
                    yield done

    def close(self) -> None:
        while self._workers:
            self._workers.popitem()[1].end()

    def _start_worker(self) -> None:
        worker = _Worker()
        self._workers[worker.connection] = worker

    def _taken(self, worker: _Worker, message: bytes) -> tuple[int, ResultT] | None:
        """Return the result in a worker's message; None for its first one, that it is ready."""
        answer: _Answer = pickle.loads(message)
        if answer.error is not None:
            raise answer.error
        if worker.task is None:
            return None
        position, worker.task = worker.task, None
        return position, answer.result

    def _go_on(self, worker: _Worker) -> bool:
        """Send the next task to an idle worker, or end it. Return False if it has died."""
        if not self._waiting:
            del self._workers[worker.connection]
            worker.end()
            return True
        worker.task = self._waiting.popleft()
        task = pickle.dumps(self._tasks[worker.task], pickle.HIGHEST_PROTOCOL)
        if worker.has_function:
            return worker.send(task)
        worker.has_function = True
        return worker.send(self._function) and worker.send(task)

    def _replace(self, worker: _Worker) -> None:
        """Replace a worker that died, and queue its task next."""
        how, task = worker.how_it_ended(), worker.task
        del self._workers[worker.connection]
        worker.end()
        if task is not None:
            self._waiting.appendleft(task)
        self._deaths[task] = self._deaths.get(task, 0) + 1
        if self._deaths[task] >= self._attempts:
            raise WorkerDied(_NOT_READY.format(how=how) if task is None else self._given_up(task, how))
        if self._waiting:
            self._start_worker()

    def _given_up(self, task: int, how: str) -> str:
        times = f"{self._attempts} times" if self._attempts > 1 else "once"
        return f"task {self._name(self._tasks[task])} was run {times}, and each time its worker process died ({how})"


class _Answer:
    """A message of a worker: the result of its task or an error; neither in the first message."""

    def __init__(self, result: Any = None, error: BaseException | None = None) -> None:
        self.result = result
        self.error = error


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """Make processes started within the block ignore Ctrl-C; the parent ends them."""
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start would let interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- in the worker process -----------------------------------------------------------------------------------------------


def _work(connection: Connection) -> None:
    """Run a worker: receive the function, then tasks, until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    with contextlib.suppress(EOFError, OSError):
        _send(connection, _Answer())
        function = _outcome(pickle.loads, connection.recv_bytes())
        while True:
            task = connection.recv_bytes()
            _send(connection, function if function.error is not None else _outcome(_apply, function.result, task))


def _apply(function: Callable[[Any], Any], task: bytes) -> Any:
    return function(pickle.loads(task))


def _outcome(call: Callable[..., Any], *arguments: Any) -> _Answer:
    try:
        return _Answer(call(*arguments))
    except Exception as error:
        return _Answer(error=_picklable(error))


def _end_with_parent() -> None:
    """Exit the worker when its parent has ended."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _send(connection: Connection, answer: _Answer) -> None:
    try:
        message = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # a result that cannot be pickled
        message = pickle.dumps(_Answer(error=_picklable(error)), pickle.HIGHEST_PROTOCOL)
    connection.send_bytes(message)


def _picklable(error: Exception) -> Exception:
    """Return a picklable copy of the error with its traceback as a note."""
    where = "".join(traceback.format_exception(error))
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(f"in a worker process:\n{where}")
    return copy
