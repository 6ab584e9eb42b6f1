# SPDX-License-Identifier: Apache-2.0
"""The tutorial of docs/sandbox.md, command by command, with the real kubectl: it prints what the page says."""

from __future__ import annotations

from collections.abc import Callable

from tests.docs.code_blocks import code_blocks, is_printed
from tests.e2e.sandbox.conftest import Kubectl

PAGE = "docs/sandbox.md"
RUN_HERE = "needs a sandbox; tests/e2e/sandbox/test_tutorial.py runs it"


def test_the_tutorial_works_as_it_is_written(start_sandbox: Callable[..., Kubectl]) -> None:
    kubectl = start_sandbox("--nodes", "20")
    blocks = [block for block in code_blocks(PAGE) if block.detail == RUN_HERE]
    assert len(blocks) == 3
    for block in blocks:
        for command, expected in block.commands():
            printed = kubectl.shell(command).splitlines()
            assert is_printed(expected, printed), (command, printed)
