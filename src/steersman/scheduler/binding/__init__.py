# SPDX-License-Identifier: Apache-2.0
"""From the decision to the bound pod: permission, PreBind, Bind, PostBind; and the cleanup if one
of them fails."""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "cycle": "MAX_CONCURRENT_BINDINGS BindingCycle BindingParts",
    },
)
