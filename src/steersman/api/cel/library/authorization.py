# SPDX-License-Identifier: Apache-2.0
"""Authorization functions, which upstream declares for admission rules.

Declared only for equal checker messages: device selectors have no authorizer to call them on.
"""

from __future__ import annotations

from typing import Final

from steersman.api.cel.declarations import function, overload
from steersman.api.cel.errors import no_such_overload
from steersman.api.cel.values import Value


def _unreachable(*args: Value) -> Value:
    raise no_such_overload()


FUNCTIONS: Final = (
    function("path", overload("authorizer_path", "Authorizer.(string) -> PathCheck", _unreachable)),
    function("group", overload("authorizer_group", "Authorizer.(string) -> GroupCheck", _unreachable)),
    function(
        "serviceAccount",
        overload("authorizer_serviceaccount", "Authorizer.(string, string) -> Authorizer", _unreachable),
    ),
    function("resource", overload("groupcheck_resource", "GroupCheck.(string) -> ResourceCheck", _unreachable)),
    function(
        "subresource", overload("resourcecheck_subresource", "ResourceCheck.(string) -> ResourceCheck", _unreachable)
    ),
    function("namespace", overload("resourcecheck_namespace", "ResourceCheck.(string) -> ResourceCheck", _unreachable)),
    function("name", overload("resourcecheck_name", "ResourceCheck.(string) -> ResourceCheck", _unreachable)),
    function(
        "fieldSelector", overload("authorizer_fieldselector", "ResourceCheck.(string) -> ResourceCheck", _unreachable)
    ),
    function(
        "labelSelector", overload("authorizer_labelselector", "ResourceCheck.(string) -> ResourceCheck", _unreachable)
    ),
    function(
        "check",
        overload("pathcheck_check", "PathCheck.(string) -> Decision", _unreachable),
        overload("resourcecheck_check", "ResourceCheck.(string) -> Decision", _unreachable),
    ),
    function("errored", overload("decision_errored", "Decision.() -> bool", _unreachable)),
    function("error", overload("decision_error", "Decision.() -> string", _unreachable)),
    function("allowed", overload("decision_allowed", "Decision.() -> bool", _unreachable)),
    function("reason", overload("decision_reason", "Decision.() -> string", _unreachable)),
)
