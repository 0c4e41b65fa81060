# SPDX-License-Identifier: Apache-2.0
"""Every marked line of torch_line_cases.py is reported as a wait, at its file, line and function and with its text, and no
other line is.

torch_lines.py --synctrace PATH [--level LEVEL] [--json FILE] [--trace FILE]
Prints a table in Markdown. Exit status: 0 all found and nothing else, 1 not so.
"""
import argparse
import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

WORKLOAD = pathlib.Path(__file__).resolve().with_name("torch_line_cases.py")
MARK = re.compile(r"  # waits: (.+)$")


def functions_of(text):
    """Qualified name of the function of each line, as Python names it."""
    names = {}

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                name = prefix + child.name
                names.update({number: name for number in range(child.lineno, child.end_lineno + 1)})
                visit(child, name + ".<locals>.")
            elif isinstance(child, ast.ClassDef):
                visit(child, prefix + child.name + ".")
            else:
                visit(child, prefix)

    visit(ast.parse(text), "")
    return names


def expectations(text):
    """Marked lines: number -> (name, function, source)."""
    functions = functions_of(text)
    marked = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = MARK.search(line)
        if found:
            marked[number] = (found.group(1), functions.get(number, "<module>"), line.strip())
    return marked


def setup_lines(text):
    return {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# setup")}


def record(options, folder):
    trace = pathlib.Path(options.trace or pathlib.Path(folder, "torch_lines.synctrace"))
    run = [options.synctrace, "run", "--quiet", "--report=none", "--force-overwrite", f"--level={options.level}", "-o", str(trace)]
    done = subprocess.run(run + ["--", sys.executable, str(WORKLOAD)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=400, check=False)
    if done.returncode != 0 or done.stdout != "done\n":
        raise RuntimeError(f"the workload ended with {done.returncode}: {done.stdout}{done.stderr}")
    told = subprocess.run([options.synctrace, "report", "--format", "json", str(trace)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    if told.returncode != 0:
        raise RuntimeError(f"the report ended with {told.returncode}: {told.stderr}")
    return json.loads(told.stdout)["processes"][0]


def is_function(reported, expected):
    """torch.compile continues a function behind a graph break in a function of its own, whose name has no class."""
    return reported in (expected, expected.rsplit(".", 1)[-1])


def judge_line(number, expected, sites):
    """One row of the table; `problem` is empty when all is well."""
    name, function, source = expected
    here = [site for site in sites if site["file"] == str(WORKLOAD) and site["line"] == number]
    waited = [site for site in here if site["blocked_count"] > 0]
    row = {"name": name, "line": number, "function": function, "source": source, "problem": "",
           "rules": sorted({site["rule"] or "-" for site in waited}), "apis": sorted({site["api"] for site in waited}),
           "count": sum(site["blocked_count"] for site in waited),
           "blocked_ms": sum(site["host_blocked_ns"] for site in waited) / 1e6}
    if not here:
        row["problem"] = "not found"
    elif not waited:
        row["problem"] = "no wait"
    elif not all(is_function(site["function"], function) for site in here):
        row["problem"] = f"function {[site['function'] for site in here]}"
    elif not all(site["source"] == source for site in here):
        row["problem"] = f"source {[site['source'] for site in here]}"
    return row


def wrong_sites(sites, expected, setup):
    """Sites that waited at lines that were not expected to, or at none, and lines that are said to be made to wait."""
    return [site for site in sites
            if (site["blocked_count"] > 0 or (site["redundant_count"] > 0 and site["file"] is not None))
            and not (site["file"] == str(WORKLOAD) and (site["line"] in expected or site["line"] in setup))]


def table(rows):
    lines = ["| case | line | function | source | rule | CUDA call | waits | waited ms | |", "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        source = MARK.sub("", row["source"]).strip().replace("|", "\\|")
        lines.append(f"| {row['name']} | {row['line']} | `{row['function']}` | `{source}` | {', '.join(row['rules'])} | "
                     f"{', '.join(row['apis'])} | {row['count']} | {row['blocked_ms']:.1f} | {row['problem'] or 'found'} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--synctrace", required=True)
    parser.add_argument("--level", default="timeline")
    parser.add_argument("--json")
    parser.add_argument("--trace", help="where to leave the trace")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    text = WORKLOAD.read_text(encoding="utf-8")
    expected = expectations(text)
    with tempfile.TemporaryDirectory(prefix="synctrace-lines-") as folder:
        report = record(options, folder)
    rows = [judge_line(number, one, report["waits"]) for number, one in sorted(expected.items())]
    wrong = wrong_sites(report["waits"], expected, setup_lines(text))
    print(table(rows))
    for site in wrong:
        print(f"wrong line: {site['file']}:{site['line']} in {site['function']}: {site['api']}, {site['blocked_count']} of "
              f"{site['count']} waited for {site['host_blocked_ns'] / 1e6:.3f} ms")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"lines": rows, "wrong": wrong}, indent=1) + "\n", encoding="utf-8")
    missed = [row for row in rows if row["problem"]]
    added = measured_rows.Rows("lines")
    added.add_of("marked-lines", f"lines found, level {options.level}", len(rows) - len(missed), len(rows))
    added.add("marked-lines", "wrong lines", len(wrong))
    print(f"{len(rows) - len(missed)} of {len(rows)} lines found, {len(wrong)} wrong lines")
    return 1 if missed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
