# SPDX-License-Identifier: Apache-2.0
"""Faults of a sandbox on the terminal."""

from __future__ import annotations

import logging

import pytest

from steersman.cli.sandbox import FaultNotes


def test_a_fault_is_one_line_on_the_terminal_without_debug(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("steersman.test_sandbox_faults")
    handler = FaultNotes(logging.ERROR)
    logger.addHandler(handler)
    try:
        logger.warning("a warning")
        try:
            raise KeyError("spec")
        except KeyError:
            logger.exception("%s %s failed", "POST", "/api/v1/pods")
    finally:
        logger.removeHandler(handler)
    (line,) = capsys.readouterr().err.splitlines()
    assert "POST /api/v1/pods failed: KeyError: 'spec'" in line
    assert "--debug" in line
