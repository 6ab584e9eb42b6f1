# SPDX-License-Identifier: Apache-2.0
"""A program that tests start, stop, kill and pause."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from steersman.testing.control_plane import Component, ComponentError, wait_until

POLITE = """
import pathlib, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
pathlib.Path(sys.argv[1]).touch()
print("up", flush=True)
signal.sigwait({signal.SIGTERM})
sys.exit(7)
"""


def component(folder: Path) -> Component:
    """Ready when it has touched a file, which is taken away again so that the next start is waited for too."""
    flag = folder / "ready"

    def ready() -> bool:
        try:
            flag.unlink()
        except FileNotFoundError:
            return False
        return True

    return Component("sleeper", [sys.executable, "-c", POLITE, str(flag)], folder / "log", ready=ready)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_it_is_ready_when_started_and_answers_with_its_exit_code(tmp_path: Path) -> None:
    with component(tmp_path) as sleeper:
        assert sleeper.running
        assert sleeper.rss() > 0
        assert sleeper.cpu_seconds() >= 0
        assert sleeper.stop() == 7
        assert not sleeper.running


def test_its_log_goes_on_after_a_restart(tmp_path: Path) -> None:
    with component(tmp_path) as sleeper:
        first = sleeper.pid
        wait_until(lambda: sleeper.log_text() == "up\n")
        sleeper.kill()
        assert sleeper.exit_code == -9
        sleeper.start()

        assert sleeper.pid != first
        wait_until(lambda: sleeper.log_text() == "up\nup\n")


def test_a_paused_program_stands_still_and_can_still_be_stopped(tmp_path: Path) -> None:
    with component(tmp_path) as sleeper:
        sleeper.pause()
        wait_until(lambda: state(sleeper.pid) == "T")
        assert sleeper.stop() == 7


def test_a_program_that_ends_instead_of_getting_ready_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    failing = Component(
        "failing", [sys.executable, "-c", "raise SystemExit('no luck')"], tmp_path / "log", ready=lambda: False
    )

    with pytest.raises(ComponentError, match=r"failing ended with exit code 1; .* ends: no luck"):
        failing.start()


def test_nothing_is_left_running_at_the_end_of_the_block(tmp_path: Path) -> None:
    with component(tmp_path) as sleeper:
        pass
    assert sleeper.exit_code == -9
