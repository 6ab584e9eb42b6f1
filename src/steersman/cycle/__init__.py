# SPDX-License-Identifier: Apache-2.0
"""One scheduling cycle, without any I/O: filter all nodes, score them, choose, assume, or say why not."""
