# SPDX-License-Identifier: Apache-2.0
"""From the decision to the bound pod: permission, PreBind, Bind, PostBind; and the way back when one of them fails."""

from steersman.binding.cycle import BindingCycle, BindingParts

__all__ = ["BindingCycle", "BindingParts"]
