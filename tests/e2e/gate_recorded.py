# SPDX-License-Identifier: Apache-2.0
"""The gate on traces that were recorded on a real GPU (tests/golden/frameworks)."""
import json
import pathlib

import harness

FRAMEWORKS = pathlib.Path(__file__).resolve().parents[1] / "golden" / "frameworks"


class Recorded(harness.CliTest):
    def findings(self, name):
        (self.folder / "synctrace.toml").write_text("")
        done = self.run_cli("gate", FRAMEWORKS / f"{name}.synctrace", "--root", self.folder, "--write", "json=gate.json")
        self.assertEqual(done.returncode, 1, done.stderr)
        answer = json.loads((self.folder / "gate.json").read_text())
        return [(finding["rule"], finding["line"], finding["function"]) for finding in answer["findings"] if finding["fails"]]

    def test_the_read_of_a_jax_value_is_the_only_finding(self):
        # Threads of the library's pool wait for their next task at the same moments.
        self.assertEqual(self.findings("jax_read"), [("ST005", 26, "train_step")])

    def test_a_contended_pool_hides_the_read_from_nobody(self):
        # Too few processors: the pool's threads sleep for each other's tasks more often than for the GPU.
        self.assertEqual(self.findings("jax_read_contended"), [("ST005", 26, "train_step")])


if __name__ == "__main__":
    harness.main()
