# SPDX-License-Identifier: Apache-2.0
"""The recorder's reader of Python stacks against what Python itself says, under every CPython there is: python3 and
python3.8 to python3.14 on PATH, and those that SYNCTRACE_TEST_PYTHONS names (paths, separated as in PATH)."""
import os
import pathlib
import shutil
import subprocess
import unittest

PROBE = os.environ["PYTHON_PROBE"]
SHAPES = pathlib.Path(__file__).with_name("python_shapes.py")
MINORS = range(8, 15)
PATIENCE_S = 300

ABOUT = """
import ctypes, platform, sys, sysconfig
print(platform.python_implementation(), sys.version_info[0], sys.version_info[1],
      sysconfig.get_config_var("Py_GIL_DISABLED") or 0, sys.version_info[3])
print(sys.executable)
"""

REFUSED = """
import ctypes, sys
buffer = ctypes.create_string_buffer(4096)
print(ctypes.CDLL(sys.argv[1]).probe(buffer, 4096), buffer.value.decode())
"""


class Interpreter:
    def __init__(self, path, lines):
        kind, major, minor, free_threaded, level = lines[0].split()
        self.path = path
        self.version = (int(major), int(minor))
        self.is_supported = (major == "3" and int(minor) in MINORS and free_threaded == "0" and
                             level in ("final", "candidate"))
        self.is_cpython = kind == "CPython"
        self.executable = os.path.realpath(lines[1])


def run(path, *arguments):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SYNCTRACE_", "LD_"))}
    return subprocess.run([path, "-B", *arguments], env=clean, timeout=PATIENCE_S, capture_output=True, text=True)


def find_interpreters():
    names = ["python3"] + [f"python3.{minor}" for minor in MINORS]
    paths = [shutil.which(name) for name in names]
    paths += os.environ.get("SYNCTRACE_TEST_PYTHONS", "").split(os.pathsep)
    found = {}
    for path in filter(None, paths):
        about = run(path, "-c", ABOUT)
        if about.returncode != 0:
            print(f"{path}: cannot be used: {about.stderr.strip().splitlines()[-1:]}")
            continue
        interpreter = Interpreter(path, about.stdout.splitlines())
        if interpreter.is_cpython:
            found.setdefault(interpreter.executable, interpreter)
    return list(found.values())


class PythonFrames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.interpreters = find_interpreters()

    def test_stacks_are_what_python_says(self):
        supported = [each for each in self.interpreters if each.is_supported]
        for each in supported:
            with self.subTest(version=each.version):
                result = run(each.path, str(SHAPES), PROBE)
                print("{}.{}: {}".format(*each.version, result.stdout.strip()), flush=True)
                self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        absent = sorted(set(MINORS) - {each.version[1] for each in supported})
        print("not found: " + (", ".join(f"3.{minor}" for minor in absent) or "none"))
        if not supported:
            self.skipTest("no supported CPython found")

    def test_other_interpreters_are_refused_with_a_reason(self):
        others = [each for each in self.interpreters if not each.is_supported]
        for each in others:
            with self.subTest(version=each.version):
                result = run(each.path, "-c", REFUSED, PROBE)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(result.stdout.startswith("-1 "), result.stdout)
                self.assertIn("CPython", result.stdout)
        if not others:
            self.skipTest("no other interpreter found")


if __name__ == "__main__":
    unittest.main()
