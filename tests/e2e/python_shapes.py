# SPDX-License-Identifier: Apache-2.0
"""Looks at its own stack in many shapes, through the probe and through Python, and compares. Usage:
python_shapes.py PROBE. Runs under every CPython from 3.8 on; python_frames.py starts it."""
import asyncio
import contextlib
import ctypes
import functools
import gc
import itertools
import os
import sys
import tempfile
import threading
import traceback

QUALIFIED = sys.version_info >= (3, 11)
WITH_COLUMNS = sys.version_info >= (3, 11)
MAX_FRAMES = 128

ROOM = 1 << 20
RELEASED, HELD = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])
local = threading.local()
failures = []
looks = 0


def expected_frames(frame):
    """The stack from `frame` outwards, as traceback knows it, as lines of the probe."""
    pairs = list(itertools.islice(traceback.walk_stack(frame), MAX_FRAMES + 1))
    summaries = traceback.StackSummary.extract(iter(pairs), lookup_lines=False)
    if len(pairs) > 1 and summaries[0].lineno != pairs[0][1]:
        summaries.reverse()
    lines = []
    for (each, line), summary in zip(pairs, summaries):
        code = each.f_code
        assert (summary.filename, summary.lineno, summary.name) == (code.co_filename, line, code.co_name)
        place = (line, line, -1, -1)
        if WITH_COLUMNS:
            place = next(itertools.islice(code.co_positions(), each.f_lasti // 2, None))
            place = tuple(-1 if part is None else part for part in place)
            assert place[0] == line
        lines.append("\t".join(map(str, (code.co_filename, *place, code.co_qualname if QUALIFIED else code.co_name))))
    return lines[:MAX_FRAMES] + (["..."] if len(lines) > MAX_FRAMES else [])


def look():
    """Called where a shape is at its deepest."""
    global looks
    library, buffer = local.library, local.buffer
    count, line = library.probe(buffer, ROOM), sys._getframe().f_lineno
    entries, merged = library.probe_entries(), library.probe_merged()
    found, wanted = buffer.value.decode().splitlines(), expected_frames(sys._getframe())
    # This frame has moved on since; all others are where they were.
    innermost = found[:1] and found[0].split("\t")
    if innermost and innermost[0] == __file__ and innermost[1] == str(line) and innermost[-1] == "look":
        found[0] = wanted[0]
    looks += 1
    if count != min(len(wanted), MAX_FRAMES) or found != wanted:
        differing = [pair for pair in itertools.zip_longest(found, wanted) if pair[0] != pair[1]]
        failures.append("{}: {} frames; found, wanted: {}".format(local.shape, count, differing[:3]))
    if entries < 1:
        failures.append("{}: entries {}".format(local.shape, entries))
    # A native stack that was cut ends before the outermost loops.
    if merged < 1 or merged & 0xffff < 1 or (merged != entries and merged < 0x10000 and count < MAX_FRAMES):
        failures.append("{}: {} entries, {} merged".format(local.shape, entries, merged))
    return 0


class Thing:
    size = 3

    def __init__(self, *args):
        look()

    def method(self, depth=0):
        return self.method(depth - 1) if depth else look()

    @classmethod
    def of_class(cls):
        return look()

    @staticmethod
    def of_none():
        return look()

    @property
    def value(self):
        return look()

    def __len__(self):
        look()
        return 1

    def __getattr__(self, name):
        return look()

    def __getitem__(self, key):
        return look()

    def __add__(self, other):
        return look()

    def __enter__(self):
        look()
        return self

    def __exit__(self, *unused):
        look()

    def __call__(self):
        return look()

    def __lt__(self, other):
        look()
        return True


class Derived(Thing):
    def __init__(self):
        super().__init__()
        self.list = [look() for _ in range(2)]


class Dropped:
    def __del__(self):
        look()


class Meta(type):
    def __new__(mcs, name, bases, body):
        look()
        return super().__new__(mcs, name, bases, body)


def generator(count):
    for i in range(count):
        look()
        yield i


def delegating():
    yield from generator(2)
    yield (lambda: look())()


async def coroutine(depth):
    if depth:
        await coroutine(depth - 1)
    else:
        look()
        await asyncio.sleep(0)
        look()


async def asynchronous_generator():
    yield look()


async def everything_asynchronous():
    await asyncio.gather(coroutine(2), coroutine(1))
    async for _ in asynchronous_generator():
        look()
    return [look() async for _ in asynchronous_generator()]


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@decorated
@decorated
def twice_decorated():
    return look()


@contextlib.contextmanager
def managed():
    look()
    try:
        yield
    finally:
        look()


def recursion(depth):
    return recursion(depth - 1) if depth else look()


def recursion_through_c(depth):
    return max(map(recursion_through_c, [depth - 1])) if depth else look()


def exceptions():
    try:
        try:
            raise ValueError(look())
        except ValueError:
            look()
            raise KeyError from None
        finally:
            look()
    except KeyError:
        return look()


def multiline():
    first = (
        look()
        + Thing.of_class()
        + Thing.of_none(
        )
    )
    return sum([
        first,
        look(),
        max(
            look(), look(), key=lambda value: (
                look()))])


def closures():
    captured = 1

    def inner():
        def innermost():
            return look() + captured
        return innermost()

    return inner()


def comprehensions():
    rows = [look() for _ in range(2)]
    rows += {look() for _ in range(2)}
    rows += {i: look() for i in range(2)}
    rows += (look() for _ in range(2))
    return [[look() for _ in range(1)] for _ in range(1)]


def class_body():
    class Local(metaclass=Meta):
        seen = look()

        class Nested:
            seen = look()

    return Local


def executed():
    exec("look()\n\n\nlook()")
    eval("(lambda: look())()")
    names = {"look": look}
    exec(compile("def f():\n  return look()\nf()\nclass C:\n  x = f()", "<made>", "exec"), names)
    return names["f"]()


def non_ascii():
    names = {"look": look}
    exec(compile("def größe():\n  return look()\ndef 大きさ():\n  return größe()\n"
                 "class Ж:\n  def 𝔘(self): return 大きさ()\nЖ().𝔘()", "pfad/überall.py", "exec"), names)
    exec(compile("look()", "路径/\U0001f600.py", "exec"), names)
    exec(compile("look()", "latin/\xe9.py", "exec"), names)


def long_module():
    """Line tables far above 4 KiB, with long jumps up and down, in a module and in a function of its own."""
    body = "".join("    x = (y +\n" + "\n" * (i % 300) + "   y); z = [\n  x,y] if x else {{x: y}}; w{} = x\n".format(i)
                   for i in range(700))
    text = "def f(y):\n" + body + "    return look()\nf(0)\n" + body.replace("    x", "x").replace("y", "1") + "look()\n"
    code = compile(text, "long.py", "exec")
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    assert len(table) > 4096
    exec(code, {"look": look})


def wide_line():
    exec("x = [" + "1, " * 200 + "look(), " + "(2, 3)," * 100 + "look()]")


def callbacks():
    sorted([3, 1, 2], key=lambda value: look() or value)
    sorted([Thing, Thing], key=functools.cmp_to_key(lambda a, b: look()))
    list(map(lambda value: look(), range(2)))
    list(filter(lambda value: look(), range(2)))
    functools.reduce(lambda a, b: look(), range(3))
    functools.partial(look)()
    ctypes.CFUNCTYPE(ctypes.c_int)(lambda: look())()


def operators():
    thing = Thing()
    len(thing), thing.value, thing.missing, thing[1], thing + 1, thing()
    sorted([thing, thing])
    with thing, managed():
        look()
    return Derived()


def destructors():
    dropped = Dropped()
    del dropped
    [Dropped() for _ in range(2)]
    cycle = [Dropped()]
    cycle.append(cycle)
    del cycle
    gc.collect()


def closing():
    with contextlib.closing(held_open()) as generator_:
        next(generator_)


def held_open():
    try:
        yield
    finally:
        look()


def imported():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "shapes_module.py"), "w") as file:
            file.write("import builtins\nbuiltins.shapes_look()\n")
        import builtins
        builtins.shapes_look = look
        sys.path.insert(0, folder)
        try:
            import shapes_module
        finally:
            sys.path.remove(folder)
            sys.modules.pop("shapes_module", None)


def unwinding_generator():
    iterator = generator(3)
    next(iterator)
    iterator.close()
    return [value for value in delegating()] + list(zip(generator(1), generator(1)))


def warmed_up():
    """Specialised calls look different to the interpreter than first ones."""
    for _ in range(60):
        Thing().method(3)


def hidden_starts():
    threading.Thread(target=len, args=([],)).start()
    return look()


SHAPES = [
    look, closures, comprehensions, class_body, executed, non_ascii, long_module, wide_line, callbacks, operators,
    destructors, closing, imported, unwinding_generator, warmed_up, hidden_starts, exceptions, multiline,
    twice_decorated, Thing, Thing.of_class, Thing.of_none, Derived, lambda: look(), lambda: Thing().method(5),
    lambda: recursion(20), lambda: recursion(1000), lambda: recursion_through_c(10), lambda: recursion_through_c(60),
    lambda: asyncio.new_event_loop().run_until_complete(everything_asynchronous()),
    lambda: [0 for thing in [Thing()] if thing.method(2)],
]


def run_shapes(library):
    local.library, local.buffer = library, ctypes.create_string_buffer(ROOM)
    for shape in SHAPES:
        local.shape = getattr(shape, "__qualname__", str(shape))
        shape()


def churn(count):
    """Functions made and dropped: code objects at addresses seen before, under other names."""
    local.library, local.buffer = HELD, ctypes.create_string_buffer(ROOM)
    addresses = set()
    for i in range(count):
        names = {"probe": HELD.probe, "buffer": local.buffer, "room": ROOM}
        exec("def made_{0}(): return probe(buffer, room)\nmade_{0}()".format(i), names)
        addresses.add(id(names["made_{}".format(i)].__code__))
        innermost = local.buffer.value.split(b"\n", 1)[0].decode().split("\t")
        if innermost[0] != "<string>" or innermost[1] != "1" or innermost[-1] != "made_{}".format(i):
            failures.append("churn {}: {}".format(i, innermost))
    if len(addresses) > count // 2:
        failures.append("churn: no address was used twice")


def cost(depth):
    if depth > 2:
        return cost(depth - 1)
    return [RELEASED.probe_cost() / 100] + [RELEASED.probe_stack_cost(kinds) / 100 for kinds in (1, 2, 3)]


sys.setrecursionlimit(5000)
for library in (RELEASED, HELD):
    run_shapes(library)
    threads = [threading.Thread(target=run_shapes, args=(library,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
churn(int(os.environ.get("SYNCTRACE_CHURN", "20000")))
print("{} shapes, {} looks; at depth 20 {:.0f} ns a walk, {:.0f} a stack of Python, {:.0f} native, {:.0f} of both"
      .format(len(SHAPES), looks, *cost(20)))
for failure in failures[:20]:
    print(failure)
sys.exit(1 if failures else 0)
