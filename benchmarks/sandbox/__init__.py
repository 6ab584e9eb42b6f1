# SPDX-License-Identifier: Apache-2.0
"""A Deployment that grows on a sandbox while clients watch: how long it takes, and whether anybody missed anything."""
