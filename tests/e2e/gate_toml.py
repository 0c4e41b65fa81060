# SPDX-License-Identifier: Apache-2.0
"""Whatever Python's own reader of TOML takes, ours takes, as a pyproject.toml that other tools share; what it refuses, ours
refuses. Python 3.11 or newer."""
import random

import gate_case
import harness

try:
    import tomllib
except ImportError:
    tomllib = None

PIECES = ["[a]", "[a.b]", "[[c]]", "[[c.d]]", "[a", "x = 1", "y = 'text'", "z = \"q\\n\\u00e9\"", "w = [1, 2, [3, 'x']]", "v = {a = 1, b = {c = 2}}",
          "u = 2027-03-01", "t = 2027-03-01T10:00:00+01:00", "s = 1.5e-3", "r = 0xff", "q.p = true", "q.o = false", "n = \"\"\"a\nb\"\"\"", "m = '''x\ny'''",
          "l = [\n 1, # c\n 2,\n]", "k = 07", "j = \"\\q\"", "i =", "= 1", "h = 1 2", "g = inf", "f = 1_000", "e = 1__0", "'d d' = 3", "\"\" = 4", "# comment", "",
          "b = 10:30:00", "x.y = 1", "a.b.c = 1"]


class Toml(gate_case.GateCase):
    def setUp(self):
        super().setUp()
        if tomllib is None:
            self.skipTest("Python has no reader of TOML before 3.11")

    def is_taken(self, text):
        (self.folder / "pyproject.toml").write_text(text)
        done = self.run_cli("gate", "--config", "pyproject.toml", "missing.synctrace")
        self.assertEqual(done.returncode, 2, done.stderr)  # wrong, or without [tool.synctrace]
        return "has no [tool.synctrace]" in done.stderr

    def test_agreement(self):
        choose = random.Random(20261121)
        taken = 0
        for _ in range(300):
            text = "\n".join(choose.choice(PIECES) for _ in range(choose.randint(1, 5))) + "\n"
            try:
                tomllib.loads(text)
                wanted = True
            except tomllib.TOMLDecodeError:
                wanted = False
            taken += wanted
            self.assertEqual(self.is_taken(text), wanted, text)
        self.assertTrue(60 < taken < 240, taken)


if __name__ == "__main__":
    harness.main()
