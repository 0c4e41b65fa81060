# SPDX-License-Identifier: Apache-2.0
"""Records programs that load and unload libraries (tests/programs/loader), on a GPU or on the simulated one. By hand:

    loader_churn.py --synctrace BIN [--simgpu FOLDER] [--recipe RUNS] [--churn RUNS] [--first-seed N]
    loader_churn.py --make FOLDER [--old]
    loader_churn.py --made FOLDER --enter "chroot ROOT" --folder /tmp ...

--make builds program and libraries and ends, with --old for glibc 2.28 (x86-64); --made takes them from there, for a machine
without a compiler. --enter goes before each command: all paths are then those that the command sees.
"""
import argparse
import dataclasses
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "programs/loader"
PARTS = 200
NEEDED = 80  # by the deep library
PATIENCE_S = 120

# How it is recorded, in turns.
OPTIONS = (
    (),
    ("--level", "syncs"),
    ("--stacks", "native"),
    ("--sample-rate", "1000"),
    ("--duty", "100ms/300ms"),
    ("--stacks", "native", "--sample-rate", "1000", "--level", "timeline"),
    ("--sample-rate", "0"),
    ("--plain-syscalls",),
)

# What the program asks the C library for, with the versions that old ones have.
OLD_GLIBC = {
    "libc.so.6": {"GLIBC_2.2.5": "__libc_start_main __cxa_finalize _exit close dprintf getpid nanosleep open printf pthread_mutex_lock "
                                 "pthread_mutex_unlock puts rand_r read snprintf strcmp strtol unlink usleep write"},
    "libpthread.so.0": {"GLIBC_2.2.5": "pthread_create pthread_join"},
    "libdl.so.2": {"GLIBC_2.2.5": "dlclose dlerror dlopen dlsym", "GLIBC_2.3.4": "dlmopen"},
}


def old_libraries(cc, folder):
    """Flags that link to stubs of an old C library, which are made in `folder`."""
    for name, versions in OLD_GLIBC.items():
        symbols = " ".join(versions.values()).split()
        assembly, script = folder / "stub.s", folder / "stub.map"
        assembly.write_text("".join(f".globl {each}\n.type {each},%function\n{each}:\n" for each in symbols))
        script.write_text("".join(f"{version} {{ {'; '.join(names.split())}; }};\n" for version, names in versions.items()))
        subprocess.run([*cc, "-shared", "-nostdlib", "-o", folder / name, assembly, f"-Wl,-soname,{name}",
                        f"-Wl,--version-script={script}"], check=True)
    return ["-nodefaultlibs", *(folder / name for name in OLD_GLIBC), "-lgcc"]


def make(folder, old=False):
    """Program and libraries. One library is linked and copied: name and build-id, which tell them apart, are put in."""
    folder = pathlib.Path(folder)
    cc = shlex.split(os.environ.get("CC", "cc"))
    library = [*cc, "-O1", "-g0", "-fPIC", "-shared", "-nostdlib", "-Wl,-z,lazy", "-Wl,--no-as-needed"]

    def link(output, source, *flags, build_id=0):
        named = [f"-Wl,-soname,{output}", f"-Wl,--build-id=0x{build_id:032x}"]
        subprocess.run([*library, *named, "-o", folder / output, SOURCES / source, *flags], check=True)

    first_id = 0x5A5A0000000000000000000000005A5A
    link("libpart000.so", "part.c", build_id=first_id)
    image = (folder / "libpart000.so").read_bytes()
    for number in range(1, PARTS):
        copy = image.replace(b"libpart000.so", b"libpart%03d.so" % number)
        copy = copy.replace(first_id.to_bytes(16, "big"), (first_id + (number << 32)).to_bytes(16, "big"))
        (folder / f"libpart{number:03}.so").write_bytes(copy)
    link("libslow.so", "part.c", "-DSLOW=300000", build_id=1)
    link("liblast.so", "part.c", "-DLAST", build_id=3)
    needed = [f"-l:libpart{number:03}.so" for number in range(PARTS - NEEDED + 1, PARTS)] + ["-l:liblast.so"]
    link("libdeep.so", "deep.c", "-Wl,-z,nocombreloc", f"-L{folder}", *needed, "-Wl,-rpath,$ORIGIN", build_id=2)
    subprocess.run([*cc, "-O1", "-fPIC", "-shared", "-o", folder / "libphdr_guard.so", SOURCES / "phdr_guard.c", "-ldl"],
                   check=True)
    with tempfile.TemporaryDirectory() as stubs:
        libraries = old_libraries(cc, pathlib.Path(stubs)) if old else ["-ldl", "-pthread"]
        # What is on the loader's path, such as the simulated runtime, comes before the toolkit's.
        runtime = "-Wl,--enable-new-dtags,-rpath,/usr/local/cuda/lib64"
        subprocess.run([*cc, "-O1", "-g", "-rdynamic", runtime, "-o", folder / "loader_churn", SOURCES / "loader_churn.c",
                        *libraries], check=True)


@dataclasses.dataclass
class Runner:
    """Runs the program of `made` bare and recorded, in `folder`."""
    synctrace: str
    made: pathlib.Path
    folder: pathlib.Path
    simulated: bool
    environment: dict
    library_path: str = ""  # the simulated GPU's folder, for the bare runs
    enter: tuple = ()
    bare_recipe: subprocess.CompletedProcess | None = None

    def run(self, *command, bare=False):
        env = dict(self.environment)
        if bare and self.library_path:
            env["LD_LIBRARY_PATH"] = self.library_path
        return subprocess.run([str(word) for word in (*self.enter, *command)], env=env,
                              cwd=None if self.enter else self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def program(self, *arguments):
        return [self.made / "loader_churn", arguments[0], self.made, *arguments[1:]]

    def fault_of(self, options, *arguments, bare=None):
        """What is wrong with one recorded run, or "". `bare`: a run of the same arguments, if there is one."""
        program = self.program(*arguments)
        bare = bare or self.run(*program, bare=True)
        if bare.returncode != 0:
            return f"not recorded, it ends with {bare.returncode}: {bare.stderr[-500:]}"
        gpu = ["--simgpu"] if self.simulated else []
        done = self.run(self.synctrace, "run", *gpu, "-f", "--report=none", "-o", self.folder / "trace", *options, "--", *program)
        what = f"{shlex.join(options)} {arguments}: "
        if (done.returncode, done.stdout) != (bare.returncode, bare.stdout):
            return f"{what}status {done.returncode}, output {done.stdout!r}, not {bare.stdout!r}: {done.stderr[-500:]}"
        report = self.run(self.synctrace, "report", "--format", "json", "--no-symbols", self.folder / "trace.synctrace")
        if report.returncode != 0 or '"processes"' not in report.stdout:
            return f"{what}the trace cannot be read: {report.stderr[-500:]}"
        return ""

    def recipe(self, turn):
        if self.bare_recipe is None:
            self.bare_recipe = self.run(*self.program("recipe"), bare=True)
        return self.fault_of(OPTIONS[turn % len(OPTIONS)], "recipe", bare=self.bare_recipe)

    def churn(self, seed):
        rng = random.Random(seed)
        parts = rng.choice((1, 2, 20, 63, 64, 65, 130, 200))
        return self.fault_of(OPTIONS[seed % len(OPTIONS)], "churn", seed, parts, rng.randint(1, 8))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", type=pathlib.Path)
    parser.add_argument("--made", type=pathlib.Path)
    parser.add_argument("--synctrace", default="synctrace", help="its path, or its name on PATH")
    parser.add_argument("--simgpu", metavar="FOLDER", default="", help="the simulated GPU's libraries")
    parser.add_argument("--recipe", type=int, default=0)
    parser.add_argument("--churn", type=int, default=0)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--old", action="store_true")
    parser.add_argument("--enter", type=shlex.split, default=[])
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    if options.make:
        options.make.mkdir(parents=True, exist_ok=True)
        return make(options.make, options.old)
    with tempfile.TemporaryDirectory(prefix="synctrace-loader-") as folder:
        folder = pathlib.Path(folder)
        made = options.made or folder
        if not options.made:
            make(made)
        find = str if options.enter else os.path.abspath
        simgpu = find(options.simgpu) if options.simgpu else ""
        runner = Runner(find(shutil.which(options.synctrace) or options.synctrace), pathlib.Path(find(made)), options.folder or folder,
                        bool(simgpu), dict(os.environ), simgpu, tuple(options.enter))
        faults = 0
        for name, count, play in (("recipe", options.recipe, runner.recipe), ("churn", options.churn, runner.churn)):
            here = 0
            for turn in range(options.first_seed, options.first_seed + count):
                fault = play(turn)
                here += bool(fault)
                if fault:
                    print(f"{name} {turn}: {fault}", flush=True)
            print(f"{name}: {here} of {count} runs failed")
            faults += here
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
