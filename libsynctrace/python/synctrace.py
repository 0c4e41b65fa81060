# SPDX-License-Identifier: Apache-2.0
"""Says to `synctrace gate` what parts of a program mean, and fails tests that synchronise with the GPU.

    import synctrace

    for batch in loader:
        with synctrace.step():
            loss = train(batch)
            if step % 50 == 0:
                with synctrace.allow("ST020", reason="the loss is printed every fifty steps"):
                    print(float(loss))

`synctrace.report("train.synctrace")` is what the command reports of a trace, as a dictionary (docs/report-json.md).

One file of the standard library. `pip install` of the wheel installs it; else copy it beside the program, or put its folder
on PYTHONPATH. Where no tool listens, every function does nothing, and importing it loads nothing. Where one does
(NVTX_INJECTION64_PATH, which synctrace's recorder sets), the ranges go to it directly, as those of NVTX's domain
"synctrace"; NVTX itself is not needed.

With pytest: `pytest -p synctrace`, under `synctrace run`, and `@pytest.mark.no_gpu_sync` on a test fails it with the line
that synchronised.
"""
import contextlib
import os
import sys

__all__ = ["allow", "no_sync", "step", "warmup", "ignore", "enabled", "report"]

_client = None
_sought = False


def _tool():
    """Pushes and pops ranges, or None where no tool listens."""
    global _client, _sought
    if not _sought:
        _sought = True
        path = os.environ.get("NVTX_INJECTION64_PATH")
        if path:
            with contextlib.suppress(Exception):  # a tool that cannot be loaded is no reason to fail
                _client = _connect(path)
    return _client


def enabled():
    """Whether a tool listens."""
    return _tool() is not None


def _connect(path):
    """A client of NVTX: hands a tool two tables of empty slots, which it fills with its functions (nvtxTypes.h)."""
    import ctypes

    class Attributes(ctypes.Structure):  # nvtxEventAttributes_t, version 3
        _fields_ = [("version", ctypes.c_uint16), ("size", ctypes.c_uint16), ("category", ctypes.c_uint32),
                    ("color_type", ctypes.c_int32), ("color", ctypes.c_uint32), ("payload_type", ctypes.c_int32),
                    ("reserved", ctypes.c_int32), ("payload", ctypes.c_uint64), ("message_type", ctypes.c_int32),
                    ("message", ctypes.c_char_p)]

    core, core2 = 1, 5  # NVTX_CB_MODULE_CORE, NVTX_CB_MODULE_CORE2
    sizes = {core: 16, core2: 16}
    push_ex, pop, create = 4, 5, 12  # NVTX_CBID_CORE2_Domain...
    tables, keep = {}, []
    for module, size in sizes.items():
        slots = (ctypes.c_void_p * size)()
        pointers = (ctypes.POINTER(ctypes.c_void_p) * (size + 1))()
        for i in range(1, size):
            pointers[i] = ctypes.cast(ctypes.byref(slots, i * ctypes.sizeof(ctypes.c_void_p)), ctypes.POINTER(ctypes.c_void_p))
        tables[module] = (slots, pointers, size)

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
    def function_table(module, table, size):
        if module not in tables:
            return 0
        table[0] = ctypes.addressof(tables[module][1])
        size[0] = tables[module][2]
        return 1

    class Callbacks(ctypes.Structure):  # NvtxExportTableCallbacks
        _fields_ = [("size", ctypes.c_size_t), ("function_table", ctypes.c_void_p)]

    class Version(ctypes.Structure):  # NvtxExportTableVersionInfo
        _fields_ = [("size", ctypes.c_size_t), ("version", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                    ("set_injection_version", ctypes.c_void_p)]

    @ctypes.CFUNCTYPE(None, ctypes.c_uint32)
    def set_injection_version(version):
        pass

    callbacks = Callbacks(ctypes.sizeof(Callbacks), ctypes.cast(function_table, ctypes.c_void_p))
    version = Version(ctypes.sizeof(Version), 3, 0, ctypes.cast(set_injection_version, ctypes.c_void_p))

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
    def export_table(which):
        return ctypes.addressof(callbacks) if which == 1 else ctypes.addressof(version) if which == 3 else None

    library = ctypes.CDLL(path)
    keep += [library, tables, function_table, set_injection_version, callbacks, version, export_table]
    if library.InitializeInjectionNvtx2(export_table) == 0:
        return None
    slots = tables[core2][0]
    if not (slots[push_ex] and slots[pop] and slots[create]):
        return None
    create_domain = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(slots[create])
    push_range = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Attributes))(slots[push_ex])
    pop_range = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(slots[pop])
    domain = create_domain(b"synctrace")

    def push(text):
        data = text.encode("utf-8", "replace").replace(b"\0", b"?")
        push_range(domain, ctypes.byref(Attributes(version=3, size=ctypes.sizeof(Attributes), message_type=1, message=data)))

    return push, lambda: pop_range(domain), keep


@contextlib.contextmanager
def _range(text):
    tool = _tool()
    if tool is None:
        yield
        return
    tool[0](text)
    try:
        yield
    finally:
        tool[1]()


def allow(rules, *, reason, max_per_step=0):
    """Calls of these rules ("ST001,ST011", or a list) may wait inside."""
    if not isinstance(rules, str):
        rules = ",".join(rules)
    if not str(reason).strip():
        raise ValueError("synctrace.allow needs a reason")
    return _range(f"allow:{rules}" + (f";max={int(max_per_step)}" if max_per_step else "") + f";reason={reason}")


def no_sync(name=""):
    """Any synchronisation of this thread inside fails the gate, whatever else is allowed."""
    return _range(f"expect-no-sync:{name}" if name else "expect-no-sync")


def step(number=None):
    """One step of the program."""
    return _range("step" if number is None else f"step:{number}")


def warmup():
    """Not judged: what a program does once before it runs evenly."""
    return _range("warmup")


def ignore():
    """Not judged."""
    return _range("ignore")


def _command():
    """The command line beside this file, as in a wheel, or beside the recorder; else the one on PATH."""
    folders = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")]
    recorder = os.environ.get("NVTX_INJECTION64_PATH")
    if recorder:
        library = os.path.dirname(os.path.realpath(recorder))
        folders += [os.path.dirname(library), os.path.dirname(os.path.dirname(library))]  # lib/, lib/synctrace/
    commands = [os.path.join(folder, "bin", "synctrace") for folder in folders]
    return os.environ.get("SYNCTRACE_COMMAND") or next((path for path in commands if os.access(path, os.X_OK)), "synctrace")


def _ask(*words):
    """Runs the command, unrecorded, with its output as text."""
    import subprocess

    tools = ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "GITHUB_ACTIONS")
    environment = {name: value for name, value in os.environ.items() if name not in tools}
    return subprocess.run([_command(), *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def report(*traces):
    """What `synctrace report --format json` says of a trace, or of those of one job: a dictionary."""
    import json

    done = _ask("report", "--format", "json", "--", *(os.fspath(trace) for trace in traces))
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def _main():
    """The command `synctrace` of a wheel, and `python -m synctrace`: becomes the command line."""
    import shutil

    command = _command()
    found = shutil.which(command)
    if found and os.path.realpath(found) == os.path.realpath(sys.argv[0]):  # would become itself for ever
        sys.exit(f"synctrace: error: {found} is this very script, and the command line is missing. Install it again.")
    try:
        os.execvp(command, [command, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"synctrace: error: {command}: {error.strerror}")


# The plugin of pytest. Nothing of it is touched outside of pytest.

_PATIENCE_S = 20
_LONGEST_ZONE = 300  # bytes; with what is added far below the recorder's 512


def pytest_addoption(parser):
    group = parser.getgroup("synctrace")
    group.addoption("--gpu-sync", choices=("auto", "require"), default="auto",
                    help="require: tests marked no_gpu_sync fail where synctrace does not record (default: they run unchecked)")
    group.addoption("--gpu-sync-config", default="", help="the configuration of the gate (default: none)")


def pytest_configure(config):
    config.addinivalue_line("markers", "no_gpu_sync: the test must not synchronise with the GPU (checked under synctrace run)")


def _trace_of_this_process():
    """The trace that is being written, found among the open files; None: this process is not recorded. The recorder's
    thread has descriptors of its own."""
    def entries(folder, read=os.listdir):
        with contextlib.suppress(OSError):  # threads end, and files are closed, at any moment
            return read(folder)
        return ""

    for thread in entries("/proc/self/task"):
        folder = f"/proc/self/task/{thread}/fd"
        for number in entries(folder):
            path = entries(f"{folder}/{number}", os.readlink)
            if path.endswith((".synctrace.partial", ".synctrace")):
                return path
    return None


def _zone_of(nodeid):
    """The zone of a test: a name that stays the same on its way. The recorder cuts long ones, and the gate writes what is
    not printable in its own way."""
    import hashlib

    plain = "".join(letter if " " <= letter <= "~" else "?" for letter in nodeid)
    if plain != nodeid or len(plain) > _LONGEST_ZONE:
        plain = f"{plain[:_LONGEST_ZONE]}~{hashlib.sha256(nodeid.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return f"{plain}#{os.getpid()}"


def _judge(trace, zone, config):
    """What the gate says of a zone that has ended: a dictionary."""
    import json
    import time

    # Lines of Python need no symbols, which take seconds to find in a framework's libraries.
    words = ["gate", "--only-zones", "--unfinished", "--no-symbols", "--format", "json"] + (["--config", config] if config else ["--no-config"]) + [trace]
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        done = _ask(*words)
        with contextlib.suppress(ValueError):
            answer = json.loads(done.stdout)
            # Events of one thread are written in their order: what came before the zone's end is there as well.
            if any(seen["name"] == zone and seen["open"] == 0 for seen in answer["zones"]):
                return answer
        if time.monotonic() > deadline:
            raise RuntimeError(f"synctrace gate did not see the end of the test: {done.stderr.strip() or done.stdout[-500:]}")
        time.sleep(0.1)


def _failures(answer, zone):
    import linecache

    lines = []
    for finding in answer["findings"]:
        if finding["fails"] and finding["strict"] and finding["zone"] == zone:
            place = f"{finding['file']}:{finding['line']}" if finding["file"] else finding["call"]
            lines.append(f"{place}: {finding['message']} [{finding['rule']} {finding['name']}]")
            source = finding["source"] or linecache.getline(finding["file"] or "", finding["line"] or 0).strip()
            if source:
                lines.append(f"    {source}")
    return lines + [f"not judged: {why}" for why in answer["not_judged"]]


if "pytest" in sys.modules:  # this is its plugin; nobody else pays for importing it
    import pytest

    @pytest.hookimpl(hookwrapper=True)
    def pytest_pyfunc_call(pyfuncitem):
        """Runs a marked test inside a zone, and judges it before it counts as passed."""
        marked = pyfuncitem.get_closest_marker("no_gpu_sync") is not None
        if marked and not enabled() and pyfuncitem.config.getoption("--gpu-sync") == "require":
            pytest.fail("not recorded, so nothing tells whether it synchronises: run under synctrace run", pytrace=False)
        if not marked or not enabled():
            yield
            return
        zone = _zone_of(pyfuncitem.nodeid)
        with no_sync(zone):
            outcome = yield
        trace = _trace_of_this_process()
        if outcome.excinfo is not None or trace is None:  # failed by itself, or has not used CUDA: then nothing is written
            return
        lines = _failures(_judge(trace, zone, pyfuncitem.config.getoption("--gpu-sync-config")), zone)
        if lines:
            failure = pytest.fail.Exception("the test synchronises with the GPU:\n" + "\n".join(lines), pytrace=False)
            if not hasattr(outcome, "force_exception"):  # pluggy before 1.1
                raise failure
            outcome.force_exception(failure)
