# SPDX-License-Identifier: Apache-2.0
"""Ends when serve.py has served."""
import pathlib
import time

while not pathlib.Path("serves").exists():
    time.sleep(0.01)
