# SPDX-License-Identifier: Apache-2.0
"""From the decision to the bound pod: permission, PreBind, Bind, PostBind; and the cleanup if one
of them fails."""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.scheduler.binding.cycle import (
        BINDINGS_AT_ONCE as BINDINGS_AT_ONCE,
        BindingCycle as BindingCycle,
        BindingParts as BindingParts,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "cycle": "BINDINGS_AT_ONCE BindingCycle BindingParts",
        },
    )
