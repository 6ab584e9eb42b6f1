# SPDX-License-Identifier: Apache-2.0
"""Programs that hand out credentials."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.client.kubeconfigs import kubeconfig
from tests.client.serving import run

from steersman.base.clock import ManualClock
from steersman.base.timing import Timing
from steersman.kube.client.auth import Credentials
from steersman.kube.client.auth.exec_plugin import CredentialError
from steersman.kube.client.kubeconfig import ClusterChoice, connect

V1 = "client.authentication.k8s.io/v1"
PROGRAM = """
import json, os, pathlib
calls = pathlib.Path(os.environ["CALLS"])
count = len(calls.read_text().splitlines()) + 1 if calls.exists() else 1
with calls.open("a") as file:
    file.write(os.environ["KUBERNETES_EXEC_INFO"] + "\\n")
status = json.loads(os.environ["STATUS"].replace("COUNT", str(count)))
print(json.dumps({"kind": "ExecCredential", "apiVersion": os.environ["VERSION"], "status": status}))
"""


class World:
    """A kubeconfig with a program that counts its calls."""

    def __init__(self, folder: Path, status: dict[str, Any], **settings: Any) -> None:
        self.clock = ManualClock(1_000_000_000)
        self._calls = folder / "calls"
        (folder / "program.py").write_text(PROGRAM)
        variables = {"CALLS": str(self._calls), "STATUS": json.dumps(status), "VERSION": settings.pop("answers", V1)}
        program = {
            "apiVersion": V1,
            "command": sys.executable,
            "args": [str(folder / "program.py")],
            "env": [{"name": name, "value": value} for name, value in variables.items()],
            **settings,
        }
        self.file = kubeconfig(folder, {"tls-server-name": "api.example"}, user={"exec": program})

    def credentials(self) -> Credentials:
        return connect(ClusterChoice(str(self.file)), {}, Timing(self.clock)).connection.credentials

    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._calls.read_text().splitlines()]


def test_a_token_is_kept_until_it_expires(tmp_path: Path) -> None:
    world = World(tmp_path, {"token": "t-COUNT", "expirationTimestamp": "2001-09-09T01:47:00Z"})

    async def scenario() -> list[str]:
        credentials = world.credentials()
        seen = [(await credentials.current()).headers[0][1] for _ in range(2)]
        world.clock.set(1_000_000_020)
        seen.append((await credentials.current()).headers[0][1])
        return seen

    assert run(scenario()) == ["Bearer t-1", "Bearer t-1", "Bearer t-2"]


def test_a_token_without_an_end_is_kept_until_it_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path, {"token": "t-COUNT"})

    async def scenario() -> None:
        credentials = world.credentials()
        shown = await credentials.current()
        world.clock.advance(1e6)
        assert await credentials.current() == shown
        assert await credentials.refused(shown)
        renewed = await credentials.current()
        assert renewed.headers == (("Authorization", "Bearer t-2"),)
        assert await credentials.refused(shown), "somebody else has renewed it already"
        assert await credentials.current() == renewed

    run(scenario())
    assert len(world.calls()) == 2


def test_a_program_may_give_a_certificate(tmp_path: Path) -> None:
    world = World(tmp_path, {"clientCertificateData": "certificate", "clientKeyData": "key"})
    certificate = run(world.credentials().current()).certificate
    assert certificate is not None
    assert (certificate.certificate, certificate.key) == (b"certificate", b"key")


def test_the_program_is_told_what_is_wanted(tmp_path: Path) -> None:
    world = World(tmp_path, {"token": "t"}, provideClusterInfo=True)
    run(world.credentials().current())
    told = world.calls()[0]
    assert (told["kind"], told["apiVersion"], told["spec"]["interactive"]) == ("ExecCredential", V1, False)
    assert told["spec"]["cluster"]["server"] == "https://127.0.0.1:6443"
    assert told["spec"]["cluster"]["tls-server-name"] == "api.example"


@pytest.mark.parametrize(
    ("status", "settings", "complaint"),
    [
        ({}, {}, "neither a token nor a certificate"),
        ({"clientKeyData": "key"}, {}, "a key without its certificate"),
        ({"token": "t"}, {"answers": "v2"}, "printed v2 ExecCredential, not client.authentication.k8s.io/v1"),
        ({"token": "t"}, {"args": ["-c", "import sys; sys.exit('no luck')"]}, "failed with exit code 1: no luck"),
        ({"token": "t"}, {"args": ["-c", "print('hello')"]}, "printed no ExecCredential"),
        ({"token": "t"}, {"command": "./nowhere", "installHint": "install it"}, "cannot be run: .*; install it"),
    ],
)
def test_what_goes_wrong_is_reported(
    tmp_path: Path, status: dict[str, Any], settings: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(CredentialError, match=complaint):
        run(World(tmp_path, status, **settings).credentials().current())


@pytest.mark.parametrize(
    ("printed", "complaint"),
    [
        ("'\\xff'", "printed no ExecCredential"),
        ("'[' * 100000", "printed no ExecCredential"),
        ("'<html>'", "printed no ExecCredential"),
        ("'x' * (2 << 20)", "printed more than 1048576 bytes"),
        (
            json.dumps(f'{{"kind":"ExecCredential","apiVersion":"{V1}","status":{{"token":"a\\nb"}}}}'),
            "holds a line end",
        ),
        (
            json.dumps(
                f'{{"kind":"ExecCredential","apiVersion":"{V1}","status":{{"token":"a","expirationTimestamp":"soon"}}}}'
            ),
            "printed an expirationTimestamp that is not a time",
        ),
    ],
)
def test_nonsense_of_a_program_is_an_error_with_its_name(tmp_path: Path, printed: str, complaint: str) -> None:
    program = {"apiVersion": V1, "command": sys.executable, "args": ["-c", f"print({printed})"]}
    file = kubeconfig(tmp_path, user={"exec": program})
    credentials = connect(ClusterChoice(str(file)), {}).connection.credentials
    with pytest.raises(CredentialError, match=complaint) as failed:
        run(credentials.current())
    assert str(failed.value).startswith(f"the credential program {sys.executable} ")
    assert "\n" not in str(failed.value)
