# SPDX-License-Identifier: Apache-2.0
"""`synctrace watch` beside a long loop with planted episodes and harmless ones: which are caught, by which line, how soon.

  live_episodes.py --synctrace BIN --out OUT [--simulated] [--each 5] [--every 1s] [--level syncs] [--seed 1] [--record FOLDER]

The loop is episodes_program.py. Its plan has each planted kind (loader, item, gc, host) and each harmless one (checkpoint, validation,
logging, allocation) so many times, in a drawn order. Caught: a rule fired in the episode, or within two looks of its end. Right line: it
stands in the window's first screen; it never runs outside of episodes. A window of no episode is a false one. Exit status: 0 when all were recorded."""
import argparse
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import measured_rows  # noqa: E402

PROGRAM = HERE / "episodes_program.py"
PLANTED = ("loader", "item", "gc", "host")
HARMLESS = ("checkpoint", "validation", "logging", "allocation")
RULES = ("step > 1.3 x median for 2", "waits > 2 x median for 2")
LONG_S, REST_S, ONCE_S = 6.0, 4.0, 1.5  # a planted episode, the time behind one, a harmless one
FIRST_S = 12.0  # a median needs some looks


def plan_of(options):
    kinds = [kind for kind in (*PLANTED, *HARMLESS) for _ in range(options.each)]
    random.Random(options.seed).shuffle(kinds)
    plan, at = [], FIRST_S
    for kind in kinds:
        length = LONG_S if kind in PLANTED else ONCE_S
        plan.append((at, at + length, kind))
        at += length + REST_S
    return plan, at


def lines_of_program():
    text = PROGRAM.read_text(encoding="utf-8").split("\n")
    return {found[1]: number for number, line in enumerate(text, 1) if (found := re.search(r"# episode: (\w+)", line))}


def named_lines(screen):
    """file:line of each row of a first screen."""
    return set(re.findall(r"^ +(?:\d+ +)?(\S+?\.py:\d+) ", screen, re.MULTILINE))


class Watched:
    def __init__(self, options):
        self.options = options
        self.out = options.out
        plan, end_s = plan_of(options)
        self.plan = plan
        path = self.out / "plan.txt"
        path.write_text("".join(f"{begin} {end} {kind}\n" for begin, end, kind in plan) + f"{end_s} 0 end\n", encoding="ascii")
        simulated = ["--simgpu"] if options.simulated else []
        self.loop = subprocess.Popen([options.synctrace, "run", *simulated, "--dormant", "-q", "--", sys.executable, PROGRAM,
                                      "simulated" if options.simulated else "torch", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.began_ns = int(self.loop.stdout.readline().split()[1])
        pid = int(pathlib.Path(f"/proc/{self.loop.pid}/task/{self.loop.pid}/children").read_text(encoding="ascii").split()[0])
        rules = [word for rule in RULES for word in ("--when", rule)]
        self.watch = subprocess.Popen([options.synctrace, "watch", str(pid), *rules, "--look", options.look, "--every", options.every, "--record", "1s",
                                       "--cooldown", "0", "--keep", "1000", "--level", options.level, "-o", self.out / "window%w", "--report=none", "-q"],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.said = open(self.out / "watch.txt", "w", buffering=1, encoding="utf-8")
        self.fired, self.compared = [], []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def seconds(self):
        return (time.monotonic_ns() - self.began_ns) / 1e9

    def read(self):
        for line in self.watch.stdout:
            self.said.write(line)
            if re.match(r"\d\d:\d\d:\d\d  ", line):
                self.fired.append((self.seconds(), line.strip()))
            elif line.startswith("This look beside"):
                self.compared.append(self.seconds())

    def finish(self):
        out, _ = self.loop.communicate(timeout=600)
        self.watch.wait(timeout=60)
        self.reader.join()
        return self.loop.returncode == 0 and out.startswith("end")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synctrace", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--each", type=int, default=5)
    parser.add_argument("--look", default="300ms")
    parser.add_argument("--every", default="1s")
    parser.add_argument("--level", default="syncs")
    parser.add_argument("--seed", type=int, default=1)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    options.synctrace, options.out = options.synctrace.resolve(), options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    for old in options.out.glob("window*"):
        old.unlink()
    watched = Watched(options)
    unharmed = watched.finish()
    traces = sorted(options.out.glob("window*.synctrace"), key=lambda path: path.stat().st_mtime)
    lines, caught, false = lines_of_program(), {}, []
    for number, (at_s, text) in enumerate(watched.fired):
        slack_s = 2.5
        found = next(((begin, kind) for begin, end, kind in watched.plan if kind in PLANTED and begin <= at_s <= end + slack_s), None)
        screen = subprocess.run([options.synctrace, "report", traces[number]], capture_output=True, text=True, check=False).stdout if number < len(traces) else ""
        result = {"at_s": round(at_s, 1), "says": text, "episode": found, "rows": sorted(named_lines(screen))}
        print(json.dumps(result), flush=True)
        if found is None:
            false.append(at_s)
        elif found not in caught:
            named_s = watched.compared[number] - found[0] if number < len(watched.compared) else None
            caught[found] = (named_s, f"{PROGRAM.name}:{lines[found[1]]}" in result["rows"])
    planted = [(begin, kind) for begin, _, kind in watched.plan if kind in PLANTED]
    right = sum(named for _, named in caught.values())
    times = [seconds for seconds, _ in caught.values() if seconds is not None]
    missed = [kind for begin, kind in planted if (begin, kind) not in caught]
    wrong = [kind for (_, kind), (_, named) in caught.items() if not named]
    size = sum(path.stat().st_size for path in traces)
    print({"unharmed": unharmed, "caught": len(caught), "of": len(planted), "right line": right, "false": len(false),
           "seconds": statistics.median(times) if times else None, "missed": missed, "wrong line": wrong, "bytes": size})
    rows = measured_rows.Rows("watch", simulated=options.simulated)
    rows.add_of("episodes", "planted episodes caught", len(caught), len(planted))
    rows.add_of("episodes", "of these, by the right line", right, len(planted))
    rows.add_of("episodes", "harmless episodes that were recorded", len(false), len(watched.plan) - len(planted))
    if times:
        rows.add("episodes", "from its begin to the named line", f"{statistics.median(times):.1f}", unit="s", n=len(times))
    rows.add("episodes", "bytes of a window", str(size // max(1, len(traces))), n=len(traces))
    return 0 if unharmed else 1


if __name__ == "__main__":
    sys.exit(main())
