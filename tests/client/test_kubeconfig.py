# SPDX-License-Identifier: Apache-2.0
"""From files and flags to a connection."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from tests.client.kubeconfigs import kubeconfig, load
from tests.client.serving import run

from steersman.base.errors import InputError
from steersman.kube.client.kubeconfig import (
    ClusterChoice,
    connect,
    in_cluster_connection,
    in_cluster_namespace,
    is_in_cluster,
)


def test_a_context_gives_address_and_namespace(tmp_path: Path) -> None:
    cluster = load(kubeconfig(tmp_path))
    assert cluster.connection.server == "https://127.0.0.1:6443"
    assert cluster.namespace == "team"


def test_the_cluster_says_how_to_trust_it(tmp_path: Path) -> None:
    data = base64.b64encode(b"authority").decode()
    file = kubeconfig(tmp_path, {"certificate-authority-data": data, "tls-server-name": "api.example"})
    tls = load(file).connection.tls
    assert (tls.authority, tls.server_name, tls.insecure) == (b"authority", "api.example", False)
    assert load(kubeconfig(tmp_path, {"insecure-skip-tls-verify": True})).connection.tls.insecure


def test_files_are_looked_for_beside_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"authority")
    file = kubeconfig(tmp_path, {"certificate-authority": "ca.crt"})
    assert load(file).connection.tls.authority == b"authority"


def test_the_master_flag_replaces_the_address_alone(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, {"tls-server-name": "api.example"})
    connection = load(file, master="https://other:1/").connection
    assert (connection.server, connection.tls.server_name) == ("https://other:1", "api.example")


def test_a_master_alone_is_enough() -> None:
    assert connect(ClusterChoice(master="127.0.0.1:8080"), {}).connection.server == "http://127.0.0.1:8080"


def test_of_several_files_the_first_that_has_a_name_counts(tmp_path: Path) -> None:
    first = kubeconfig(tmp_path, {"server": "https://first"}, name="first")
    second = kubeconfig(tmp_path, {"server": "https://second"}, name="second")
    second.write_text(second.read_text().replace('"here"', '"there"'))
    listed = {"KUBECONFIG": f"{tmp_path / 'missing'}:{first}:{second}"}
    assert connect(ClusterChoice(), listed).connection.server == "https://first"
    assert connect(ClusterChoice(context="there"), listed).connection.server == "https://first"


def test_the_home_directory_is_the_last_resort(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube", {"server": "https://home"})
    assert connect(ClusterChoice(), {"HOME": str(tmp_path)}).connection.server == "https://home"
    with pytest.raises(InputError, match="no cluster is configured; use --kubeconfig"):
        connect(ClusterChoice(), {"HOME": str(tmp_path / "nobody")})


@pytest.mark.parametrize(
    ("server", "no_proxy", "proxy"),
    [
        ("https://api.example:6443", "", "http://proxy:3128"),
        ("https://api.example:6443", "other,.example", ""),
        ("https://api.example:6443", "api.example:443", "http://proxy:3128"),
        ("https://10.1.2.3", "10.0.0.0/8", ""),
        ("https://127.0.0.1:6443", "", ""),
    ],
)
def test_the_environment_may_name_a_proxy(tmp_path: Path, server: str, no_proxy: str, proxy: str) -> None:
    environment = {"HTTPS_PROXY": "proxy:3128", "NO_PROXY": no_proxy}
    cluster = connect(ClusterChoice(str(kubeconfig(tmp_path, {"server": server}))), environment)
    assert cluster.connection.proxy == proxy


def test_the_environment_may_turn_http2_off(tmp_path: Path) -> None:
    choice = ClusterChoice(str(kubeconfig(tmp_path, {"server": "https://api.example"})))
    assert connect(choice, {}).connection.http2
    assert not connect(choice, {"DISABLE_HTTP2": "1"}).connection.http2


def test_a_proxy_of_the_cluster_comes_first(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, {"proxy-url": "http://own:1"})
    assert connect(ClusterChoice(str(file)), {"https_proxy": "http://other:2"}).connection.proxy == "http://own:1"


@pytest.mark.parametrize(
    ("cluster", "complaint"),
    [
        ({"server": ""}, r"clusters\[0\]\.cluster\.server: is missing"),
        ({"server": "ftp://x"}, r'clusters\[0\]\.cluster\.server: is not the URL of a server \(got "ftp://x"\)'),
        ({"proxy-url": "socks5://x"}, r"clusters\[0\]\.cluster\.proxy-url: is not a proxy"),
        ({"certificate-authority-data": "?"}, r"clusters\[0\]\.cluster\.certificate-authority-data: is not base64"),
        ({"certificate-authority": "nowhere"}, r"clusters\[0\]\.cluster\.certificate-authority: cannot be read"),
        ({"insecure-skip-tls-verify": "often"}, r"clusters\[0\]\.cluster\.insecure-skip-tls-verify: "),
        (
            {"insecure-skip-tls-verify": True, "certificate-authority-data": "YQ=="},
            r"insecure-skip-tls-verify: cannot be combined",
        ),
    ],
)
def test_a_complaint_names_file_and_field(tmp_path: Path, cluster: dict[str, object], complaint: str) -> None:
    file = kubeconfig(tmp_path, cluster)
    with pytest.raises(InputError, match=f"{file}: .*{complaint}"):
        load(file)


def test_an_unknown_context_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'there is no such context \(got "x"\); use one of: here'):
        load(kubeconfig(tmp_path), context="x")


def test_a_context_with_an_unknown_cluster_is_named(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path)
    file.write_text(file.read_text().replace('"name": "this"', '"name": "that"'))
    with pytest.raises(InputError, match=r"contexts\[0\]\.context\.cluster: names a cluster that is not there"):
        load(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: cannot be read: No such file or directory"):
        load(tmp_path / "nowhere")


def test_a_file_that_is_not_yaml_is_named(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("clusters: [")
    with pytest.raises(InputError, match="config, line 1: is not YAML"):
        load(tmp_path / "config")


def test_a_pod_finds_the_cluster_around_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    (tmp_path / "ca.crt").write_bytes(b"authority")
    (tmp_path / "namespace").write_text("kube-system")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert is_in_cluster(environment, tmp_path)
    connection = in_cluster_connection(environment, tmp_path)
    assert connection.server == "https://[fd00::1]:443"
    assert connection.tls.authority == b"authority"
    assert dict(run(connection.credentials.current()).headers) == {"Authorization": "Bearer secret"}
    assert in_cluster_namespace(tmp_path) == "kube-system"


def test_elsewhere_there_is_no_cluster_around(tmp_path: Path) -> None:
    assert not is_in_cluster({}, tmp_path)
