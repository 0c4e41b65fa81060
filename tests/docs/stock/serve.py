# SPDX-License-Identifier: Apache-2.0
"""The server of the documentation: serves until it is ended, and leaves a file when it has begun."""
import pathlib

import train

while True:
    train.train_step()
    train.show_loss()
    pathlib.Path("serves").touch()
