# SPDX-License-Identifier: Apache-2.0
"""Where the programs of the control plane are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.testing.control_plane import KUBERNETES_VERSION, Binaries, BinariesMissingError
from steersman.testing.control_plane.__main__ import main
from steersman.testing.control_plane.binaries import DEFAULT

PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler")


def install(folder: Path, programs: tuple[str, ...] = PROGRAMS) -> Path:
    folder.mkdir(parents=True)
    for name in programs:
        (folder / name).touch(mode=0o755)
    return folder


def in_folder(folder: Path, version: str = DEFAULT) -> Binaries:
    return Binaries(folder / "etcd", folder / "kube-apiserver", folder / "kube-scheduler", version)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("KUBEBUILDER_ASSETS", "STEERSMAN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_assets_that_are_named_are_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = install(tmp_path / "assets")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))

    assert Binaries.find() == in_folder(folder)


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


def test_binaries_of_another_version_are_in_the_folder_of_its_release(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder, variable, value in (
        (tmp_path / "own" / "control-plane" / "v1.37.1", "STEERSMAN_CACHE", tmp_path / "own"),
        (tmp_path / "v1.37.1", "KUBEBUILDER_ASSETS", tmp_path / "assets"),
    ):
        install(folder)
        monkeypatch.setenv(variable, str(value))

        assert Binaries.find("1.37") == in_folder(folder, "1.37")


def test_a_missing_program_is_named_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(install(tmp_path / "assets", ("etcd",))))

    with pytest.raises(BinariesMissingError, match=r"kube-apiserver: there is no such program; `make e2e` builds"):
        Binaries.find()


def test_a_program_beside_them_is_looked_for_when_it_is_requested(tmp_path: Path) -> None:
    found = Binaries.in_folder(install(tmp_path / "assets", (*PROGRAMS, "kubectl")))

    assert found.program("kubectl") == tmp_path / "assets" / "kubectl"
    with pytest.raises(BinariesMissingError, match=r"kube-controller-manager: there is no such program; `make e2e`"):
        found.program("kube-controller-manager")
    with pytest.raises(BinariesMissingError, match=r"e2e.test: there is no such program; `make upstream-e2e` builds"):
        found.program("e2e.test")


def test_the_command_names_what_is_missing_of_the_programs_it_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = install(tmp_path / "assets", (*PROGRAMS, "kubectl"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))

    assert main(["kubectl"]) == 0
    assert capsys.readouterr().out == f"{folder}\n"
    assert main(["--version", "1.36", "kubectl", "helm"]) == 1
    assert f"{folder / 'helm'}: there is no such program" in capsys.readouterr().err
