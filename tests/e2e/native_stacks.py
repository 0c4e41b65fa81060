# SPDX-License-Identifier: Apache-2.0
"""Native frames behind a wait are the program's own, in their order: addresses of the trace against the symbols of the
files that they name."""
import json
import os
import re
import subprocess
import sys
import textwrap
import unittest

import harness

CHAIN = ["inner", "middle", "outer", "main"]

EXTENSION = """\
import ctypes
import sys

runtime = ctypes.CDLL("libcudart.so.13")
plugin = ctypes.CDLL(sys.argv[1])
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def wait(_):
    return runtime.cudaDeviceSynchronize()


callback = CALLBACK(wait)


def through_c():
    return plugin.plugin_call(callback, None)


pointer = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)) == 0
for _ in range(20):
    assert through_c() == 0
print("done")
"""


def functions_of(path):
    """(begin, end, name) of each function in a file's symbol tables, by virtual address."""
    found = []
    for table in ([], ["-D"]):
        lines = subprocess.run(["nm", "-S", *table, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        for line in lines.splitlines():
            match = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] ([^@\s]+)", line)
            if match:
                begin = int(match[1], 16)
                found.append((begin, begin + int(match[2], 16), match[3]))
    return found


class Trace:
    def __init__(self, text):
        self.modules = {}
        self.stacks = {}
        self.codes = {}
        self.call_stacks = []
        self.launch_stacks = []
        self.losses = {}
        self.order_is_right = True
        self.symbols = {}
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            fields = {name: quoted if quoted else plain
                      for name, quoted, plain in re.findall(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S+))', rest)}
            if kind == "module":
                self.modules[int(fields["id"])] = fields
            elif kind == "code":
                self.codes[int(fields["id"])] = fields["function"]
            elif kind == "stack":
                self.stacks[int(fields["id"])] = fields.get("frames", "").split()
                for module in re.findall(r"\b[ni](\d+):", fields.get("frames", "")):
                    self.order_is_right = self.order_is_right and (module == "0" or int(module) in self.modules)
            elif kind == "call":
                self.call_stacks.append(int(fields["stack"]))
            elif kind == "launch":
                self.launch_stacks.append(int(fields["stack"]))
            elif kind == "loss":
                self.losses[fields["name"]] = self.losses.get(fields["name"], 0) + int(fields["count"])

    def name(self, frame):
        """A frame's function, "?" in a module without that symbol; marks stay as they are."""
        if frame in "~|":
            return frame
        if frame[0] == "p":
            return "py:" + self.codes[int(frame[1:].split(":")[0])]
        module, address = frame[1:].split(":")
        if module == "0":
            return "unknown"
        path = self.modules[int(module)]["path"]
        if path not in self.symbols:
            self.symbols[path] = functions_of(path)
        code = int(address, 16) - (1 if frame[0] == "n" else 0)
        names = [name for begin, end, name in self.symbols[path] if begin <= code < end]
        return os.path.basename(path) + ":" + (names[0] if names else "?")

    def names(self, stack):
        return [self.name(frame) for frame in self.stacks[stack]]


class NativeStacks(harness.CliTest):
    def run_traced(self, *command, options=("--report=none",)):
        done = self.record(*command, options=options)
        self.assertEqual(done.returncode, 0, done.stderr)
        dumped = self.run_cli("dump", self.trace)
        self.assertEqual(dumped.returncode, 0, dumped.stderr)
        trace = Trace(dumped.stdout)
        self.assertTrue(trace.order_is_right, "a stack names a module that comes later")
        return done, trace

    def own_frames(self, names, *modules):
        """The functions of the named files among `names`, in order, without what the CUDA compiler adds for a launch and
        what a static runtime brings along."""
        own = [name.split(":")[1] for name in names if name.split(":")[0] in modules]
        return [name for name in own if "device_stub" not in name and not name.startswith(("libcudart_static", "__cuda", "cuda"))]

    def check_direct(self, program):
        _, trace = self.run_traced(harness.program(program), "direct")
        waits = [trace.names(stack) for stack in trace.call_stacks if stack != 0]
        waits = [names for names in waits if "inner" in self.own_frames(names, program)]
        self.assertGreaterEqual(len(waits), 20)
        for names in waits:
            self.assertEqual(self.own_frames(names, program)[:4], CHAIN, names)
            self.assertNotIn("~", names)
            self.assertFalse([name for name in names if name.startswith("libsynctrace")], names)

    def test_position_independent_program(self):
        self.check_direct("native_callers")

    def test_program_at_fixed_addresses(self):
        self.check_direct("native_callers_no_pie")

    def test_program_with_the_runtime_inside(self):
        if harness.SIMGPU:
            self.skipTest("the simulated GPU is a shared runtime")
        self.check_direct("native_callers_static")

    def test_launch_behind_a_pause_has_a_stack(self):
        _, trace = self.run_traced(harness.program("native_callers"), "direct")
        stacks = [stack for stack in trace.launch_stacks if stack != 0]
        self.assertTrue(stacks)
        for stack in stacks:
            self.assertIn("inner", self.own_frames(trace.names(stack), "native_callers"))

    def calls_through_plugins(self, calls):
        """How many stacks of `calls` calls lead through each of two modules that take each other's place."""
        self.trace.unlink(missing_ok=True)
        plugins = [harness.program(f"callers_plugin_{which}.so") for which in "ab"]
        done, trace = self.run_traced(harness.program("native_callers"), "plugins", calls, *plugins, *plugins)
        self.assertEqual(done.stdout, f"plugin {calls}\n" * 4)
        seen = {"callers_plugin_a.so": 0, "callers_plugin_b.so": 0}
        for stack in filter(None, trace.call_stacks):
            names = trace.names(stack)
            for name in names:
                module, _, function = name.partition(":")
                if module in seen:
                    self.assertEqual(function, "plugin_call", names)
                    if self.own_frames(names, "native_callers", module)[:5] == ["inner", "plugin_call", *CHAIN[1:]]:
                        seen[module] += 1
        return seen

    def test_modules_that_come_and_go(self):
        # A module is known once a thread of low priority has looked at what is mapped. Where other processes keep it
        # from that for the length of 300 calls, more calls are made.
        seen = {}
        for calls in (300, 1200, 4800, 19200):
            seen = self.calls_through_plugins(calls)
            if min(seen.values()) > 100:
                break
        self.assertGreater(min(seen.values()), 100, seen)

    def test_mixed_frames_are_in_order(self):
        loads = [sys.executable, "-c", "import ctypes; ctypes.CDLL('libcudart.so.13')"]
        if not harness.SIMGPU and subprocess.run(loads, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("the program needs libcudart.so.13 on the loader's path")
        script = self.folder / "train.py"
        script.write_text(textwrap.dedent(EXTENSION))
        _, trace = self.run_traced(sys.executable, script, harness.program("callers_plugin_a.so"))
        stacks = [trace.names(stack) for stack in filter(None, trace.call_stacks)]
        stacks = [names for names in stacks if "py:wait" in names]
        self.assertGreaterEqual(len(stacks), 20)
        for names in stacks:
            self.assertNotIn("|", names)
            order = [names.index(name) for name in ("py:wait", "callers_plugin_a.so:plugin_call", "py:through_c", "py:<module>")]
            self.assertEqual(order, sorted(order), names)
            # C code lies between the interpreter's frames, and the runtime inside of all: within it only the driver and CUPTI.
            within = [name for name in names if not name.startswith(("libcuda.so", "libcupti.so"))]
            self.assertTrue(within[0].startswith("libcudart"), names)
            between = names[names.index("py:wait") + 1:names.index("callers_plugin_a.so:plugin_call")]
            self.assertTrue(any(name.startswith("libffi") for name in between), names)

    def test_walks_are_those_of_other_unwinders(self):
        library = harness.program("unwind_walks.so")
        if not os.path.exists(library):
            self.skipTest("unwind_walks.so is built for x86-64 only")
        result = self.folder / "walks.json"
        env = {**harness.SIMULATED_ENV, "CUDA_INJECTION64_PATH": library, "UNWIND_WALKS_OUT": result}
        plugin = harness.program("callers_plugin_b.so")
        done = self.run_program(harness.program("native_callers"), "plugins", 300, plugin, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        walks = json.loads(result.read_text())
        self.assertGreater(walks["walks"], 300)
        self.assertEqual(walks["equal_to_libgcc"], walks["walks"])
        self.assertEqual(walks["to_the_root"], walks["walks"])
        self.assertEqual(walks["by_tables_alone"], walks["walks"])
        if walks["libunwind"]:
            self.assertEqual(walks["equal_to_libunwind"], walks["walks"])

    def test_kinds_can_be_chosen(self):
        for kind, has_native in (("native", True), ("python", False), ("none", False)):
            with self.subTest(kind=kind):
                self.trace.unlink(missing_ok=True)
                _, trace = self.run_traced(harness.program("native_callers"), "direct",
                                           options=("--report=none", "--stacks=" + kind))
                self.assertEqual(bool(trace.stacks), has_native)

    def test_the_program_is_unharmed(self):
        done, _ = self.run_traced(harness.program("native_callers"), "direct", options=("--quiet", "--report=none"))
        self.assert_unharmed(done, harness.program("native_callers"), "direct",
                             env=harness.SIMULATED_ENV)


if __name__ == "__main__":
    harness.main()
