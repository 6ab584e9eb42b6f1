# SPDX-License-Identifier: Apache-2.0
"""Tasks in worker processes: order, exceptions, workers that die."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from steersman.base.errors import InputError, SteersmanError
from steersman.simulation.processes import WorkerDied, default_workers, run_in_processes


def square(number: int) -> int:
    return number * number


def process_of(_: int) -> int:
    return os.getpid()


def refuse(number: int) -> int:
    if number == 2:
        raise InputError("must be odd", field="number", value=number)
    return number


def fail_to_open(_: int) -> str:
    return Path("/nowhere/at/all").read_text()


def unpicklable(number: int) -> object:
    return (lambda: number) if number == 1 else number


class Counted:
    """Notes in a directory each time it travels, and counts the tasks that it has seen in its process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.seen = 0

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.directory.joinpath(f"arrived-{os.getpid()}").touch(exist_ok=False)

    def __call__(self, _: int) -> int:
        self.seen += 1
        return self.seen


class DiesAtFirst:
    """Kills its process as the kernel does when memory runs out, until it has done so often enough."""

    def __init__(self, directory: Path, deaths: int) -> None:
        self.directory = directory
        self.deaths = deaths

    def __call__(self, number: int) -> int:
        died = len(list(self.directory.glob("died-*")))
        if number == 3 and died < self.deaths:
            self.directory.joinpath(f"died-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * 10


class Unreadable:
    """A function that can be sent, but not be read."""

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return square, ("no number",)

    def __call__(self, number: int) -> int:
        return number


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_tasks(workers: int) -> None:
    assert list(run_in_processes(square, range(20), workers=workers)) == [n * n for n in range(20)]


def test_one_worker_is_this_process_and_two_are_others() -> None:
    assert set(run_in_processes(process_of, range(3), workers=1)) == {os.getpid()}
    others = set(run_in_processes(process_of, range(6), workers=2))
    assert os.getpid() not in others
    assert 1 <= len(others) <= 2


def test_no_task_gives_no_result_and_starts_no_process() -> None:
    assert list(run_in_processes(square, [], workers=4)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_each_result_is_reported_once_with_its_position(workers: int) -> None:
    told: dict[int, int] = {}
    list(run_in_processes(square, [5, 6, 7], workers=workers, on_done=told.__setitem__))
    assert told == {0: 25, 1: 36, 2: 49}


def test_the_function_travels_once_to_each_worker_and_keeps_its_state_there(tmp_path: Path) -> None:
    seen = list(run_in_processes(Counted(tmp_path), range(12), workers=2))
    arrivals = list(tmp_path.glob("arrived-*"))
    assert 1 <= len(arrivals) <= 2
    assert seen.count(1) == len(arrivals)
    assert max(seen) >= 12 / len(arrivals)


def test_the_task_of_a_worker_that_dies_is_run_again(tmp_path: Path) -> None:
    results = list(run_in_processes(DiesAtFirst(tmp_path, deaths=2), range(6), workers=2))
    assert results == [0, 10, 20, 30, 40, 50]
    assert len(list(tmp_path.glob("died-*"))) == 2


def test_a_task_that_kills_every_worker_is_given_up_and_named(tmp_path: Path) -> None:
    with pytest.raises(WorkerDied) as caught:
        list(run_in_processes(DiesAtFirst(tmp_path, deaths=99), range(6), workers=2, name="seed {}".format))
    assert str(caught.value) == (
        "task seed 3 was run 3 times, and each time its worker process died (SIGKILL, as when memory runs out)"
    )
    assert len(list(tmp_path.glob("died-*"))) == 3


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_of_the_function_is_raised_as_it_is(workers: int) -> None:
    with pytest.raises(InputError) as caught:
        list(run_in_processes(refuse, [1, 2, 3], workers=workers))
    assert str(caught.value) == "number: must be odd (got 2)"


def test_an_exception_says_where_in_the_worker_it_happened() -> None:
    with pytest.raises(InputError) as caught:
        list(run_in_processes(refuse, [2, 2], workers=2))
    assert any("in refuse" in note for note in caught.value.__notes__)


def test_a_missing_file_in_a_worker_is_not_taken_for_the_end_of_the_worker() -> None:
    with pytest.raises(FileNotFoundError, match="/nowhere/at/all"):
        list(run_in_processes(fail_to_open, [1, 2], workers=2))


def test_a_result_that_cannot_be_pickled_is_an_error() -> None:
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        list(run_in_processes(unpicklable, [0, 1], workers=2))


def test_a_function_that_workers_cannot_read_is_an_error() -> None:
    with pytest.raises(TypeError, match="can't multiply"):
        list(run_in_processes(Unreadable(), [0, 1], workers=2))


def test_breaking_off_ends_the_workers() -> None:
    results = run_in_processes(process_of, range(100), workers=2)
    worker = next(results)
    results.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_the_default_is_a_worker_for_each_core_that_may_be_used() -> None:
    assert 1 <= default_workers() <= (os.cpu_count() or 1)


def test_a_script_without_the_main_guard_gets_an_error_with_the_remedy(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from steersman.simulation.processes import run_in_processes\nprint(list(run_in_processes(abs, [1, 2], workers=2)))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert 'below `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]


SIGNALLED = """
import os, signal
from steersman.simulation.processes import run_in_processes
from tests.simulation.test_processes import sleep_long

if __name__ == "__main__":
    # A shell starts what runs in the background with the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def end(position, result):
        print("ending", flush=True)
        {end}
    try:
        list(run_in_processes(sleep_long, [0, 1000, 1000], workers=2, on_done=end))
    except KeyboardInterrupt:
        print("interrupted")
"""


def sleep_long(seconds: float) -> int:
    signal.sigtimedwait([], seconds)
    return os.getpid()


def ended_by(script: Path, end: str) -> subprocess.CompletedProcess[str]:
    """Returns when every process that could write to the script's output is gone."""
    script.write_text(SIGNALLED.format(end=end))
    return subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )


def test_ctrl_c_ends_the_workers_without_a_word_from_them(tmp_path: Path) -> None:
    done = ended_by(tmp_path / "script.py", "os.killpg(0, signal.SIGINT)")
    assert done.stdout.split() == ["ending", "interrupted"]
    assert done.stderr == ""
    assert done.returncode == 0


def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    done = ended_by(tmp_path / "script.py", "os.kill(os.getpid(), signal.SIGKILL)")
    assert done.stdout.split() == ["ending"]
    assert done.returncode == -signal.SIGKILL


def test_a_lost_worker_is_an_error_that_the_command_line_prints() -> None:
    assert issubclass(WorkerDied, SteersmanError)
