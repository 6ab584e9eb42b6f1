# SPDX-License-Identifier: Apache-2.0
"""Many simulations at once: a function over tasks in processes of this machine.

    for result in run_in_processes(Trial(simulation), range(50), on_done=show):
        ...                                        # in the order of the tasks, whichever ends first

The function is pickled once and sent once to each worker process; a task is all that travels for a task. A function that
needs much is an object with `__call__` that holds it; what it keeps between tasks stays in its worker. A worker that dies, as
when the machine runs out of memory, is replaced, and its task is run again. `sweep` and `plan` stand on this.
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

from steersman.errors import SteersmanError

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")
OnDone: TypeAlias = Callable[[int, ResultT], None]
"""Told the position of a task and its result, as soon as it is there."""

ATTEMPTS: Final = 3
"""How often a task is run whose worker dies each time."""
_SECONDS_TO_END: Final = 5.0
"""How long a worker may take to end once it was told to."""
_NOT_READY: Final = (
    "a worker process ended before it was ready ({how}); a script that starts worker processes does so below "
    '`if __name__ == "__main__":`'
)

# Never a plain fork: the caller may have threads. A fork server has none, and has imported what workers need.
if sys.platform == "win32":
    _CONTEXT = get_context("spawn")
else:
    _CONTEXT = get_context("forkserver")


class WorkerDied(SteersmanError):
    """A task was given up, because every worker process that ran it died."""


def default_workers() -> int:
    """The cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepare_workers(*modules: str) -> None:
    """Has a fork server import what workers need, while this process does something else. Not necessary, but saves time."""
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
    """The function's result for every task, in the order of the tasks.

    `workers` processes share the work, as many as there are cores if nothing is said; with one worker everything happens in
    this process. `function`, tasks and results must be picklable. An exception of the function ends everything and is raised
    here. A task whose worker died is run again, `attempts` times in all, then `WorkerDied` says so by its `name`. Workers end
    with the iteration, also when that is broken off by an exception or Ctrl-C.
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
    """Results, which come with the positions of their tasks as they are ready, in the order of the tasks."""
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
    """The near end of a worker process, and the task that it has."""

    def __init__(self) -> None:
        prepare_workers()
        self.connection, far_end = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_work, args=(far_end,), daemon=True)
        with _no_interrupts():
            self._process.start()
        far_end.close()  # the end of the process is the end of the stream
        self.has_function = False
        #: Position of the task that it runs; None: it has none yet.
        self.task: int | None = None

    def hear(self) -> bytes | None:
        """The next message; None: the process is dead, or died in the middle of it."""
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            return None

    def tell(self, message: bytes) -> bool:
        """False: the process is dead."""
        try:
            self.connection.send_bytes(message)
        except OSError:
            return False
        return True

    def end(self) -> None:
        """Ends the worker at once, whatever it does."""
        self.connection.close()
        self._process.terminate()
        self._process.join(_SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()

    def how_it_ended(self) -> str:
        """`SIGKILL, as when memory runs out`, `exit code 1`."""
        self._process.join(_SECONDS_TO_END)
        code = self._process.exitcode
        if code == -signal.SIGKILL:
            return "SIGKILL, as when memory runs out"
        return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"


class _Pool(Generic[TaskT, ResultT]):
    """Hands tasks to workers and takes results from them; one thread, which waits for whichever worker speaks next."""

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
        #: How often the worker died, by position of the task; None: before it was ready for one.
        self._deaths: dict[int | None, int] = {}
        self._size = workers
        self._workers: dict[Connection, _Worker] = {}

    def results(self) -> Iterator[tuple[int, ResultT]]:
        """Position and result of each task, as they come."""
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
        """The result in what a worker says; None for its first word, by which it asks for the function."""
        answer: _Answer = pickle.loads(message)
        if answer.error is not None:
            raise answer.error
        if worker.task is None:
            return None
        position, worker.task = worker.task, None
        return position, answer.result

    def _go_on(self, worker: _Worker) -> bool:
        """The next task for a worker that has none, or its end. False: it is dead."""
        if not self._waiting:
            del self._workers[worker.connection]
            worker.end()
            return True
        worker.task = self._waiting.popleft()
        task = pickle.dumps(self._tasks[worker.task], pickle.HIGHEST_PROTOCOL)
        if worker.has_function:
            return worker.tell(task)
        worker.has_function = True
        return worker.tell(self._function) and worker.tell(task)

    def _replace(self, worker: _Worker) -> None:
        """Another worker for one that died; what that was doing comes next."""
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
    """A message of a worker: the result of its task, or what went wrong. The first answer is neither."""

    def __init__(self, result: Any = None, error: BaseException | None = None) -> None:
        self.result = result
        self.error = error


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """A process that is started meanwhile does not hear Ctrl-C, not even before its first line: this process ends it."""
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
    """The life of a worker: one function, then tasks, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    with contextlib.suppress(EOFError, OSError):
        _say(connection, _Answer())
        function = _outcome(pickle.loads, connection.recv_bytes())
        while True:
            task = connection.recv_bytes()
            _say(connection, function if function.error is not None else _outcome(_apply, function.result, task))


def _apply(function: Callable[[Any], Any], task: bytes) -> Any:
    return function(pickle.loads(task))


def _outcome(call: Callable[..., Any], *arguments: Any) -> _Answer:
    try:
        return _Answer(call(*arguments))
    except Exception as error:
        return _Answer(error=_told(error))


def _end_with_parent() -> None:
    """Nobody waits for the result of a worker whose parent is gone, however that ended."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _say(connection: Connection, answer: _Answer) -> None:
    try:
        message = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # a result that cannot be pickled
        message = pickle.dumps(_Answer(error=_told(error)), pickle.HIGHEST_PROTOCOL)
    connection.send_bytes(message)


def _told(error: Exception) -> Exception:
    """The error with the place where it happened, in a form that another process can read."""
    where = "".join(traceback.format_exception(error))
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(f"in a worker process:\n{where}")
    return copy
