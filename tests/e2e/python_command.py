# SPDX-License-Identifier: Apache-2.0
"""What a wheel installs as the command `synctrace`: a script of Python that becomes the command line."""
import sys

import gate_case
import harness

SCRIPT = """\
#!{python}
import sys
sys.path.insert(0, {module!r})
from synctrace import _main
_main()
"""


class PythonCommand(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.script = self.folder / "synctrace"
        self.script.write_text(SCRIPT.format(python=sys.executable, module=gate_case.MODULE), encoding="utf-8")
        self.script.chmod(0o755)

    def test_it_becomes_the_command_line(self):
        done = self.run_program(self.script, "--version", env={"SYNCTRACE_COMMAND": harness.SYNCTRACE})
        self.assertEqual((done.returncode, done.stdout), (0, self.run_cli("--version").stdout), done.stderr)

    def test_without_the_command_line_it_does_not_become_itself(self):
        done = self.run_program(self.script, "--version", env={"PATH": self.folder})
        self.assertEqual(done.returncode, 1)
        self.assertIn("is missing", done.stderr)


if __name__ == "__main__":
    harness.main()
