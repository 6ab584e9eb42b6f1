# SPDX-License-Identifier: Apache-2.0
"""Function libraries, one module per subject; `steersman.api.cel.environment` merges them."""

__all__: list[str] = []
