# SPDX-License-Identifier: Apache-2.0
"""`steersman run`: flags, and what makes a start impossible. Each is one clear line."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.commands import refused, steersman
from tests.cli.files import CONFIG, write

from steersman.cli.run import IGNORED, UNSUPPORTED, run, run_options
from steersman.config import FeatureGates, load, refuse_unsupported

ELSEWHERE = ("--master", "http://127.0.0.1:1", "--leader-elect=false")


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """The command takes over what Steersman logs."""
    logger = logging.getLogger("steersman")
    before = logger.handlers[:], logger.propagate, logger.level
    yield
    logger.handlers[:], logger.propagate, logger.level = before


def test_a_configuration_that_does_not_exist(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    assert refused("run", "--config", missing) == f"Error: {missing}: cannot be read: No such file or directory"


def test_an_invalid_configuration(tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", CONFIG + "parallelism: -3\n")
    assert refused("run", "--config", config).startswith(f"Error: {config}: parallelism: Invalid value: -3")


def test_a_plugin_that_does_not_exist(tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", CONFIG + "  plugins: {filter: {enabled: [{name: Ghost}]}}\n")
    assert '"Ghost" does not exist' in refused("run", "--config", config)


def test_a_kubeconfig_that_cannot_be_used(tmp_path: Path) -> None:
    missing, broken = tmp_path / "missing", write(tmp_path / "broken", "clusters: 7\n")
    assert str(missing) in refused("run", "--kubeconfig", missing)
    assert str(broken) in refused("run", "--kubeconfig", broken)


def test_no_cluster_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(variable, raising=False)
    assert refused("run").startswith("Error: no cluster is configured; use --kubeconfig, --master")


def test_feature_gates_that_do_not_exist() -> None:
    assert "Ghost" in refused("run", "--feature-gates", "Ghost=true")


def test_one_tls_file_without_the_other(tmp_path: Path) -> None:
    line = refused("run", *ELSEWHERE, "--tls-cert-file", tmp_path / "tls.crt")
    assert line == "Error: --tls-cert-file and --tls-private-key-file go together"


def test_tls_files_that_do_not_exist(tmp_path: Path) -> None:
    missing = tmp_path / "tls"
    line = refused("run", *ELSEWHERE, "--tls-cert-file", missing, "--tls-private-key-file", missing)
    assert line.startswith(f"Error: {missing}: cannot be used as certificate and key")


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refused("run", *ELSEWHERE, "--bind-address", "127.0.0.1", "--secure-port", port)
    assert "address already in use" in line


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--leader-elect-lease-duration", "soon"),
        ("--leader-elect", "perhaps"),
        ("--secure-port", "70000"),
        ("--logging-format", "xml"),
        ("-v", "loud"),
    ],
)
def test_flags_that_mean_nothing(flag: str, value: str) -> None:
    result = steersman("run", flag, value)
    assert result.exit_code == 2
    assert f"Invalid value for '{flag}'" in result.stderr


def test_lease_times_that_cannot_work() -> None:
    line = refused("run", *ELSEWHERE, "--leader-elect=true", "--leader-elect-renew-deadline", "20s")
    assert "leaderElection.leaseDuration" in line


def test_the_configuration_is_written_with_flags_and_defaults(tmp_path: Path) -> None:
    file = tmp_path / "written.yaml"
    result = steersman(
        "run", "-v=2", "--leader-elect", "--leader-elect-resource-name=steersman", "--write-config-to", file
    )
    assert result.exit_code == 0
    written = load(file.read_text())
    assert written.leader_election.resource_name == "steersman"
    assert written.leader_election.leader_elect


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    assert refused("run", "--write-config-to", folder) == f"Error: {folder}: cannot be written: Is a directory"


def test_an_open_path_with_a_star_in_the_middle() -> None:
    line = refused("run", *ELSEWHERE, "--authorization-always-allow-paths", "/healthz,/a*b")
    assert line == 'Error: --authorization-always-allow-paths: may have a * only at its end (got "/a*b")'


def test_flags_go_before_the_configuration(tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", CONFIG + "clientConnection: {qps: 7, burst: 8}\nenableProfiling: true\n")
    file = tmp_path / "written.yaml"
    flags = ("--kube-api-qps=500", "--profiling=false", "--contention-profiling=false")
    assert steersman("run", "--config", config, *flags, "--write-config-to", file).exit_code == 0
    written = load(file.read_text())
    assert (written.client_connection.qps, written.client_connection.burst) == (500, 8)
    assert (written.enable_profiling, written.enable_contention_profiling) == (False, False)


@pytest.mark.parametrize("flag", sorted(UNSUPPORTED))
def test_flags_that_cannot_be_supported_say_what_there_is_instead(flag: str) -> None:
    result = steersman("run", f"{flag}=1")
    assert result.exit_code == 2
    assert f"{flag} of kube-scheduler is not supported: {UNSUPPORTED[flag]}" in " ".join(result.stderr.split())


def test_all_flags_that_are_refused_are_reported_together() -> None:
    result = steersman(
        "run", "--vmodule=a=1", "--tls-sni-cert-key=a,b", "--min-compatibility-version=1.35", "--cert-dir=/tmp"
    )
    assert result.exit_code == 2
    for flag in ("--vmodule", "--tls-sni-cert-key", "--min-compatibility-version"):
        assert f"{flag} of kube-scheduler is not supported: {UNSUPPORTED[flag]}" in " ".join(result.stderr.split())
    assert "--cert-dir" not in result.stderr


@pytest.mark.parametrize("flag", sorted(IGNORED))
def test_flags_without_which_nothing_is_lost_are_taken(flag: str, tmp_path: Path) -> None:
    with run.make_context("run", [f"{flag}=1"]) as context:
        (line,) = run_options(context).ignored_flags
    assert line == f"{flag} of kube-scheduler has no effect: {IGNORED[flag]}"


def test_a_gate_that_all_alpha_turns_on_is_refused_with_the_way_out() -> None:
    line = refused("run", *ELSEWHERE, "--feature-gates=AllAlpha=true,GenericWorkload=true")
    assert "remove" not in line
    added = line.rpartition("; add ")[2]
    gates = FeatureGates.parse(f"AllAlpha=true,GenericWorkload=true,{added}")
    refuse_unsupported(gates)


def test_names_of_tls_that_do_not_exist() -> None:
    quiet = (*ELSEWHERE, "--bind-address", "127.0.0.1")
    assert refused("run", *quiet, "--tls-min-version", "VersionTLS9").startswith(
        "Error: --tls-min-version: there is no"
    )
    assert refused("run", *quiet, "--tls-cipher-suites", "A,B").startswith("Error: --tls-cipher-suites: there is no")


def test_authorities_that_cannot_be_used(tmp_path: Path) -> None:
    quiet = (*ELSEWHERE, "--bind-address", "127.0.0.1")
    broken = write(tmp_path / "ca.crt", "nonsense")
    assert "is not a bundle of PEM certificates" in refused("run", *quiet, "--client-ca-file", broken)
    missing = tmp_path / "missing.crt"
    assert refused("run", *quiet, "--client-ca-file", missing).startswith(f"Error: {missing}: --client-ca-file: cannot")


def test_kubeconfigs_for_reviews_that_cannot_be_used(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    for flag in ("--authentication-kubeconfig", "--authorization-kubeconfig"):
        assert str(missing) in refused("run", *ELSEWHERE, flag, missing)


def test_secrets_are_not_written_with_the_configuration(tmp_path: Path) -> None:
    secretive = "extenders:\n- {urlPrefix: 'http://me:hunter2@host', filterVerb: filter, weight: 1}\n"
    config, file = write(tmp_path / "config.yaml", CONFIG + secretive), tmp_path / "written.yaml"
    assert steersman("run", "--config", config, "--write-config-to", file).exit_code == 0
    assert file.read_text().startswith("# Secrets are hidden")
    assert "hunter2" not in file.read_text()
