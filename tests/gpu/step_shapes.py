# SPDX-License-Identifier: Apache-2.0
"""Steps and phases of programs that nobody annotated, in PyTorch, JAX, CuPy and C++, against what each program counted.

  step_shapes.py --synctrace PATH --programs FOLDER [--repetitions N] [--only WORD...] [--jobs N] [--folder FOLDER [--stored]]

Programs: step_shapes_torch.py and its kin, and the C++ ones of FOLDER (build/release/tests/bin). Frameworks that are
not installed are left out. Ends with a table. Exit status 1 when a shape is wrong, 77 when no GPU is here."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import measured_rows  # noqa: E402
import step_comparison  # noqa: E402

SHAPES = {
    "torch": ("module_loop", "function_loop", "generator_loop", "trainer_callbacks", "mnist", "dcgan", "imagenet",
              "nanogpt", "accumulate_modulo", "evaluation_inside", "sampling_inside", "decode_read", "decode_no_read",
              "mixture_of_experts", "reinforcement", "unfused_optimizer", "variable_shapes", "prefetch_thread"),
    "torch_nested": ("micro_batches", "varied_micro_batches", "own_optimizer", "own_optimizer_reads", "layers", "heads", "recurrent", "samples",
                     "reinforcement_iterations", "read_helper", "average_of_weights", "tasks", "diffusion", "graph_breaks", "engine"),
    "jax": ("rare_wait", "with_evaluation", "micro_batches", "samples", "two_functions"),
    "cupy": ("sweep", "stages"),
    "cpp": ("sync_each", "log_line", "solver", "two_streams", "graph_step", "two_phases", "wait_helper", "levels", "many_graphs"),
}
# Where nothing that is recorded need have the line of the loop; one that is named must be right all the same.
NO_LINES = ("cpp", "jax")
PATIENCE_S = 180


def is_installed(framework):
    return framework == "cpp" or subprocess.run([sys.executable, "-c", f"import {framework.partition('_')[0]}"], capture_output=True,
                                                check=False).returncode == 0


class Trial:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.environment = dict(os.environ, PYTHONPATH=str(HERE.parent / "programs" / "step_shapes"),
                                XLA_PYTHON_CLIENT_PREALLOCATE="false", PYTHONDONTWRITEBYTECODE="1")

    def command(self, framework, shape):
        if framework == "cpp":
            return [str(self.options.programs / "step_shapes" / "step_loops"), shape]
        return [sys.executable, str(HERE / f"step_shapes_{framework}.py"), shape]

    def told_and_found(self, framework, shape, trace):
        tool, told = str(self.options.synctrace), pathlib.Path(f"{trace}.told.json")
        if not self.options.stored:
            told.write_text(self.recorded(tool, framework, shape, trace), encoding="utf-8")
        report = subprocess.run([tool, "report", "--format", "json", trace], capture_output=True, text=True,
                                timeout=PATIENCE_S, check=False)
        if report.returncode != 0:
            raise RuntimeError(f"no report: {report.stderr[-300:]}")
        return json.loads(told.read_text(encoding="utf-8")), json.loads(report.stdout)["processes"][0]

    def recorded(self, tool, framework, shape, trace):
        """The last line of the program, which tells its steps."""
        run = subprocess.run([tool, "run", "--quiet", "--report=none", "--force-overwrite", "-o", trace, "--",
                              *self.command(framework, shape)], capture_output=True, text=True, env=self.environment,
                             timeout=PATIENCE_S, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"status {run.returncode}: {run.stderr[-300:]}")
        return run.stdout.splitlines()[-1]

    def row(self, framework, shape):
        row = step_comparison.Row(f"{framework} {shape}")
        for repetition in range(self.options.repetitions):
            trace = str(self.folder / f"{framework}_{shape}.{repetition}.synctrace")
            try:
                told, entry = self.told_and_found(framework, shape, trace)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                row.answers.append("nothing")
                row.problems.append(str(error).replace("\n", " "))
                continue
            problems = len(row.problems)
            row.add(told, entry, lines_known=framework not in NO_LINES)
            for problem in row.problems[problems:]:
                print(f"{trace}: {problem}", file=sys.stderr, flush=True)
        print(f"{row.shape}: {'right' if row.is_right() else 'wrong'}", file=sys.stderr, flush=True)
        return row


def add_rows(options, rows, missing):
    added = measured_rows.Rows("steps")
    if options.repetitions > 1:
        for row in rows:
            added.add_of("twenty", row.shape, max(map(row.answers.count, row.answers)) if not row.problems else 0, options.repetitions)
    elif options.only == [""] and not missing:
        added.add_of("recordings", f"{len(rows)} shapes, once each", sum(row.is_right() for row in rows), len(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synctrace", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[""], help="shapes with one of these words in their name")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--folder", type=pathlib.Path, help="for the traces")
    parser.add_argument("--stored", action="store_true", help="judge the traces that an earlier run left in the folder")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    if not options.stored and subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode != 0:
        print("no GPU here")
        return 77
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="step-shapes-"))
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [(framework, shape) for framework, shapes in SHAPES.items() for shape in shapes
              if any(word in f"{framework} {shape}" for word in options.only)]
    missing = [framework for framework in {framework for framework, _ in chosen} if not options.stored and not is_installed(framework)]
    trial = Trial(options, folder)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda each: trial.row(*each), [each for each in chosen if each[0] not in missing]))
    if missing:
        print(f"not installed: {', '.join(sorted(missing))}\n")
    add_rows(options, rows, missing)
    print(step_comparison.table(rows))
    return 0 if rows and all(row.is_right() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
