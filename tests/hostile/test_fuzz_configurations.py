# SPDX-License-Identifier: Apache-2.0
"""Whatever a configuration file holds, it is a configuration, which prints and reads back as itself, or a ConfigError."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import example, given, strategies as st
from tests.equivalence.examples import examples
from tests.hostile.json_values import DEEP, LONG, TEXTS, VALUES, damaged, nearly

from steersman import config
from steersman.base.redaction import HIDDEN_DATA
from steersman.config import ConfigError, SchedulerConfiguration, dump_public_yaml, dump_yaml, load, public_document

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
PLUGIN_SETS = nearly(["enabled", "disabled"], st.lists(nearly(["name", "weight"]), max_size=2))
PROFILES = nearly(
    ["schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"],
    st.one_of(
        VALUES, nearly(["score", "filter", "multiPoint"], PLUGIN_SETS), st.lists(nearly(["name", "args"]), max_size=2)
    ),
)
EXTENDERS = st.one_of(
    nearly(["urlPrefix", "filterVerb", "weight", "httpTimeout", "tlsConfig", "managedResources"]),
    st.fixed_dictionaries(
        {"urlPrefix": st.sampled_from(["http://a", "https://me:hunter2@a", ""]), "filterVerb": st.just("f")},
        optional={"weight": st.integers(-1, 5), "httpTimeout": st.one_of(TEXTS, st.sampled_from(["1s", f"{LONG}s"]))},
    ),
)
DOCUMENTS: st.SearchStrategy[Any] = st.one_of(
    VALUES,
    st.fixed_dictionaries(
        {name: st.just(value) for name, value in HEADER.items()},
        optional={
            "parallelism": VALUES,
            "percentageOfNodesToScore": VALUES,
            "podMaxBackoffSeconds": VALUES,
            "leaderElection": st.one_of(VALUES, nearly(["leaderElect", "leaseDuration", "resourceName"])),
            "clientConnection": st.one_of(VALUES, nearly(["qps", "burst", "kubeconfig"])),
            "profiles": st.one_of(VALUES, st.lists(PROFILES, max_size=2)),
            "extenders": st.one_of(VALUES, st.lists(EXTENDERS, max_size=2)),
        },
    ),
)
YAML_HEADER = yaml.safe_dump(HEADER)


def loaded(text: str) -> SchedulerConfiguration | list[str]:
    """The configuration, or what is wrong with it."""
    try:
        return load(text, "file")
    except ConfigError as refused:
        return list(refused.lines)


def read(text: str) -> None:
    found = loaded(text)
    if isinstance(found, list):
        assert all(found)
        return
    assert load(dump_yaml(found)) == found
    assert "hunter2" not in dump_public_yaml(found)
    config.diff(found, config.default_configuration())


@examples(100)
@given(damaged(DOCUMENTS))
@example(f'{{"apiVersion": "kubescheduler.config.k8s.io/v1", "parallelism": {LONG}}}'.encode())
def test_json_is_a_configuration_or_refused(text: bytes) -> None:
    read(text.decode("utf-8", "replace"))


@examples(100)
@given(DOCUMENTS, st.booleans())
def test_yaml_is_a_configuration_or_refused(document: Any, flow: bool) -> None:
    read(yaml.safe_dump(document, default_flow_style=flow, allow_unicode=True))


@given(st.text(max_size=60))
@example(f"parallelism: {LONG}\n")
@example(f"parallelism: 0x{'f' * 6000}\n")
@example(f"leaderElection: {{leaseDuration: {LONG}s}}\n")
@example(f"x: {DEEP}\n")
@example("x: " + "[" * 200_000)
@example("a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n")
@example("profiles: &p\n- *p\n")
@example("<<: 5\n")
@example("\x00")
@example("x: \u202e\n")
def test_any_text_is_a_configuration_or_refused(text: str) -> None:
    read(text)
    read(YAML_HEADER + text)


def test_secrets_of_extenders_are_in_no_public_document() -> None:
    text = YAML_HEADER + (
        "extenders: [{urlPrefix: 'https://me:hunter2@host/x', filterVerb: f, weight: 1,"
        " tlsConfig: {certData: c2VjcmV0, keyData: c2VjcmV0, caData: YQ==}}]\n"
    )
    found = config.load_unvalidated(text)
    extenders = public_document(found)["extenders"]
    assert isinstance(extenders, list)
    [extender] = extenders
    assert extender["urlPrefix"] == "https://me:***@host/x"  # type: ignore[index, call-overload]
    assert extender["tlsConfig"] == {"certData": HIDDEN_DATA, "keyData": HIDDEN_DATA, "caData": "YQ=="}  # type: ignore[index, call-overload]
    assert dump_public_yaml(found).startswith("# Secrets are hidden")
    assert dump_public_yaml(config.default_configuration()) == dump_yaml(config.default_configuration())
    assert "c2VjcmV0" in dump_yaml(found)


def test_a_difference_in_secrets_is_told_without_them() -> None:
    extender = "extenders: [{urlPrefix: http://h, filterVerb: f, weight: 1, tlsConfig: {keyData: %s}}]\n"
    before, after = (config.load_unvalidated(YAML_HEADER + extender % key) for key in ("YWJj", "ZGVm"))
    [change] = config.diff(before, after)
    assert str(change) == f"extenders[http://h].tlsConfig.keyData: {HIDDEN_DATA} -> {HIDDEN_DATA}"
