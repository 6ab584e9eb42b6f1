# SPDX-License-Identifier: Apache-2.0
"""The kubeconfig of a sandbox, in directories that others may write to."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from steersman.base.errors import InputError
from steersman.sandbox.credentials import NAME, write_kubeconfig

DOCUMENT = {"contexts": [{"name": NAME}], "users": [{"user": {"token": "secret"}}]}


def test_a_file_that_others_have_prepared_gets_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
    (tmp_path / ".config.guessed").write_text("")
    with pytest.raises(InputError, match="cannot be written: File exists"):
        write_kubeconfig(tmp_path / "config", DOCUMENT)
    assert (tmp_path / ".config.guessed").read_text() == ""


def test_the_name_of_the_file_cannot_be_guessed(tmp_path: Path) -> None:
    prepared = tmp_path / f".config.{os.getpid()}"
    prepared.write_text("")
    write_kubeconfig(tmp_path / "config", DOCUMENT)
    assert prepared.read_text() == ""
    assert "secret" in (tmp_path / "config").read_text()
