# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of a page as a reader would: in one folder that was empty, one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.code_blocks import CodeBlock, is_printed

TIMEOUT = 120.0
#: What a page may run here: nothing that changes the machine of whoever runs the tests.
PROGRAMS = ("steersman", "sed")


class PageRunner:
    """`path` and `environment` say which Steersman is found: that of the clone, or the one that pip has installed."""

    def __init__(self, folder: Path, programs: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = {
            **{key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "PYTHONPATH")},
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
            "STEERSMAN_WIDTH": "80",
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        }
        self._printed: list[str] = []
        self._python = ""

    def run(self, blocks: list[CodeBlock]) -> None:
        for block in blocks:
            self._run(block)

    def _run(self, block: CodeBlock) -> None:
        if block.comment == "file":
            written = self._folder / block.detail
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(block.text, encoding="utf-8")
        elif block.comment == "output":
            expected = block.text.splitlines()
            assert is_printed(expected, self._printed), _difference(block, expected, self._printed)
        elif block.language == "python" and block.is_run:
            self._run_python(block)
        elif block.is_run:
            self._run_commands(block)

    def _run_commands(self, block: CodeBlock) -> None:
        self._printed = []
        for command, expected in block.commands():
            assert command.split()[0] in PROGRAMS, f"{block.place}: mark it: {command.split()[0]} is not run by tests"
            done = self._shell(command)
            assert done.returncode == 0, f"{block.place}: $ {command}\n{done.stdout}{done.stderr}"
            printed = done.stdout.splitlines()
            if expected:
                assert is_printed(expected, printed), _difference(block, expected, printed)
            self._printed += printed

    def _run_python(self, block: CodeBlock) -> None:
        """With the blocks before it, whose names it may use; tests in it are called."""
        self._python += block.text
        script = self._folder / "page_script.py"
        calls = "\nfor _name, _value in list(globals().items()):\n    _name.startswith('test_') and _value()\n"
        script.write_text(self._python + calls, encoding="utf-8")
        done = self._execute([sys.executable, str(script)])
        script.unlink()
        assert done.returncode == 0, f"{block.place}:\n{done.stdout}{done.stderr}"
        self._printed = done.stdout.splitlines()

    def _shell(self, command: str) -> subprocess.CompletedProcess[str]:
        return self._execute(["sh", "-c", command])

    def _execute(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )


def _difference(block: CodeBlock, expected: list[str], printed: list[str]) -> str:
    return f"{block.place} says\n" + "\n".join(expected) + "\n\nbut this is printed:\n" + "\n".join(printed)
