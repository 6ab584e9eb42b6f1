# SPDX-License-Identifier: Apache-2.0
"""On a terminal: colours, 80 columns, progress and the time it took. In a pipe: plain text."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from itertools import chain, repeat
from pathlib import Path

import pytest
from tests.cli.commands import steersman
from tests.cli.files import BIG_POD, cluster, write

from steersman.cli import progress
from steersman.cli.output import coloured

_ESCAPES = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
_COLOURS = re.compile("\x1b\\[[0-9;]*m")


def on_a_terminal(*arguments: object, **environment: str) -> str:
    """What a terminal of 80 columns is sent."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "STEERSMAN_WIDTH")}
    process = subprocess.Popen(
        [sys.executable, "-m", "steersman", *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**kept, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    received = b""
    while chunk := _read(ours):
        received += chunk
    os.close(ours)
    process.wait(timeout=30)
    return received.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


def test_a_terminal_gets_colours_and_lines_that_fit(tmp_path: Path) -> None:
    shown = on_a_terminal("simulate", "-f", cluster(tmp_path, BIG_POD), "--explain", "web", "--explain", "big")
    assert "\x1b[1mPOD          NODE  TIME  ATTEMPTS\x1b[0m" in shown
    assert "\x1b[31m\x1b[1mPENDING\x1b[0m" in shown
    plain = _ESCAPES.sub("", shown)
    assert max(map(len, plain.splitlines())) <= 80
    assert "lacks 1 cpu (asks 5, 4 of 4 free)" in plain


def test_colours_can_be_refused(tmp_path: Path) -> None:
    """Progress, which a slow machine shows, still moves the cursor."""
    assert _COLOURS.findall(on_a_terminal("simulate", "-f", cluster(tmp_path), NO_COLOR="1")) == []


def test_a_terminal_that_knows_no_escapes_gets_none(tmp_path: Path) -> None:
    assert "\x1b" not in on_a_terminal("simulate", "-f", cluster(tmp_path), TERM="dumb")


@pytest.mark.parametrize("command", [(), ("plan",), ("config",), ("examples",)], ids=" ".join)
def test_the_help_cuts_no_summary_off(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = steersman(*command, "--help").stdout.partition("\nCommands:\n")[2]
    assert listed
    assert "..." not in listed
    assert max(map(len, listed.splitlines())) <= 80


def test_a_pipe_gets_plain_text_as_long_as_it_is(tmp_path: Path) -> None:
    output = steersman("simulate", "-f", cluster(tmp_path, BIG_POD), "--explain", "web").stdout
    assert "\x1b" not in output
    assert max(map(len, output.splitlines())) > 80


def test_the_width_can_be_set_for_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEERSMAN_WIDTH", "80")
    output = steersman("simulate", "-f", cluster(tmp_path, BIG_POD), "--explain", "web").stdout
    assert max(map(len, output.splitlines())) <= 80


SLOW = """
import time
from steersman.framework import FilterPlugin

class Slow(FilterPlugin):
    name = "Slow"

    def filter(self, pod, node):
        time.sleep(1.1)
"""


def test_what_takes_longer_than_a_second_says_how_long(tmp_path: Path) -> None:
    plugin = write(tmp_path / "slow.py", SLOW)
    slow = _ESCAPES.sub("", on_a_terminal("simulate", "-f", cluster(tmp_path, BIG_POD), "--plugin", plugin))
    assert re.fullmatch(r"took \d+\.\d s", slow.rstrip().splitlines()[-1])


@pytest.mark.parametrize(("seconds", "said"), [(0.9, ""), (1.5, "took 1.5 s\n")])
def test_the_time_is_told_on_terminals_only_after_a_second(
    seconds: float, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = chain((100.0,), repeat(100.0 + seconds))
    monkeypatch.setattr("steersman.cli.progress.time.monotonic", lambda: next(moments))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    with progress.timed():
        pass
    assert capsys.readouterr().err == said


def test_only_the_word_of_an_outcome_is_coloured() -> None:
    assert coloured("ok    api  reachable\nfail  rights  none") == (
        "\x1b[32mok\x1b[0m    api  reachable\n\x1b[31m\x1b[1mfail\x1b[0m  rights  none"
    )
    assert coloured("n1  4/4 100%  1/20   5%") == "n1  4/4 \x1b[33m100%\x1b[0m  1/20   5%"


def test_work_in_progress_shows_how_far_it_is_and_the_elapsed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("steersman.cli.progress.time.monotonic", lambda: now)
    status = progress._LateStatus("searching for nodes")
    now = 107.0
    assert str(status.__rich__()) == "searching for nodes (7 s)"
    status.show("40% of the trials [b]")
    now = 112.0
    assert str(status.__rich__()) == "searching for nodes: 40% of the trials [b] (12 s)"
