# SPDX-License-Identifier: Apache-2.0
"""The in-tree plugins: one module each, the large ones a folder. Mutually independent; `in_tree` lists them."""
