# SPDX-License-Identifier: Apache-2.0
"""The case studies of examples/pytorch on a real GPU: does the report of each stage say what an engineer found by hand, and is
the gain of the next stage the predicted one?

  case_studies.py --synctrace PATH --out DIR [--only STUDY] [--repetitions N]

Every stage is recorded once; then all are timed without the recorder, in turns. Writes case_studies.json and traces to DIR and
two tables in Markdown to stdout. Exit status 1 when something was not said; 77 without a GPU.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass, field, replace

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "pytorch"
RATE = re.compile(r"([0-9.]+) (?:samples|images|steps)/s")


def causes_of(report):
    device = max(report["devices"], key=lambda each: each["compute_ns"])
    return device["causes"] + device["copy_only_causes"]


def at(rows, text):
    return [row for row in rows if text in (row["source"] or "")]


def in_steps_ns(cause):
    return cause["idle_in_steps_ns"]


def rank(report, text):
    """The place of the first cause at this source text among those of one program, by idle time in the steps; 0 where none."""
    causes = sorted((cause for cause in causes_of(report) if in_steps_ns(cause) > 0), key=lambda cause: -in_steps_ns(cause))
    return next((number for number, cause in enumerate(causes, 1) if text in (cause["source"] or "")), 0)


def is_cause(text, rules, within=5):
    """One of the first causes, with one of the rules and its line."""
    def test(report):
        found = rank(report, text)
        rules_there = {cause["rule"] for cause in at(causes_of(report), text)}
        return 0 < found <= within and bool(rules_there & set(rules)), f"rank {found}, {', '.join(sorted(rules_there - {None}))}"
    return test


def is_wait(text):
    def test(report):
        waits = at(report["waits"], text)
        return any(wait["blocked_count"] > 1 for wait in waits), f"{sum(wait['blocked_count'] for wait in waits)} times"
    return test


def is_listed(text):
    def test(report):
        count = sum(wait["count"] for wait in at(report["waits"], text))
        return count > 1, f"{count} times"
    return test


def is_not_in_steps(text):
    """What happens once, after the steps, costs nothing in them."""
    def test(report):
        cost = sum(in_steps_ns(cause) for cause in at(causes_of(report), text))
        total = sum(in_steps_ns(cause) for cause in causes_of(report))
        return cost < 0.01 * max(total, 1), f"{cost / 1e6:.2f} ms"
    return test


def has_verdict(*words):
    return lambda report: (report["verdict"] in words, report["verdict"])


def warm_up_is_left_out(report):
    return report["steps"]["warm_up_count"] > 0, f"{report['steps']['warm_up_count']} steps"


def has_uneven_steps(report):
    steps = report["steps"]
    mean, median = steps["mean_ns"], steps["p50_ns"]
    return mean > 1.5 * median, f"mean {mean / 1e6:.1f} ms, median {median / 1e6:.1f}"


def has_irregular_steps(report):
    return report["steps"]["irregular_count"] > 0, f"{report['steps']['irregular_count']} steps"


@dataclass
class Change:
    """What leads from a stage to a later one: the lines that it fixes, by their source text, an assumption, or the rule of a printed change."""
    before: str
    after: str
    lines: tuple = ()
    assume: str = ""
    rule: str = ""
    fix: str = "fix"


@dataclass
class Study:
    name: str
    stages: tuple
    says: dict                        # stage -> {what: test}
    changes: list = field(default_factory=list)
    how: dict = field(default_factory=dict)  # stage -> options of the program, where they are not --stage STAGE

    @property
    def program(self):
        return EXAMPLES / self.name / "train.py"

    def command(self, stage):
        return [sys.executable, str(self.program), *self.how.get(stage, ("--stage", stage))]


# What an engineer found by hand, as the first screen says it: the line, and what to do about it.
SCREENS = {
    "point_strokes.baseline": ("loop in farthest_point_sampling", "above def farthest_point_sampling: @torch.compile", "int(n_strokes_per.max().item())",
                               "if not stroke_valid.any():", "upper bound", "torch.where", "of warm-up"),
    "point_strokes.fps": ("int(n_strokes_per.max().item())", "alone its wait moves to model.py:68", "if not stroke_valid.any():",
                          "linear_sum_assignment(", "Read the values every 50 steps"),
    "point_strokes.first_sync": ("if not stroke_valid.any():", "torch.where"),
    "point_strokes.syncs": ("GPU-BOUND",),
    "cifar_resnet.baseline": ("total_loss += loss.item()", "== targets).sum().item()", "keep loss.detach()", "inputs, targets = inputs.to(device",
                              "pin_memory=True", "pinned memory without waiting"),
    "cifar_resnet.deferred": ("inputs, targets = inputs.to(device", "pin_memory=True"),
    "cifar_resnet.pinned": ("GPU-BOUND", "No host code to change"),
    "bottleneck_lab.data0": ("INPUT-BOUND", "num_workers="),
    "bottleneck_lab.data4": ("INPUT-BOUND", "Steps are uneven", "for inputs, targets in batches:", "num_workers="),
    "bottleneck_lab.eager": ("LAUNCH-BOUND", "into a CUDA graph", "above forward of SmallOperations: @torch.compile"),
    "bottleneck_lab.graph": ("GPU-BOUND",),
    "bottleneck_lab.kernel": ("GPU-BOUND", "No host code to change"),
    "timeline_patterns.healthy": ("GPU-BOUND", "No host code to change"),
    "timeline_patterns.input": ("host code", "words["),
    "timeline_patterns.kernels": ("LAUNCH-BOUND", "x * 1.0001", "torch.compile"),
    "timeline_patterns.transfer": ("TRANSFER-BOUND", "self.on_host.to(self.device", "pin_memory"),
    "timeline_patterns.allocation": ("empty_cache()", "delete torch.cuda.empty_cache()"),
    "timeline_patterns.slow_step": ("irregular steps (below)", "6 irregular steps took 169.0 ms each", "module-load [ST040]"),
    "timeline_patterns.casts": ("torch.tensor(row).to(device)", "torch.stack"),
    "timeline_patterns.forward": ("print(", "every 50 steps"),
    "timeline_patterns.logging": ("loss.item()", "keep loss.detach()"),
    "timeline_patterns.first_steps": ("GPU-BOUND", "of warm-up"),
    "image_transfer.baseline": ("INPUT-BOUND", "num_workers="),
    "image_transfer.workers": ("TRANSFER-BOUND", "inputs = inputs.to(device", "192.0 MiB", "pin_memory=True"),
    "image_transfer.pinned": ("GPU-BOUND", "copies"),
    "image_transfer.streams": ("GPU-BOUND", "No host code to change"),
    "image_transfer.prefetcher": ("GPU-BOUND", "No host code to change"),
}

FPS_LOOP = ("chosen[:, i] = farthest", "centre = points[rows", "distance = torch.minimum", "farthest = distance.argmax(-1)")
MAX_N = "int(n_strokes_per.max().item())"
ANY = "if not stroke_valid.any():"
MATCHING = "linear_sum_assignment("

STUDIES = [
    Study("point_strokes", ("baseline", "loader", "fps", "first_sync", "syncs", "matching", "bf16", "tf32"),
          {"baseline": {"the loop of tiny kernels, by its line": is_cause("distance", ("ST050",)),
                        "the hidden read of a size": is_wait(MAX_N),
                        "the tensor used as a bool": is_wait(ANY),
                        "warm-up is left out": warm_up_is_left_out},
           "fps": {"the hidden read of a size": is_wait(MAX_N),
                   "the tensor used as a bool, which the first leaves nothing to wait for": is_listed(ANY),
                   "matching on the CPU": is_cause(MATCHING, ("ST052", "ST020", "ST012", "ST001")),
                   "the read at the end of the epoch is no cause in the steps": is_not_in_steps("epoch_loss.item()")},
           "first_sync": {"the tensor used as a bool": is_cause(ANY, ("ST020",), within=1)},
           "bf16": {"no hidden read is left": lambda report: (not at(report["waits"], MAX_N) + at(report["waits"], ANY), "")}},
          [Change("loader", "fps", FPS_LOOP, fix="graph"),
           Change("fps", "first_sync", (MAX_N,)), Change("fps", "syncs", (MAX_N, ANY)), Change("syncs", "matching", (MATCHING,)),
           Change("syncs", "tf32", rule="ST070")],
          {"tf32": ("--stage", "syncs", "--tf32")}),
    Study("cifar_resnet", ("baseline", "deferred", "pinned", "workers", "benchmark", "compile", "max_autotune", "scaler", "bf16", "channels_last", "tuned"),
          {"baseline": {"the read of the loss": is_wait("total_loss += loss.item()"),
                        "the read of the accuracy": is_wait("== targets).sum().item()"),
                        "the pageable copy": lambda report: (bool(at(report["pageable_copies"], "inputs.to(device")), ""),
                        "the loop over the loader": is_cause("in enumerate(loader)", ("ST051",), within=8)}},
          [Change("baseline", "deferred", ("total_loss += loss.item()", "== targets).sum().item()")),
           Change("deferred", "pinned", ("inputs, targets = inputs.to(device",)),
           Change("pinned", "workers", assume="no-input-wait"), Change("workers", "channels_last", rule="ST071"),
           Change("workers", "compile", rule="ST072"), Change("workers", "bf16", rule="ST074")]),
    Study("bottleneck_lab", ("data0", "data4", "data8", "eager", "graph", "kernel", "tf32"),
          {"data0": {"input-bound": has_verdict("input-bound")},
           "data4": {"input-bound": has_verdict("input-bound"), "mean and median differ": has_uneven_steps},
           "eager": {"launch-bound": has_verdict("launch-bound")},
           "kernel": {"GPU-bound: nothing to fix": has_verdict("gpu-bound")}},
          [Change("data0", "data4", assume="no-input-wait"),
           Change("data4", "data8", assume="no-input-wait"),
           Change("eager", "graph", assume="graph:train_step"), Change("kernel", "tf32", rule="ST070")],
          {"data0": ("--preset", "data"), "data4": ("--preset", "data", "--workers", "4"),
           "data8": ("--preset", "data", "--workers", "8"), "eager": ("--preset", "eager"), "graph": ("--preset", "graph"),
           "kernel": ("--preset", "kernel"), "tf32": ("--preset", "kernel", "--tf32")}),
    Study("timeline_patterns", ("healthy", "input", "kernels", "transfer", "allocation", "slow_step", "casts", "forward", "logging", "first_steps", "tf32"),
          {"healthy": {"nothing to fix": has_verdict("gpu-bound")},
           "input": {"the line that makes the sample": is_cause("words[", ("ST052", "ST051"))},
           "kernels": {"the loop of small kernels": is_cause("x * 1.0001", ("ST050",), within=1)},
           "transfer": {"the pageable copy": is_cause("self.on_host.to(self.device)", ("ST011",), within=1)},
           "allocation": {"allocation in the loop": is_cause("empty_cache()", ("ST030", "ST031"), within=2)},
           "slow_step": {"irregular steps told apart": has_irregular_steps},
           "casts": {"the small copies and casts": is_cause("torch.tensor(row)", ("ST011", "ST050", "ST020"), within=2)},
           "forward": {"the tensor that is printed": is_cause("print(", ("ST020",), within=2)},
           "logging": {"the read of the loss": is_cause("loss.item()", ("ST020",), within=2)},
           "first_steps": {"warm-up is left out": warm_up_is_left_out}},
          [Change("transfer", "healthy", assume="pinned"), Change("logging", "healthy", ("loss.item()",)),
           Change("allocation", "healthy", ("torch.cuda.empty_cache()", "torch.zeros(64")), Change("healthy", "tf32", rule="ST070")],
          {"tf32": ("--stage", "healthy", "--tf32")}),
    Study("image_transfer", ("baseline", "workers", "pinned", "streams", "prefetcher", "channels_last", "compile", "bf16", "tuned"),
          {"baseline": {"input-bound": has_verdict("input-bound")},
           "workers": {"the pageable copy, with its line": is_cause("inputs = inputs.to(device", ("ST011",))},
           "pinned": {"copies that compute waits for": is_cause("inputs = inputs.to(device", ("ST053",))},
           "streams": {"GPU-bound: no gain left": has_verdict("gpu-bound")}},
          [Change("baseline", "workers", assume="no-input-wait"), Change("workers", "pinned", assume="pinned"),
           Change("streams", "prefetcher", ("for inputs, targets in batches:",)), Change("pinned", "channels_last", rule="ST071"),
           Change("pinned", "compile", rule="ST072"), Change("pinned", "bf16", rule="ST074")]),
]


def record(options, study, stage):
    trace = options.out / f"{study.name}.{stage}.synctrace"
    command = [options.synctrace, "run", "--quiet", "--report=none", "--force-overwrite", "-o", str(trace), "--",
               *study.command(stage)]
    subprocess.run(command, check=True, timeout=240, capture_output=True, text=True)
    return trace


def report_of(options, trace, *more):
    done = subprocess.run([options.synctrace, "report", "--format", "json", *more, str(trace)], check=True, timeout=240,
                          capture_output=True, text=True)
    return json.loads(done.stdout)["processes"][0]


def lines_with(study, text):
    for source in sorted(study.program.parent.glob("*.py")):
        for number, line in enumerate(source.read_text().splitlines(), 1):
            if text in line:
                return f"{source.name}:{number}"
    raise SystemExit(f"{study.name}: no line has {text!r}")


def screen_of(options, trace):
    done = subprocess.run([options.synctrace, "report", str(trace)], check=True, timeout=240, capture_output=True, text=True)
    return done.stdout


def not_on(screen, name):
    """The words that the first screen of a stage has to say, and does not."""
    return [words for words in SCREENS.get(name, ()) if words not in screen]


def printed(options, trace, rule):
    """The saving of the change with this rule, alone, as the report prints it."""
    savings = report_of(options, trace)["savings"]
    for remedy in savings["remedies"] if savings["refused"] is None else ():
        if remedy["rule"] == rule:
            alone = remedy["alone"]
            return {"saving": alone["ns"] / savings["base_ns"], "lo": alone["lo_ns"] / savings["base_ns"], "hi": alone["hi_ns"] / savings["base_ns"]}
    return {"refused": f"{rule} is not printed"}


def predict(options, study, change):
    trace = options.out / f"{study.name}.{change.before}.synctrace"
    if change.rule:
        return printed(options, trace, change.rule)
    if change.assume:
        question = ["--assume", change.assume]
    else:
        question = ["--what-if", ",".join(f"{change.fix}@{lines_with(study, text)}" for text in change.lines)]
    savings = report_of(options, trace, *question)["savings"]
    if savings is None or savings["refused"] is not None or savings["asked"] is None:
        return {"refused": savings and savings["refused"]}
    asked = savings["asked"]
    return {"question": question, "saving": asked["saving"]["ns"] / savings["base_ns"], "lo": asked["saving"]["lo_ns"] / savings["base_ns"],
            "hi": asked["saving"]["hi_ns"] / savings["base_ns"], "moves_to": [one["moves_to"] for one in asked["fixes"] if one["moves_to"]]}


def rate_of(study, stage):
    done = subprocess.run(study.command(stage), check=True, timeout=400, capture_output=True, text=True)
    return float(RATE.search(done.stderr).group(1))


def first_advice(report):
    causes = sorted(causes_of(report), key=lambda cause: -in_steps_ns(cause))
    if not causes or in_steps_ns(causes[0]) == 0:
        return "none"
    first = causes[0]
    return f"{first['rule'] or '-'} {first['cause']} `{(first['source'] or '-').strip()[:60]}`"


def judge(options, study):
    rows, missing = [], 0
    for stage in study.stages:
        try:
            trace = record(options, study, stage)
            report = report_of(options, trace)
            screen = screen_of(options, trace)
        except subprocess.CalledProcessError as failed:
            print(f"| {study.name} | {stage} | {failed.stderr.strip().splitlines()[-1][:100]} |", flush=True)
            missing += 1
            continue
        said = {}
        for what, test in study.says.get(stage, {}).items():
            good, seen = test(report)
            said[what] = {"said": bool(good), "seen": seen}
            missing += not good
        lacking = not_on(screen, f"{study.name}.{stage}")
        said["the first screen"] = {"said": not lacking, "seen": "; ".join(lacking) or f"{len(screen.splitlines())} lines"}
        missing += bool(lacking)
        rows.append({"study": study.name, "stage": stage, "verdict": report["verdict"], "evidence": report["verdict_evidence"],
                     "advice": first_advice(report), "said": said})
        words = "; ".join(f"{'yes' if one['said'] else '**no**'}: {what} ({one['seen']})" for what, one in said.items())
        print(f"| {study.name} | {stage} | {report['verdict']} | {rows[-1]['advice']} | {words} |", flush=True)
    predictions = [{"before": change.before, "after": change.after, **predict(options, study, change)} for change in study.changes]
    return rows, predictions, missing


def only(study, stages):
    return replace(study, stages=tuple(stage for stage in study.stages if stage in stages),
                   changes=[change for change in study.changes if change.before in stages and change.after in stages])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synctrace", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--stages", default="", help="only these, separated by commas, and the changes between them")
    parser.add_argument("--repetitions", type=int, default=2)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    if subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode != 0:
        print("no GPU here")
        return 77
    options.out.mkdir(parents=True, exist_ok=True)
    studies = [only(study, options.stages.split(",")) if options.stages else study for study in STUDIES if options.only in study.name]
    print("| study | stage | verdict | first cause | must say |\n|---|---|---|---|---|")
    result, missing, said = [], 0, 0
    for study in studies:
        rows, predictions, bad = judge(options, study)
        missing += bad
        said += not bad
        result.append({"study": study.name, "stages": rows, "predictions": predictions, "rates": {stage: [] for stage in study.stages}})
    (options.out / "case_studies.json").write_text(json.dumps(result, indent=1))
    for _ in range(options.repetitions):
        for study, one in zip(studies, result):
            for stage in study.stages:
                one["rates"][stage].append(rate_of(study, stage))
            (options.out / "case_studies.json").write_text(json.dumps(result, indent=1))
    added = measured_rows.Rows("savings")
    if not options.only:
        measured_rows.Rows("causes").add_of("by-hand", "case studies, all items said", said, len(studies))
    print("\n| study | change | per second before | after | measured, % less time | predicted | moves to |\n|---|---|---|---|---|---|---|")
    for one in result:
        for change in one["predictions"]:
            before, after = (statistics.median(one["rates"][change[when]]) for when in ("before", "after"))
            if "saving" in change:
                case = f"{one['study']}, {change['before']} -> {change['after']}"
                added.add("case-studies", f"{case}: predicted", f"{100 * change['saving']:.1f}", "%", f"{100 * change['lo']:.1f} to {100 * change['hi']:.1f}")
                added.add("case-studies", f"{case}: timed", f"{100 * (1 - before / after):.1f}", "%")
            words = f"{100 * change['saving']:.1f} ({100 * change['lo']:.1f} to {100 * change['hi']:.1f})" if "saving" in change else "refused"
            print(f"| {one['study']} | {change['before']} -> {change['after']} | {before:.1f} | {after:.1f} | {100 * (1 - before / after):.1f} | "
                  f"{words} | {', '.join(change.get('moves_to', []))} |")
        print(f"| {one['study']} | all stages | " + " | ".join(f"{stage} {statistics.median(rates):.1f}" for stage, rates in one["rates"].items()) + " |")
    print(f"{missing} not said")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
