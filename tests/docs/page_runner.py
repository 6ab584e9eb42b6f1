# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of a page as a reader would: in one folder that was empty, one after the other.

`InstalledSteersman` starts a process for everything; `SteersmanOfTheClone` stays in this process where it can, which is
some ten times as fast.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple, Protocol

from click.testing import CliRunner
from tests.docs.code_blocks import CodeBlock, is_printed

from steersman.cli import main

TIMEOUT = 120.0
WIDTH = {"STEERSMAN_WIDTH": "80"}
#: What a page may run here: nothing that changes the machine of whoever runs the tests.
PROGRAMS = ("steersman", "sed", "pytest")
#: Programs that change the cluster of the current kubeconfig: only blocks for the tests' own cluster may run them.
CLUSTER_PROGRAMS = (*PROGRAMS, "kubectl")
#: A command without anything for the shell, and where the shell begins: `> file`, `2>&1`, `| head -3`, `|| true`.
_PLAIN = re.compile(r"""(?:[^\s'"|<>&;$`\\*?~#]|'[^']*'|"[^"$`\\]*"|\s(?!\s*\d?[|<>&;]))*""")
_SHELL = re.compile(r"\s*(?:\d?[|<>&;]|$)")


class Done(NamedTuple):
    """A command or script that has ended."""

    code: int
    printed: str
    errors: str


class Reader(Protocol):
    """Does in a folder what a page says."""

    def command(self, text: str) -> Done: ...

    def python(self, text: str) -> Done: ...


class InstalledSteersman:
    """`programs` has the command `steersman`; `environment` says where its modules are."""

    def __init__(self, folder: Path, programs: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = {
            **{key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "PYTHONPATH")},
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **WIDTH,
            **environment,
        }
        self._script = ""

    def command(self, text: str) -> Done:
        return self._execute(["sh", "-c", text])

    def python(self, text: str) -> Done:
        """With the blocks before it, whose names it may use."""
        before, self._script = self._script, f"{self._script}{text}"
        script = self._folder / "page_script.py"
        script.write_text(f"{before}print({_MARK!r})\n{text}{_CALL_TESTS}", encoding="utf-8")
        done = self._execute([sys.executable, str(script)])
        script.unlink()
        return done._replace(printed=done.printed.partition(f"{_MARK}\n")[2])

    def _execute(self, command: list[str]) -> Done:
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
        return Done(done.returncode, done.stdout, done.stderr)


_MARK = "-- the block begins --"
_CALL_TESTS = "\nfor _name, _value in list(globals().items()):\n    _name.startswith('test_') and _value()\n"


class SteersmanOfTheClone:
    """Runs `steersman` in this process, also where a shell takes what it prints; starts a process for everything else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, object] = {"__name__": "page"}

    def command(self, text: str) -> Done:
        plain = _PLAIN.match(text)
        program = plain.group() if plain is not None else ""
        rest = text.removeprefix(program)
        is_one_stream = not re.match(r"\s*2>", rest)  # in which order both would come, only the process itself can tell
        if not (program.startswith("steersman ") and _SHELL.match(rest) and is_one_stream and "steersman" not in rest):
            return self._in_a_shell(text)
        with contextlib.chdir(self._folder):
            done = CliRunner().invoke(main, shlex.split(program)[1:], env=WIDTH)
        ended = Done(done.exit_code, done.stdout, done.stderr)
        return self._repeated(ended, rest) if rest else ended

    def _repeated(self, ended: Done, rest: str) -> Done:
        """What a shell makes of a command that has ended, such as `| head -3`: a function says what the command said."""
        with tempfile.TemporaryDirectory() as kept:
            printed, errors = Path(kept, "printed"), Path(kept, "errors")
            printed.write_text(ended.printed, encoding="utf-8")
            errors.write_text(ended.errors, encoding="utf-8")
            function = f"repeat() {{ cat {printed}; cat {errors} >&2; return {ended.code}; }}"
            return self._in_a_shell(f"{function}\nrepeat {rest}")

    def _in_a_shell(self, text: str) -> Done:
        return InstalledSteersman(self._folder, Path(sys.executable).parent, {}).command(text)

    def python(self, text: str) -> Done:
        printed, known = io.StringIO(), set(sys.modules)
        sys.path.insert(0, str(self._folder))
        try:
            with contextlib.chdir(self._folder), contextlib.redirect_stdout(printed):
                exec(compile(f"{text}{_CALL_TESTS}", "page", "exec"), self._names)
        finally:
            sys.path.remove(str(self._folder))
            for name in set(sys.modules) - known:
                if str(self._folder) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]
        return Done(0, printed.getvalue(), "")


class PageRunner:
    """Goes through the blocks of one page."""

    def __init__(self, folder: Path, reader: Reader) -> None:
        self._folder = folder
        self._reader = reader
        self._printed: list[str] = []

    def run(self, blocks: list[CodeBlock], also: str = "") -> None:
        """All blocks that are run without a cluster, and those with the comment `also`."""
        for block in blocks:
            self._run(block, block.is_run or (bool(also) and block.comment == also))

    def _run(self, block: CodeBlock, is_run: bool) -> None:
        if block.comment == "file":
            written = self._folder / block.detail
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(block.text, encoding="utf-8")
        elif block.comment == "output":
            expected = block.text.splitlines()
            assert is_printed(expected, self._printed), _difference(block, expected, self._printed)
        elif block.language == "python" and is_run:
            done = self._reader.python(block.text)
            assert done.code == 0, f"{block.place}:\n{done.printed}{done.errors}"
            self._printed = done.printed.splitlines()
        elif is_run:
            self._run_commands(block)

    def _run_commands(self, block: CodeBlock) -> None:
        self._printed = []
        programs = CLUSTER_PROGRAMS if block.comment == "e2e" else PROGRAMS
        for command, expected in block.commands():
            assert command.split()[0] in programs, f"{block.place}: mark it: {command.split()[0]} is not run by tests"
            done = self._reader.command(command)
            assert done.code == 0, f"{block.place}: $ {command}\n{done.printed}{done.errors}"
            printed = done.printed.splitlines()
            if expected:
                assert is_printed(expected, printed), _difference(block, expected, printed)
            self._printed += printed


def _difference(block: CodeBlock, expected: list[str], printed: list[str]) -> str:
    return f"{block.place} says\n" + "\n".join(expected) + "\n\nbut this is printed:\n" + "\n".join(printed)
