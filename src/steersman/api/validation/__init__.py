# SPDX-License-Identifier: Apache-2.0
"""Validation of JSON documents of built-in kinds (upstream: `pkg/apis/*/validation`).

The sandbox's API server and all commands that read files (`simulate`, `plan`, `sandbox -f`) use it.
Input: a document with valid types (`api.object_check`, `api.strict_decoding`) and with defaults.
Output: field errors with upstream's path, reason and message, in upstream's order.

Read `field_errors` (the result), `kind_rules` (rules of a kind), `checks` (checks of one field),
then any module of kinds: each ends with a table `RULES`. `well_typed` drops values of a wrong type.
"""

from steersman.api.validation.well_typed import well_typed as well_typed
from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "checks": (
            "Check dns1035_label dns1123_label dns1123_subdomain immutable label_value one_of "
            "optional qualified_name required"
        ),
        "field_errors": "FieldError go_struct shown",
        "metadata": "validate_metadata with_metadata_errors",
        "object_rules": "MODULES RULES validate validate_status validate_update",
        "warnings": "find_warnings",
        "well_typed": "well_typed",
    },
)
