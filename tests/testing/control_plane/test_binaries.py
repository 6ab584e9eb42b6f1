# SPDX-License-Identifier: Apache-2.0
"""Where the programs of the control plane are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.testing.control_plane import KUBERNETES_VERSION, Binaries, BinariesMissingError

PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler")


def install(folder: Path, programs: tuple[str, ...] = PROGRAMS) -> Path:
    folder.mkdir(parents=True)
    for name in programs:
        (folder / name).touch(mode=0o755)
    return folder


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("KUBEBUILDER_ASSETS", "STEERSMAN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_assets_that_are_named_are_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = install(tmp_path / "assets")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))

    assert Binaries.find() == Binaries(*(folder / name for name in PROGRAMS))


@pytest.mark.parametrize(
    ("variable", "value", "below"),
    [
        ("STEERSMAN_CACHE", "own", "own"),
        ("XDG_CACHE_HOME", "xdg", "xdg/steersman"),
        ("HOME", "home", "home/.cache/steersman"),
    ],
)
def test_without_them_the_cache_is_searched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, value: str, below: str
) -> None:
    folder = install(tmp_path / below / "control-plane" / KUBERNETES_VERSION)
    monkeypatch.setenv(variable, str(tmp_path / value))

    assert Binaries.find().etcd == folder / "etcd"


def test_a_missing_program_is_named_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(install(tmp_path / "assets", ("etcd",))))

    with pytest.raises(BinariesMissingError, match=r"kube-apiserver: there is no such program; `make e2e` builds"):
        Binaries.find()
