# SPDX-License-Identifier: Apache-2.0
"""The reference has everything that the code has, and names nothing that it has not."""

from __future__ import annotations

import re

from scripts.command_tree import command_entries
from scripts.lockfile import ROOT
from scripts.site.annotation_page import ANNOTATIONS
from scripts.site.api_page import PLUGIN_CONTRACT, contract_page, field_texts, harness_page, library_page, objects_page
from scripts.site.command_page import command_page
from scripts.site.configuration_page import configuration_page, fields
from scripts.site.markdown import cell
from scripts.site.metrics_page import metric_entries, metrics_page

import steersman
from steersman import framework, testing
from steersman.config.deviations import FIELD_DEVIATIONS
from steersman.scheduler.runtime.registry import POINT_OF_CLASS
from steersman.simulation import Placement
from steersman.simulation.inputs.intake import PROVISIONER


def test_every_command_has_a_section_with_its_options() -> None:
    page = command_page()
    for command in command_entries()[1:]:
        assert f" `{command.path}`\n" in page
        for option in command.options:
            assert option.usage.split(",")[-1].split()[0] in page


def test_every_field_of_the_configuration_is_there_with_its_default() -> None:
    page = configuration_page()
    assert "| `leaderElection.leaseDuration` | duration | `15s` |" in page
    assert "| `profiles[].schedulerName` | string | `default-scheduler` |" in page
    assert "| `podMaxBackoffSeconds` | integer | `10` |" in page
    assert '"kind": "NodeResourcesFitArgs"' in page


def test_gates_that_do_something_else_say_so() -> None:
    line = next(line for line in configuration_page().splitlines() if line.startswith("| `GenericWorkload` |"))
    assert "`true` is refused up to v1.36: pod groups are scheduled as in v1.37 and later." in line


def test_deviations_are_about_fields_that_exist() -> None:
    assert set(FIELD_DEVIATIONS) <= {path for path, _, _ in fields()}


def test_every_metric_in_the_code_is_in_the_reference() -> None:
    declared = set()
    for file in (ROOT / "src" / "steersman" / "observe").glob("*.py"):
        text = file.read_text(encoding="utf-8")
        declared |= set(re.findall(r'"((?:scheduler|steersman|rest_client|leader_election|kubernetes)_\w+)"', text))
    named = {entry.name for entry in metric_entries()}
    assert "scheduler_schedule_attempts_total" in named
    assert {name for name in declared if f"{name}_total" not in named} - named == set()
    attempts = next(entry for entry in metric_entries() if entry.name == "scheduler_schedule_attempts_total")
    assert (attempts.kind, attempts.labels) == ("counter", ("result", "profile"))
    assert attempts.text.replace("|", "\\|") in metrics_page()


def test_every_public_name_is_in_the_reference() -> None:
    for names, page in (
        (steersman.__all__, library_page()),
        (PLUGIN_CONTRACT, contract_page()),
        (testing.__all__, harness_page()),
    ):
        assert [name for name in names if f"# `{name}`" not in page] == []


def test_every_event_and_action_of_the_contract_is_listed() -> None:
    page = contract_page()
    resources = [name for name in vars(framework.EventResource) if name.isupper()]
    assert "POD" in resources
    for member in (*framework.ActionType.__members__, *resources):
        assert f"| `{member}` |" in page


def test_fields_come_with_their_comments() -> None:
    assert field_texts(Placement)["since"] == (
        "float | None",
        "When a pending pod first failed to schedule, was created without an attempt, or lost its node.",
    )


def test_every_annotation_in_the_code_is_in_the_reference() -> None:
    sources = (ROOT / "src" / "steersman").rglob("*.py")
    used = {
        name for file in sources for name in re.findall(r'"(steersman\.dev/[\w.-]+)"', file.read_text(encoding="utf-8"))
    }
    # Those of settings of pods are made of the names of fields, and neither versions of documents nor the
    # provisioner of assumed storage classes are annotations.
    versions = {name for name in used if re.fullmatch(r"steersman\.dev/v\d\w*", name)}
    assert used - versions - {PROVISIONER} <= {name for name, *_ in ANNOTATIONS}


def test_methods_of_extension_points_are_shown_with_their_signatures() -> None:
    page = contract_page()
    assert "def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> RejectionAnswer\n" in page
    assert "def filter(self, pod: PodInfo, node: NodeInfo) -> RejectionAnswer\n" in page
    assert "async def bind(self, pod: PodInfo, node_name: str) -> StatusAnswer\n" in page
    assert "def remove_pod(self, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> RejectionAnswer\n" in page
    assert "async def refresh(self) -> bool | None\n" in page
    for base in POINT_OF_CLASS:
        assert all(f"def {method}(self" in page for method in base.__annotations__ if method[0] != "_"), base
    assert "*args" not in page
    assert not re.search(r"\| `_\w+`", page), "a type that only the source explains"


def test_bars_in_code_of_tables_are_written_without_a_backslash() -> None:
    assert cell("`bool | None` or | that") == "<code>bool &#124; None</code> or \\| that"
    assert not re.search(r"`[^`\n]*\\\|[^`\n]*`", contract_page() + library_page() + harness_page())


def test_what_plugins_write_and_vector_forms_read_is_in_the_reference() -> None:
    page = contract_page()
    for name in ("delete_pod", "report_preempted", "patch_pod_status", "score_kernel", "normalized", "label_values"):
        assert f" `{name}`" in page
    for name in ("FilterKernel", "ScoreKernel", "ClusterScoreKernel", "StatusTable", "NodesView"):
        assert f"### `{name}`" in page


def test_objects_and_quantities_are_in_the_reference() -> None:
    page = objects_page()
    assert "milli_value_of: Callable[[Quantity], int]" in page
    assert "from_label_selector(selector: LabelSelector | None) -> Selector" in page
    assert "| `api.Pod` | `v1` |" in page
    assert all(f"## `{name}`" in page for name in ("Object", "custom_kind", "key"))
