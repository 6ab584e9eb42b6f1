# SPDX-License-Identifier: Apache-2.0
"""The web page of a large sandbox that changes all the time: frames, tasks, memory, and how fast the matrix opens."""
