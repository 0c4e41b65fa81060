# SPDX-License-Identifier: Apache-2.0
"""Runs the command lines of the documentation that are marked `run` (tests/support/doc_blocks.py), as they stand on the page.

  run_blocks.py ROOT BUILD [PAGE]...    all pages, or those; -v: with what each block prints
  run_blocks.py ROOT --list             what is run where, and what is not run and why

The blocks of a page share a folder, in which what they name is there: train.py and ./train (stock/), train.synctrace and other
recordings of it. So are the build and the sources, under the names that a fresh clone has. CUDA is the simulated GPU. torchrun, srun
and mpirun are stand-ins (stand_ins/). Exit status 1 when a block failed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import yaml
except ImportError:
    yaml = None

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import doc_blocks  # noqa: E402

PATIENCE_S = 300  # so that a hang fails
LAUNCHERS = ("torchrun", "srun", "mpirun")
FOREIGN = ("SYNCTRACE_", "CUDA_INJECTION", "NVTX_INJECTION", "LD_", "PYTHON", "PIP_", "RANK", "WORLD_SIZE", "SLURM_", "OMPI_")
MADE = re.compile(r"(?<=-o )([\w.-]+)")
TRACE = re.compile(r"\b[\w.-]+\.synctrace\b")


def python_with_pytest():
    """This interpreter or the system's, for which packages of the distribution are."""
    candidates = [python for python in (sys.executable, "/usr/bin/python3") if os.path.exists(python)]
    has_it = [python for python in candidates if subprocess.run([python, "-c", "import pytest"], stderr=subprocess.DEVNULL, check=False).returncode == 0]
    return (has_it or candidates)[0]


class Workshop:
    """Where blocks run. What it has on PATH, in the environment and in a page's folder a subclass may change."""

    def __init__(self, root, build, folder):
        self.root, self.build, self.folder = pathlib.Path(root).resolve(), pathlib.Path(build).resolve(), pathlib.Path(folder)
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        for name in LAUNCHERS:
            shutil.copy(HERE / "stand_ins/torchrun", self.programs / name)
        for name in ("python", "python3"):
            (self.programs / name).symlink_to(python_with_pytest())
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        self.environment = {
            **kept,
            "PATH": f"{self.programs}:{self.build / 'bin'}:{kept['PATH']}",
            "LD_LIBRARY_PATH": str(self.build / "simgpu"),
            "PROGRAMS_DIR": str(self.build / "tests/bin"),
            "HOME": str(self.folder),
            "PYTHONPATH": str(self.root / "libsynctrace/python"),  # what the wheel installs
            "PYTEST_PLUGINS": "synctrace",
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_COUNT": "0",
            **({"CUDAToolkit_ROOT": kept["CUDA_HOME"]} if "CUDA_HOME" in kept else {}),  # where CMake looks for it
        }
        self.recording = self.folder / "train.synctrace"

    def page(self, name, blocks):
        """The folder for the blocks of a page. pytest would look for tests in all that is there, so folders are there that they name."""
        folder = self.folder / name.replace("/", "_")
        folder.mkdir()
        for each in ("examples", "tests"):
            if any(f"{each}/" in block.commands for block in blocks):
                (folder / each).symlink_to(self.root / each)
        (folder / "build").mkdir()
        (folder / "build/release").symlink_to(self.build)
        shutil.copytree(HERE / "stock", folder, dirs_exist_ok=True)
        if not shutil.which("git"):
            return folder
        identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
        for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run(["git", *words], cwd=folder, env=self.environment, check=True)
        return folder

    def run(self, folder, text):
        return subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)

    def stored_recording(self, folder):
        if not self.recording.exists():
            done = self.run(folder, f"synctrace run --quiet --report=none -o {self.recording} -- python3 train.py")
            assert done.returncode == 0, done.stdout
        return self.recording

    def supply(self, folder, text, made):
        """The recordings that a block reads and no block of the page makes."""
        for name in set(TRACE.findall(text)) - made:
            if not (folder / name).exists():
                shutil.copy(self.stored_recording(folder), folder / name)
        if re.search(r"\brun/ ", text):
            (folder / "run").mkdir(exist_ok=True)
            shutil.copy(self.stored_recording(folder), folder / "run")
        if "train.pt.trace.json" in text:
            shutil.copy(self.root / "tests/golden/import/kineto_small.json", folder / "train.pt.trace.json")


def made_by(text):
    """The recordings that the commands of a block make under names of their own."""
    return {name.removesuffix(".synctrace") + ".synctrace" for name in MADE.findall(text)}


def run_page(workshop, page, is_wanted, verbose=False):
    """How many of the wanted blocks failed."""
    failed = 0
    blocks = [block for block in doc_blocks.blocks(workshop.root, page) if is_wanted(block) or block.file]
    if all(block.file for block in blocks):
        return 0
    folder = workshop.page(page, blocks)
    for block in blocks:
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text, encoding="utf-8")
            continue
        if block.missing_program:
            print(f"skipped         {block.place}: no {block.missing_program} here")
            continue
        workshop.supply(folder, block.commands, made_by(block.commands))
        start = time.monotonic()
        done = workshop.run(folder, block.commands)
        print(f"{'ok    ' if done.returncode == 0 else 'FAILED'}  {time.monotonic() - start:6.1f} s  {block.place}", flush=True)
        failed += done.returncode != 0
        if done.returncode != 0 or verbose:
            print(f"{block.commands}\nended with status {done.returncode}:\n{done.stdout}")
    return failed


def parse_yaml(root, pages):
    """How many blocks of YAML are none."""
    failed = 0
    for block in (block for page in pages for block in doc_blocks.blocks(root, page) if block.language == "yaml"):
        if yaml is None:
            print(f"skipped         {block.place}: Python has no yaml here, so nobody parsed it")
            continue
        try:
            yaml.safe_load(block.text)
        except yaml.YAMLError as problem:
            failed += 1
            print(f"FAILED          {block.place}: {problem}")
    return failed


def run_pages(workshop, pages, is_wanted, verbose=False):
    """The exit status."""
    start = time.monotonic()
    pages = pages or doc_blocks.pages(workshop.root)
    failed = sum(run_page(workshop, page, is_wanted, verbose) for page in pages) + parse_yaml(workshop.root, pages)
    print(f"{time.monotonic() - start:.0f} s, {failed} failed")
    return 1 if failed else 0


def show(root):
    for block in doc_blocks.all_blocks(root):
        if block.is_run or block.needs:
            first = block.commands.strip().partition("\n")[0]
            print(f"{block.needs or 'run':10} {block.place}: {block.reason or first}")


def main(arguments):
    verbose = "-v" in arguments
    arguments = [each for each in arguments if each != "-v"]
    root = pathlib.Path(arguments[0]).resolve()
    if arguments[1] == "--list":
        return show(root)
    with tempfile.TemporaryDirectory(prefix="synctrace-docs-") as folder:
        return run_pages(Workshop(root, arguments[1], folder), arguments[2:], lambda block: block.is_run, verbose)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
