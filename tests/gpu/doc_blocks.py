#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command lines of the documentation that are marked as needing a GPU (tests/support/doc_blocks.py), as they stand on the page.

  doc_blocks.py --build BUILD [PAGE]...    runs them; PyTorch with CUDA is needed
  doc_blocks.py --list                     names them

Exit status 1 when one failed, 77 when there is no PyTorch with CUDA."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/docs")]
import doc_blocks  # noqa: E402
import run_blocks  # noqa: E402

HAS_TORCH = "import torch, sys; sys.exit(not torch.cuda.is_available())"


class RealGpu(run_blocks.Workshop):
    """The driver's GPU and this interpreter, which has PyTorch."""

    def __init__(self, root, build, folder):
        super().__init__(root, build, folder)
        del self.environment["LD_LIBRARY_PATH"]
        self.environment |= {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PYTHONPATH") if name in os.environ}  # where PyTorch is
        for name in ("python", "python3"):
            (self.programs / name).unlink()
            (self.programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")  # a link would leave its virtual environment
            (self.programs / name).chmod(0o755)


def needs_gpu(block):
    return block.needs == "gpu"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("pages", nargs="*")
    options = parser.parse_args()
    if options.list:
        for block in filter(needs_gpu, doc_blocks.all_blocks(ROOT)):
            print(f"{block.place}: {block.text.strip()}")
        return 0
    if subprocess.run([sys.executable, "-c", HAS_TORCH], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("skipped: no PyTorch with CUDA")
        return 77
    with tempfile.TemporaryDirectory(prefix="synctrace-docs-") as folder:
        return run_blocks.run_pages(RealGpu(ROOT, options.build, folder), options.pages, needs_gpu, options.verbose)


if __name__ == "__main__":
    sys.exit(main())
