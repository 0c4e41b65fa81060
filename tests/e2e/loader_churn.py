# SPDX-License-Identifier: Apache-2.0
"""Programs that load and unload libraries end as they do alone, and leave a trace that can be read (tests/programs/loader).
SYNCTRACE_CHURN_SECONDS: how long threads load and unload, 50 unless given."""
import os
import pathlib
import shutil
import sys
import time

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import loader_churn as support  # noqa: E402

CHURN_S = float(os.environ.get("SYNCTRACE_CHURN_SECONDS", "50"))
# A program that asks the loader itself, on a thread of the given name.
ASKS = """
import ctypes, threading
visit = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(lambda *_: 1)
process = ctypes.CDLL(None)
def ask():
    process.prctl(15, b"NAME")
    process.dl_iterate_phdr(visit, None)
thread = threading.Thread(target=ask)
thread.start()
thread.join()
"""


class LoaderChurn(harness.CliTest):
    def setUp(self):
        super().setUp()
        if not shutil.which(os.environ.get("CC", "cc").split()[0]):
            self.skipTest("no C compiler")
        made = self.folder / "made"
        made.mkdir()
        support.make(made)
        self.runner = support.Runner(harness.SYNCTRACE, made, self.folder, bool(harness.SIMGPU), harness.environment(), harness.SIMGPU)

    def test_a_library_that_takes_long_to_load(self):
        """With 65 and more thread variables, while somebody asks the loader for its list: that reads address 0."""
        for turn in range(len(support.OPTIONS)):
            self.assertEqual(self.runner.recipe(turn), "")

    def test_threads_that_load_and_unload(self):
        end = time.monotonic() + CHURN_S
        seed = 0
        while seed < len(support.OPTIONS) or time.monotonic() < end:
            with self.subTest(seed=seed):
                self.assertEqual(self.runner.churn(seed), "")
            seed += 1
        print(f"{seed} programs", flush=True)

    def guarded(self, options, *program):
        """What asks for dl_iterate_phdr while the program is recorded, and must not."""
        seen = self.folder / "asked"
        seen.unlink(missing_ok=True)
        guard = {"LD_PRELOAD": self.runner.made / "libphdr_guard.so", "PHDR_GUARD_FILE": seen}
        done = self.record(*program, env=guard, options=("-f", "--report=none", *options))
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted(set(seen.read_text().splitlines())) if seen.exists() else []

    def test_nobody_asks_the_loader_for_its_list(self):
        """Not in a thread of the recorder's, a signal handler or a callback: dlopen of another thread would kill it."""
        for seed, options in enumerate(support.OPTIONS):
            with self.subTest(options=options):
                self.assertEqual(self.guarded(options, *self.runner.program("churn", seed, 70, 3)), [])

    def test_who_asks_is_seen(self):
        python = sys.executable
        self.assertEqual(self.guarded((), python, "-c", ASKS.replace("NAME", "other")), [])
        self.assertRegex("".join(self.guarded((), python, "-c", ASKS.replace("NAME", "synctrace-map"))), "^thread synctrace-map, ")


if __name__ == "__main__":
    harness.main()
