# SPDX-License-Identifier: Apache-2.0
"""What the questions of libsynctrace/rollup must answer about a dataset: by `fleet report`, which adds up for itself, and by sums over
the rows that the reader of this folder reads. The same for each engine."""
import collections
import json
import pathlib

import datasets
import parquet_file

QUESTIONS = pathlib.Path(__file__).resolve().parents[2] / "libsynctrace" / "rollup"
ROWS = 20  # what a question shows at most
# Every engine must say the same in these columns. A line's file and function may come from any recording.
COLUMNS = {
    "lines": ("site", "what", "lost_ns", "recordings"), "jobs": ("job", "lost_ns", "gpu_ns"),
    "hosts": ("host", "waited_for_ns", "times_late", "recordings"), "commits": ("commit", "since_ns", "idle_ns_a_step", "recordings"),
    "regressions": ("job", "site", "commit", "commit_before", "idle_ns_a_step", "idle_ns_before"),
    "trend": ("job", "date", "recordings", "lines_that_wait", "waits", "blocked_ns"), "check": ("run", "device")}


def rows_by_job(dataset, table):
    for file in datasets.files_of(dataset, table):
        if file.suffix == ".parquet":
            job, date = (folder.name.split("=", 1)[1] for folder in (file.parents[2], file.parents[1]))
            for row in parquet_file.ParquetFile(file).rows:
                yield {**row, "job": job.replace("%20", " ").replace("%2F", "/"), "date": date}


def regressions(runs, sites):
    steps, begin, idle = collections.Counter(), {}, collections.Counter()
    for run in runs.values():
        key = run["job"], run["commit"]
        steps[key] += run["steps"] - run["irregular_steps"]
        begin[key] = min(begin.get(key, run["begin_ns"]), run["begin_ns"])
    for row in sites:
        if row["run"] in runs:
            idle[row["job"], runs[row["run"]]["commit"], row["site"]] += row["idle_in_steps_ns"]
    found = []
    for (job, commit, site), idle_ns in idle.items():
        commits = sorted((when, other[1]) for other, when in begin.items() if other[0] == job)
        place = commits.index((begin[job, commit], commit))
        if place > 0:
            before = commits[place - 1][1]
            now_ns, before_ns = idle_ns // steps[job, commit], idle[job, before, site] // steps[job, before] if (job, before, site) in idle else 0
            if now_ns > before_ns:
                found.append((job, site, commit, before, now_ns, before_ns))
    return sorted(found, key=lambda row: (row[5] - row[4], row[0], row[1]))


def trend(runs, sites):
    days = {}
    for run in runs:
        row = days.setdefault((run["job"], run["date"]), [0, set(), 0, 0])
        for place, value in ((0, 1), (2, run["waited"]), (3, run["host_blocked_ns"])):
            row[place] += value
    for site in sites:
        if site["waited"] > 0:
            days[site["job"], site["date"]][1].add(site["site"])
    return [(*key, row[0], len(row[1]), *row[2:]) for key, row in sorted(days.items())]


def of_dataset(dataset):
    """For each question its rows, of COLUMNS, as texts."""
    said = json.loads(datasets.ok("fleet", "report", "--format", "json", dataset).stdout)
    runs, sites = list(rows_by_job(dataset, "runs")), list(rows_by_job(dataset, "sites"))
    with_steps = {run["run"]: run for run in runs if run["steps"] > run["irregular_steps"]}
    rows = {
        "lines": [(line["site"], line["rule"], line["idle_ns"], line["recordings"]) for line in said["lines"]],
        "jobs": [(job["job"], job["idle_ns"], job["gpu_ns"]) for job in said["jobs"] if job["gpu_ns"] > 0],
        "hosts": [(host["host"], host["others_waited_ns"], host["times_late"], host["recordings"]) for host in said["hosts"]],
        "commits": [(one["commit"], one["since_ns"], one["idle_ns_a_step"], one["recordings"]) for one in said["commits"]],
        "regressions": regressions(with_steps, sites), "trend": trend(runs, sites), "check": []}
    long = ("commits", "trend")
    return {name: [tuple(map(str, row)) for row in (answer if name in long else answer[:ROWS])] for name, answer in rows.items()}


def differences(engine, name, rows, expected):
    """Sentences. `rows`: each a table of texts by column."""
    found = [tuple(row[column] for column in COLUMNS[name]) for row in rows]
    if found == expected:
        return []
    first = next((place for place, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), min(len(found), len(expected)))
    return [f"{engine}, {name}: {len(found)} rows, not {len(expected)}; row {first} is {found[first:first + 1]}, not {expected[first:first + 1]}"]
