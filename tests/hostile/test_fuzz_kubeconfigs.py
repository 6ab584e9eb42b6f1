# SPDX-License-Identifier: Apache-2.0
"""Whatever a kubeconfig holds, it leads to a cluster or is refused with file and field, and nothing slips into a header."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from tests.equivalence.examples import examples
from tests.hostile.json_values import DEEP, LONG, TEXTS, VALUES, damaged

from steersman.base.errors import InputError, SteersmanError
from steersman.kube.client import ClusterChoice, Connection, connect, http_transport
from steersman.kube.client.auth.credentials import is_header_value

NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
BROKEN_TEXTS = st.one_of(
    TEXTS, st.sampled_from(["a\r\nX-Evil: 1", "a\nb", "tab\tbed", "\x7f", "Grüße", "a" * 300, "\x00", "%41", "日本"])
)
PROGRAM = st.fixed_dictionaries(
    {"command": st.sampled_from(["/nowhere/at/all", "", "a\x00b"])},
    optional={"apiVersion": BROKEN_TEXTS, "args": VALUES, "env": VALUES, "interactiveMode": BROKEN_TEXTS},
)
ISSUER = st.fixed_dictionaries(
    {"name": st.sampled_from(["oidc", "azure"])},
    optional={"config": st.dictionaries(st.sampled_from(["idp-issuer-url", "client-id", "id-token"]), BROKEN_TEXTS)},
)
SECRETS = ["token", "username", "password", "as", "as-uid", "client-certificate-data", "client-key-data"]
USERS: st.SearchStrategy[Any] = st.one_of(
    VALUES,
    st.fixed_dictionaries({}, optional=dict.fromkeys(SECRETS, BROKEN_TEXTS)),
    st.fixed_dictionaries(
        {"as": BROKEN_TEXTS},
        optional={
            "as-groups": st.lists(BROKEN_TEXTS, max_size=2),
            "as-user-extra": st.dictionaries(BROKEN_TEXTS, st.lists(BROKEN_TEXTS, max_size=2), max_size=2),
        },
    ),
    st.fixed_dictionaries({"exec": st.one_of(VALUES, PROGRAM)}),
    st.fixed_dictionaries({"auth-provider": st.one_of(VALUES, ISSUER)}),
)
SERVERS = st.one_of(
    BROKEN_TEXTS,
    st.sampled_from(
        [
            "https://127.0.0.1:9",
            "http://[::1",
            "https://h:99999",
            "http://u:p@h",
            "http://h h/",
            "http://h\r\nX: y/",
            "ftp://h",
            "https://" + "a" * 300,
            "http://\x00",
            "//h",
            "http://[::1]:80/a b",
            "https://ü.example",
        ]
    ),
)
CLUSTERS: st.SearchStrategy[Any] = st.one_of(
    VALUES,
    st.fixed_dictionaries(
        {"server": SERVERS},
        optional={
            "proxy-url": SERVERS,
            "tls-server-name": BROKEN_TEXTS,
            "certificate-authority-data": BROKEN_TEXTS,
            "certificate-authority": st.sampled_from(["/nowhere", "/dev/zero", ".", "a\x00b"]),
            "insecure-skip-tls-verify": st.booleans(),
        },
    ),
)


@st.composite
def kubeconfigs(draw: st.DrawFn) -> Any:
    contexts = st.one_of(VALUES, st.just({"cluster": "c", "user": "u"}), st.just({"cluster": "c", "user": "u"}))
    return {
        "current-context": draw(st.one_of(st.just("x"), VALUES)),
        "contexts": draw(st.one_of(st.just([{"name": "x", "context": draw(contexts)}]), VALUES)),
        "clusters": draw(st.one_of(st.just([{"name": "c", "cluster": draw(CLUSTERS)}]), VALUES)),
        "users": draw(st.one_of(st.just([{"name": "u", "user": draw(USERS)}]), VALUES)),
    }


def used(text: bytes) -> None:
    """Connects by the file, as far as that goes without a network."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config")
        file.write_bytes(text)
        found = connected(file)
        if isinstance(found, str):
            assert str(file) in found
        else:
            asyncio.run(_looked_at(found))


def connected(file: Path) -> Connection | str:
    """The connection, or why there is none."""
    try:
        return connect(ClusterChoice(str(file)), {}).connection
    except InputError as refused:
        return str(refused)


async def _looked_at(connection: Connection) -> None:
    with suppress(SteersmanError):
        credential = await connection.credentials.current()
        assert all(NAME.fullmatch(name) and is_header_value(value) for name, value in credential.headers)
    async with http_transport(connection) as transport:
        assert transport.server


def whole(**parts: Any) -> bytes:
    document = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9", **parts.pop("cluster", {})}}],
        "users": [{"name": "u", "user": parts}],
    }
    return json.dumps(document).encode()


@examples(150)
@given(damaged(kubeconfigs()))
@example(whole(token="a\r\nX-Evil: 1"))
@example(whole(**{"as": "me", "as-user-extra": {"a/b c\r\n": ["x"]}}))
@example(whole(cluster={"certificate-authority": "/dev/zero"}))
@example(whole(cluster={"server": "http://h\r\nX: y/"}))
@example(whole(cluster={"certificate-authority-data": "ü"}))
@example(f"users: {LONG}".encode())
@example(f"users: {DEEP}".encode())
@example(b"[" * 200_000)
@example(b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(b"k%d: &%d [*a,*a,*a,*a,*a]\n" % (n, n) for n in range(300)))
def test_a_kubeconfig_is_usable_or_refused(text: bytes) -> None:
    used(text)


def test_keys_of_extra_fields_are_escaped_as_client_go_does_it(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(whole(**{"as": "me", "as-user-extra": {"example.com/Scope%ü": ["a", "b"]}}))
    credentials = connect(ClusterChoice(str(file)), {}).connection.credentials
    assert asyncio.run(credentials.current()).headers == (
        ("Impersonate-User", "me"),
        ("Impersonate-Extra-example.com%2FScope%25%C3%BC", "a"),
        ("Impersonate-Extra-example.com%2FScope%25%C3%BC", "b"),
    )


@pytest.mark.parametrize(
    ("user", "field"),
    [
        ({"token": "a\nb"}, "users[0].user.token"),
        ({"as": "a\rb"}, "users[0].user.as"),
        ({"as": "a", "as-uid": "\x00"}, "users[0].user.as-uid"),
        ({"as": "a", "as-groups": ["x", "y\n"]}, "users[0].user.as-groups[1]"),
        ({"as": "a", "as-user-extra": {"k": ["v\r\nX: y"]}}, "users[0].user.as-user-extra[k]"),
        ({"as-groups": ["x"]}, "users[0].user.as"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_field(tmp_path: Path, user: dict[str, Any], field: str) -> None:
    file = tmp_path / "config"
    file.write_bytes(whole(**user))
    with pytest.raises(InputError, match=re.escape(f"{file}: {field}: ")):
        connect(ClusterChoice(str(file)), {})


def test_a_password_in_an_address_is_refused_and_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(whole(cluster={"server": "https://me:hunter2@host"}))
    with pytest.raises(InputError, match=r"clusters\[0\]\.cluster\.server: holds a name or password") as refused:
        connect(ClusterChoice(str(file)), {})
    assert "hunter2" not in str(refused.value)


def test_names_and_passwords_with_line_ends_go_in_base64(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(whole(username="a\r\nb", password="c:d"))
    headers = asyncio.run(connect(ClusterChoice(str(file)), {}).connection.credentials.current()).headers
    assert headers == (("Authorization", "Basic " + base64.b64encode(b"a\r\nb:c:d").decode()),)
