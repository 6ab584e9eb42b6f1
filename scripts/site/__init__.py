# SPDX-License-Identifier: Apache-2.0
"""The documentation site: pages of docs/ and of the root, and a reference that is written from the code."""
