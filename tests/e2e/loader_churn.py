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


if __name__ == "__main__":
    harness.main()
