# SPDX-License-Identifier: Apache-2.0
"""The scheduler's picture of the cluster. The only package that owns arrays."""
