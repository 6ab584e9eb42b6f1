# SPDX-License-Identifier: Apache-2.0
"""Names of fields in another case."""

from __future__ import annotations

from steersman import api
from steersman.testing.bench.templates import with_exact_names


def test_fields_are_found_whatever_their_case_at_any_depth() -> None:
    document = {"Spec": {"topologySpreadConstraints": [{"maxSkew": 1, "NodeTaintsPolicy": "Honor"}]}}
    assert with_exact_names(document, api.Pod) == {
        "spec": {"topologySpreadConstraints": [{"maxSkew": 1, "nodeTaintsPolicy": "Honor"}]}
    }


def test_keys_of_maps_and_unknown_fields_stay_as_they_are() -> None:
    document = {"metadata": {"labels": {"Name": "x"}, "unheardOf": 1}, "status": None}
    assert with_exact_names(document, api.Pod) == document


def test_values_of_another_type_are_left_for_the_decoder_to_refuse() -> None:
    assert with_exact_names({"spec": "nothing"}, api.Pod) == {"spec": "nothing"}
