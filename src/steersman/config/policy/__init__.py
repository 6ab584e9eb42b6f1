# SPDX-License-Identifier: Apache-2.0
"""The legacy `Policy` API (predicates and priorities), converted to a profile."""

from steersman.config.policy.conversion import PolicyConversion, convert_policy

__all__ = ["PolicyConversion", "convert_policy"]
