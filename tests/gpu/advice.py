# SPDX-License-Identifier: Apache-2.0
"""What the report tells you to type, typed and timed on a real GPU.

advice.py record --synctrace PATH --out DIR [NAME...]   records each program of advice/ and gpu_bound/ into DIR/NAME.synctrace
advice.py time --out DIR [--rounds 3] [--by-hand] [NAME...]   times each program and its changes in turns, unrecorded, into DIR/times.json
advice.py compare --synctrace PATH --out DIR [NAME...]  holds the changes that are printed of DIR's recordings against DIR/times.json

FOLDER/changes.json has for each program its changes: the words that stood on the screen, and what they make of the source. Changes
without words are an expert's; they are timed with --by-hand alone.
Programs are spread over all GPUs, one at a time on each. Exit status: 0 when each program ran.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import queue
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
FOLDERS = [HERE / "advice", HERE / "gpu_bound"]
OWN_PROCESS = {"auto_gc", "gc_each_step", "hf_generate", "loader_threads"}  # what they leave behind would reach the next run of the same process
TURNS = """
import contextlib, io, json, runpy, sys, traceback
STEPS = json.loads(sys.argv[1])
def as_at_first():
    torch, dynamo = sys.modules.get("torch"), sys.modules.get("torch._dynamo")
    if torch is not None:
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.benchmark = False
    if dynamo is not None:
        dynamo.reset()
for name in sys.argv[2:]:
    said = io.StringIO()
    sys.argv = [name] + STEPS
    as_at_first()  # switches of the run before would stay on
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(name, run_name="__main__")
    except SystemExit:
        pass
    except Exception:
        traceback.print_exc()
    print("RUN " + json.dumps([name, said.getvalue()[-2000:]]), flush=True)
"""


def programs(names):
    found = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.py")) + sorted(folder.glob("*.cu"))}
    return {name: path for name, path in found.items() if not names or name in names}


def stored_row(path):
    stored = path.with_name("changes.json")
    return json.loads(stored.read_text()).get(path.stem, {}) if stored.exists() else {}


def changes_of(path, by_hand=True):
    """name of the change -> its words and texts, in the order in which they are made."""
    return {name: one for name, one in stored_row(path).get("changes", {}).items() if by_hand or "words" in one}


def steps_of(path):
    """Enough of them to time it; [] for as many as the program makes by itself."""
    steps = stored_row(path).get("steps")
    return ["--steps", str(steps)] if steps else []


def with_change(text, change):
    for old, new in change["replace"]:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times in the program")
        text = text.replace(old, new)
    return text


def command_of(path, folder):
    if path.suffix == ".py":
        return [sys.executable, str(path)]
    binary = folder / path.stem
    subprocess.run(["nvcc", "-arch=native", "-O2", "-g", "-lineinfo", "-std=c++17", "-o", binary, path, "-lcublas"], check=True)
    return [str(binary)]


def over_gpus(work, items):
    """Calls work(item, environment) for all items; each GPU has one at a time, and its share of the cores."""
    count = max(1, len(subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True).stdout.splitlines()))
    cores, free = sorted(os.sched_getaffinity(0)), queue.Queue()
    for gpu in range(count):
        free.put((gpu, cores[gpu * len(cores) // count:(gpu + 1) * len(cores) // count]))

    def one(item):
        gpu, own = free.get()
        begin = time.monotonic()
        try:
            done = work(item, ["taskset", "-c", ",".join(map(str, own))], os.environ | {"CUDA_VISIBLE_DEVICES": str(gpu)})
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            done = f"{error}"[-300:]
        finally:
            free.put((gpu, own))
        print(f"{item}: {time.monotonic() - begin:.1f} s {done or ''}", flush=True)
        return item, done

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return dict(pool.map(one, items))


def record(options):
    found = programs(options.names)

    def one(name, cores, environment):
        trace = options.out / f"{name}.synctrace"
        command = command_of(found[name], options.out)
        done = subprocess.run(cores + [options.synctrace, "run", "--quiet", "--report=none", "--force-overwrite", "-o", trace, "--"] + command,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=options.time_limit)
        (options.out / f"{name}.log").write_text(done.stdout[-4000:])
        return None if done.returncode == 0 else f"exit status {done.returncode}: {done.stdout[-300:]}"

    return [name for name, done in over_gpus(one, list(found)).items() if done]


def timed(said):
    step = re.search(r"ms/step=([0-9.e+-]+)", said)
    result = re.search(r"result=(.*)", said)
    if not step:
        raise ValueError(f"no time in: {said[-200:]}")
    return float(step.group(1)), [float(one) for one in result.group(1).split()]


def usual(runs):
    """The median of milliseconds a step. The first run of a process is often a cold one, and the host's speed differs."""
    return statistics.median(step for step, _ in runs)


def time_in_turns(options):
    found = programs(options.names)
    stored = options.out / "times.json"
    times = json.loads(stored.read_text()) if stored.exists() else {}

    def one(name, cores, environment):
        path, folder, variants = found[name], options.out / "typed" / name, {}
        folder.mkdir(parents=True, exist_ok=True)
        text = path.read_text()
        for change, what in {"base": {"replace": []}, **changes_of(path, options.by_hand)}.items():
            wanted = [pair for earlier in what.get("after", []) for pair in changes_of(path)[earlier]["replace"]] + what["replace"]
            variants[change] = folder / f"{change.replace(' ', '_')}{path.suffix}"
            variants[change].write_text(with_change(text, {"replace": wanted}))
        runs = {change: [] for change in variants}
        if path.suffix == ".cu" or name in OWN_PROCESS:
            commands = {change: command_of(one, folder) for change, one in variants.items()}
            turns = [(change, commands[change]) for _ in range(options.rounds) for change in variants]
            for change, command in turns:
                done = subprocess.run(cores + command + steps_of(path), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      timeout=options.time_limit)
                runs[change].append(timed(done.stdout))
        else:
            order = [str(variants[change]) for _ in range(options.rounds) for change in variants]
            command = cores + [sys.executable, "-c", TURNS, json.dumps(steps_of(path))] + order
            said = options.out / f"{name}.times.log"
            with said.open("w") as log:  # what ran before the time limit counts
                with contextlib.suppress(subprocess.TimeoutExpired):
                    subprocess.run(command, env=environment, stdout=log, stderr=subprocess.STDOUT, timeout=options.time_limit)
            for line in said.read_text().splitlines():
                if line.startswith("RUN "):
                    file, text = json.loads(line[4:])
                    if "ms/step=" in text:
                        runs[next(change for change, one in variants.items() if str(one) == file)].append(timed(text))
        times[name] = runs
        stored.write_text(json.dumps(times))
        if not runs["base"]:
            raise ValueError("no run of it ended in time")
        base = usual(runs["base"])
        return " ".join(f"{change} {usual(all_runs) / base - 1:+.1%} {all_runs[-1][1]}"
                        if all_runs else f"{change} failed" for change, all_runs in runs.items())

    over_gpus(one, list(found))
    return [name for name in found if name not in times]


def gain_of(runs, change):
    """The share of the time that it takes away, in percent."""
    return 100 * (1 - usual(runs[change]) / usual(runs["base"]))


def promises(savings, changes):
    """(change, promised, least, most) of each change that was typed and stands on the screen, in percent of the time, alone."""
    before = 0
    for remedy in savings["remedies"]:
        more, before = remedy["cumulative"]["ns"] - before, remedy["cumulative"]["ns"]
        if more < savings["base_ns"] / 100:
            continue
        low, saved, high = (100 * remedy["alone"][part] / savings["base_ns"] for part in ("lo_ns", "ns", "hi_ns"))
        for change, what in changes.items():
            if any(what["words"] in line for line in remedy["to_type"]):
                yield change, saved, low, high


def compare(options):
    """What the first change promises and what the changes gained; then each advised change that was typed, and whether its range holds."""
    times, kept, widths = json.loads((options.out / "times.json").read_text()), [], []
    for name, path in sorted(programs(options.names).items()):
        if name not in times:
            continue
        said = subprocess.run([options.synctrace, "report", "--format", "json", options.out / f"{name}.synctrace"],
                              stdout=subprocess.PIPE, check=True).stdout
        savings = json.loads(said)["processes"][0]["savings"]
        gains = {change: f"{gain_of(times[name], change):.1f} %" for change in times[name] if change != "base" and times[name][change]}
        for remedy in savings["remedies"][:1]:
            low, saved, high = (100 * remedy["alone"][part] / savings["base_ns"] for part in ("lo_ns", "ns", "hi_ns"))
            print(f"{name}: {saved:.1f} % ({low:.0f} to {high:.0f}) {remedy['title']}; timed: {gains}")
        for change, saved, low, high in promises(savings, changes_of(path, by_hand=False)):
            if change not in gains:
                continue
            gain = gain_of(times[name], change)
            kept.append(round(low) <= round(gain) <= round(high))
            widths.append(high - low)
            print(f"   {change}: {saved:.1f} % ({low:.0f} to {high:.0f}), timed {gain:.1f} %{'' if kept[-1] else '  MISSED'}")
    if kept:
        print(f"{sum(kept)} of {len(kept)} ranges hold; their median width is {statistics.median(widths):.0f} points")
    return []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("record", "time", "compare"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--synctrace", default="build/release/bin/synctrace")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--by-hand", action="store_true")
    parser.add_argument("--time-limit", type=float, default=150)
    options = parser.parse_intermixed_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    options.synctrace = str(pathlib.Path(options.synctrace).resolve())
    failed = {"record": record, "time": time_in_turns, "compare": compare}[options.what](options)
    print(f"{len(failed)} programs failed: {' '.join(failed)}" if failed else "every program ran")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
