# SPDX-License-Identifier: Apache-2.0
"""Extenders: validation, call order, timeouts, TLS material, and what the scheduler ignores for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.config.documents import configuration
from tests.config.failures import build_text, validation_texts

from steersman.config import NodeResourcesFitArgs, build, effective_profiles, load


@pytest.mark.parametrize(
    ("extenders", "text"),
    [
        (
            "[{prioritizeVerb: p}]",
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ),
        (
            "[{bindVerb: b}, {bindVerb: b}]",
            'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
        ),
        (
            "[{managedResources: [{name: foo}]}]",
            'extenders[0].managedResources[0].name: Invalid value: "foo": is an invalid extended resource name',
        ),
        (
            "[{managedResources: [{name: a.b/c}]}, {managedResources: [{name: a.b/c}]}]",
            'extenders[1].managedResources[0].name: Invalid value: "a.b/c": duplicate extender managed resource name',
        ),
    ],
)
def test_bad_extenders_are_refused(extenders: str, text: str) -> None:
    assert validation_texts(configuration(f"extenders: {extenders}\n")) == [text]


@pytest.mark.parametrize("name", ["kubernetes.io/x", "requests.a.b/c", "x" * 250 + ".io/c"])
def test_native_and_quota_resources_cannot_be_managed(name: str) -> None:
    assert validation_texts(configuration(f"extenders: [{{managedResources: [{{name: {name}}}]}}]\n"))


def test_ignorable_extenders_are_called_last() -> None:
    body = "extenders: [{urlPrefix: a, ignorable: true}, {urlPrefix: b}, {urlPrefix: c, ignorable: true}, {urlPrefix: d}]\n"
    assert [extender.url_prefix for extender in build(load(configuration(body))).extenders] == ["b", "d", "a", "c"]


def test_no_timeout_means_five_seconds() -> None:
    body = "extenders: [{urlPrefix: a}, {httpTimeout: 0s}, {httpTimeout: 1m}, {httpTimeout: -1s}]\n"
    assert list(map(str, build(load(configuration(body))).extender_timeouts)) == ["5s", "5s", "1m0s", "-1s"]


def test_resources_that_extenders_take_over_are_ignored_by_the_fit_plugin() -> None:
    config = load(
        configuration("""
            extenders:
            - managedResources: [{name: a.b/c, ignoredByScheduler: true}, {name: a.b/d}]
            profiles:
            - pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [e.f/g]}}]
        """)
    )
    (profile,) = effective_profiles(config)
    args = profile.args["NodeResourcesFit"]
    assert isinstance(args, NodeResourcesFitArgs)
    assert args.ignored_resources == ("a.b/c",)


def test_resources_cannot_be_ignored_without_the_fit_plugin() -> None:
    body = """
        extenders: [{managedResources: [{name: a.b/c, ignoredByScheduler: true}]}]
        profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]
    """
    text = "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"
    assert build_text(configuration(body)) == text


@pytest.mark.parametrize(
    ("tls", "text"),
    [
        (
            "{insecure: true, caData: YWJj}",
            "specifying a root certificates file with the insecure flag is not allowed",
        ),
        ("{certData: YWJj, keyData: YWJj}", "tls: failed to find any PEM data in certificate input"),
        ("{caData: YWJj}", "unable to load root certificates: unable to parse bytes as PEM block"),
        ("{caFile: /does/not/exist}", "open /does/not/exist: no such file or directory"),
    ],
)
def test_bad_tls_material_is_found_when_building(tls: str, text: str) -> None:
    assert build_text(configuration(f"extenders: [{{tlsConfig: {tls}}}]\n")) == f"couldn't build extenders: {text}"


def test_pem_blocks_of_the_wrong_kind_are_distinguished(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("-----BEGIN PRIVATE KEY-----\nYWJj\n-----END PRIVATE KEY-----\n")
    text = build_text(configuration(f"extenders: [{{tlsConfig: {{certFile: {key}, keyData: YWJj}}}}]\n"))
    assert text.endswith("but did find a private key; PEM inputs may have been switched")


def test_a_certificate_without_key_is_not_examined() -> None:
    build(load(configuration("extenders: [{tlsConfig: {certData: YWJj}}]\n")))


def test_effective_profiles_do_not_touch_tls_files() -> None:
    assert effective_profiles(load(configuration("extenders: [{tlsConfig: {caFile: /does/not/exist}}]\n")))
