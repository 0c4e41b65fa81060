# SPDX-License-Identifier: Apache-2.0
"""The table of calls that make the host wait, three ways: as expected (measured on an H200), by the program's own clock, and
as synctrace judges a recording. One recording per cell, so that a report's row is the cell.

blocking_calls.py --synctrace PATH --program PATH [--simgpu] [--level LEVEL] [--json FILE]
Exit status: 0 all three agree in every cell, 1 they do not.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

COLUMNS = ("nonblocking", "ordinary")


def rows(program, environment=None):
    """(row, call) pairs of the table, as the program lists them."""
    listed = subprocess.run([program, "--list"], check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return [tuple(line.split()) for line in listed.stdout.splitlines()]


def judged_in_report(report, call):
    """How many calls of that name waited, and how many synctrace could not tell, over all sites of a report."""
    sites = [site for site in report["waits"] + report.get("long_calls", []) if site["api"] == call]
    return sum(site["blocked_count"] for site in sites), sum(site.get("unclear_count", 0) for site in sites)


def judge_cell(options, row, call, column, folder):
    trace = pathlib.Path(folder) / f"{row}-{column}.synctrace"
    run = [options.synctrace, "run", "--quiet", "--report=none", f"--level={options.level}", "-o", str(trace)]
    run += ["--simgpu"] if options.simgpu else []
    done = subprocess.run(run + ["--", options.program, "--row", row, "--column", column], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{row}/{column}: status {done.returncode}: {done.stderr}")
    own = json.loads(done.stdout)[0]
    told = subprocess.run([options.synctrace, "report", "--format", "json", str(trace)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=600, check=False)
    if told.returncode != 0:
        raise RuntimeError(f"{row}/{column}: report ended with {told.returncode}: {told.stderr}")
    trace.unlink()
    blocked, unclear = judged_in_report(json.loads(told.stdout)["processes"][0], call)
    # A busy machine may hold up a call by itself, which synctrace tells as unclear; of the clear ones four of five decide.
    return {"row": row, "column": column, "call": call, "expected": own["expected"], "clock": own["blocked"],
            "synctrace": blocked > 0 and blocked >= 0.8 * (own["count"] - unclear), "calls": own["count"], "blocked": blocked,
            "unclear": unclear, "median_ms": own["median_ms"]}


def agrees(cell):
    return cell["expected"] == cell["clock"] == cell["synctrace"]


def judge_table(options):
    library_path = os.environ.copy()
    if options.simgpu:
        simgpu = pathlib.Path(options.synctrace).resolve().parent.parent / "simgpu"
        library_path["LD_LIBRARY_PATH"] = str(simgpu)
    with tempfile.TemporaryDirectory(prefix="synctrace-table-") as folder:
        return [judge_cell(options, row, call, column, folder)
                for row, call in rows(options.program, library_path) for column in COLUMNS]


def table_text(cells):
    def word(blocks):
        return "blocks" if blocks else "no"

    lines = [f"{'call':<28} {'stream':<12} {'expected':<9} {'clock':<9} {'synctrace':<10} {'median ms':>9}"]
    for cell in cells:
        lines.append(f"{cell['row']:<28} {cell['column']:<12} {word(cell['expected']):<9} {word(cell['clock']):<9} "
                     f"{word(cell['synctrace']):<10} {cell['median_ms']:>9.3f}{'' if agrees(cell) else '  DIFFERS'}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--synctrace", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--simgpu", action="store_true")
    parser.add_argument("--level", default="timeline")
    parser.add_argument("--json")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    cells = judge_table(options)
    print(table_text(cells))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    wrong = [cell for cell in cells if not agrees(cell)]
    added = measured_rows.Rows("causes", simulated=options.simgpu)
    added.add_of("calls-that-wait", f"cells as the clock says, level {options.level}", len(cells) - len(wrong), len(cells))
    print(f"{len(cells) - len(wrong)} of {len(cells)} cells agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
