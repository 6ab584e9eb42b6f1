# SPDX-License-Identifier: Apache-2.0
"""The functions that expressions may call, one module per subject; `steersman.cel.environment` puts them together."""

__all__: list[str] = []
