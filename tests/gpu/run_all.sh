#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that has to be shown on a real GPU, some 35 minutes on one:
#
#   [PARTS="e2e gate"] tests/gpu/run_all.sh RESULTS_DIR [BUILD_DIR]
#
# Builds the release preset unless a build folder is given, whose programs need their debug information. Every part has
# its own time limit, goes on when another part failed, and leaves its output in RESULTS_DIR; the summary is on stdout
# and in RESULTS_DIR/summary.txt. Exit status: 0 when every part passed or was skipped.
set -uo pipefail

if [ $# -lt 1 ]; then
  sed -n '3,9s/^# \{0,1\}//p' "$0"
  exit 2
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
results=$(cd "$1" && pwd)
if [ $# -ge 2 ]; then
  build=$(cd "$2" && pwd)
else
  build=$root/build/release
  (cd "$root" && cmake --preset release && cmake --build --preset release) >"$results/build.txt" 2>&1 || {
    echo "the build failed: $results/build.txt"
    exit 1
  }
fi
synctrace=$build/bin/synctrace
library=$build/lib/libsynctrace.so
programs=$build/tests/bin
summary=$results/summary.txt
traces=$results/traces
mkdir -p "$traces"
: >"$summary"
failures=0

say() { echo "$*" | tee -a "$summary"; }
verdict() {  # verdict NAME STATUS REMARK
  if [ "$2" -eq 0 ]; then say "ok      $1  $3"; else say "FAILED  $1  $3"; failures=$((failures + 1)); fi
}
skip() { say "skipped $1  $2"; }
row() { python3 -B "$root/tests/support/measured_rows.py" "$@"; }  # adds to MEASURED_ROWS, if that is set

# The runtime that the programs were linked with may only be in a Python wheel here.
find_runtime() {
  if ! ldd "$build/bin/sync_per_step" | grep -q 'libcudart.so.13 => not found'; then return; fi
  local folder
  folder=$(python3 -c 'import site, pathlib
for base in site.getsitepackages():
    for found in pathlib.Path(base).glob("nvidia/*/lib/libcudart.so.13"):
        print(found.parent)' 2>/dev/null | head -n 1)
  [ -n "$folder" ] && export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

run() { "$synctrace" run --force-overwrite -o "$traces/$1" "${@:2}"; }
recorded() { "$synctrace" report --format json "$traces/$1.synctrace"; }
# value FIELD: a field of the one-line JSON on stdin
value() { python3 -c "import json, sys; print(json.loads(sys.stdin.read().strip().splitlines()[-1])['$1'])"; }

part_doctor() {
  timeout -k 5 30 "$synctrace" doctor >"$results/doctor.txt" 2>&1
  verdict doctor 0 "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)"
}

part_examples() {
  local name
  for name in sync_per_step event_sync redundant_sync polling blocking_copy default_stream pageable_async free_in_loop \
    late_launch tiny_kernels healthy_pipeline; do
    "$build/bin/$name" >"$results/$name.alone.txt" 2>/dev/null
    local alone=$?
    timeout -k 5 60 "$synctrace" run --force-overwrite -o "$traces/$name" -- "$build/bin/$name" \
      >"$results/$name.recorded.txt" 2>"$results/$name.report.txt"
    local status=$?
    if [ $status -eq $alone ] && cmp -s "$results/$name.alone.txt" "$results/$name.recorded.txt"; then
      verdict "example $name" 0 ""
    else
      verdict "example $name" 1 "status $status, alone $alone"
    fi
  done
}

part_blocking_calls() {
  local level
  for level in timeline syncs; do
    timeout -k 5 150 python3 "$root/tests/gpu/blocking_calls.py" --synctrace "$synctrace" --program "$programs/blocking_calls" \
      --level "$level" --json "$results/blocking_calls.$level.json" >"$results/blocking_calls.$level.txt" 2>&1
    verdict "blocking_calls ($level)" $? "$(tail -n 1 "$results/blocking_calls.$level.txt")"
  done
}

# Status 77: nothing that it needs is installed.
part_host_waits() {
  timeout -k 5 600 python3 "$root/tests/gpu/host_waits.py" --synctrace "$synctrace" --json "$results/host_waits.json" \
    >"$results/host_waits.txt" 2>&1
  local status=$?
  [ $status -eq 77 ] && status=0
  verdict host_waits $status "$(tail -n 1 "$results/host_waits.txt")"
}

part_survival() {
  local way status alone limit
  for way in return exit exit_in_thread _exit quick_exit exception abort sigterm sigint sigkill sigsegv sigterm_handled \
    pthread_exit cuda_in_destructor device_reset; do
    # Where libcuda has threads of its own, a process whose main thread left by pthread_exit may never end, alone or not.
    [ "$way" = pthread_exit ] && limit=5 || limit=30
    (ulimit -c 0; timeout -k 5 $limit "$programs/exit_paths" "$way" >"$results/way.alone.txt") 2>/dev/null
    alone=$?
    (ulimit -c 0; LD_PRELOAD=$library SYNCTRACE_OUTPUT="$traces/exit_$way" SYNCTRACE_FORCE_OVERWRITE=1 \
      timeout -k 5 $limit "$programs/exit_paths" "$way" >"$results/way.recorded.txt" 2>"$results/exit_$way.stderr.txt") 2>/dev/null
    status=$?
    local trace=$traces/exit_$way.synctrace
    [ -e "$trace" ] || trace=$trace.partial
    if [ $status -eq $alone ] && cmp -s "$results/way.alone.txt" "$results/way.recorded.txt" &&
      "$synctrace" report --format json "$trace" >"$results/way.json" 2>&1; then
      verdict "exit $way" 0 "status $status"
    else
      verdict "exit $way" 1 "status $status, alone $alone, see exit_$way.stderr.txt"
    fi
  done
  local name
  for name in fork_with_cuda fork_before_cuda vfork_spawn exec_self threads64 threads64_ptds dlclose_user nvtx_ranges \
    graph_replay stream_capture pool_alloc memory_kinds driver_module "many_children 200 3"; do
    read -r -a command <<<"$name"
    (timeout -k 5 60 "$programs/${command[0]}" "${command[@]:1}" >"$results/way.alone.txt" 2>/dev/null)
    alone=$?
    (timeout -k 5 60 "$synctrace" run --quiet -o "$traces/${command[0]}.%p" -- "$programs/${command[0]}" "${command[@]:1}" \
      >"$results/way.recorded.txt" 2>"$results/${command[0]}.stderr.txt")
    status=$?
    if [ $status -eq $alone ] && cmp -s "$results/way.alone.txt" "$results/way.recorded.txt"; then
      verdict "$name" 0 "status $status"
    else
      verdict "$name" 1 "status $status, alone $alone, see ${command[0]}.stderr.txt"
    fi
  done
}

part_kills() {
  local i bad=0 pid delay trace
  for i in $(seq 10); do
    delay=$(python3 -c "import random; print(random.Random($i).uniform(0.5, 2.5))")
    trace=$traces/kill_$i.synctrace
    LD_PRELOAD=$library SYNCTRACE_OUTPUT="$traces/kill_$i" SYNCTRACE_FORCE_OVERWRITE=1 "$programs/endless" \
      >"$results/kill.txt" 2>&1 &
    pid=$!
    sleep "$delay"
    kill -KILL $pid
    wait $pid 2>/dev/null
    [ -e "$trace" ] || trace=$trace.partial
    [ -e "$trace" ] || continue  # killed before the first CUDA call came back
    "$synctrace" report --format json "$trace" >/dev/null 2>>"$results/kills.txt" || bad=$((bad + 1))
  done
  verdict "SIGKILL at 10 random moments" $bad "$bad unreadable"
  row survival ends "SIGKILL at random moments: readable traces" $((10 - bad)) of 10
}

# The end-to-end tests, here on the real GPU: exact counts, windows, 64 threads.
part_e2e() {
  local name
  for name in capture_counts capture_windows capture_examples native_stacks survival_load survival_descriptors survival_strict \
    record_kinds loader_churn; do
    (cd "$root/tests/e2e" && SYNCTRACE_BIN=$synctrace SYNCTRACE_LIB=$library PROGRAMS_DIR=$programs SIMGPU_DIR= \
      PYTHONDONTWRITEBYTECODE=1 timeout 300 python3 "$name.py") >"$results/e2e.$name.txt" 2>&1
    verdict "e2e $name" $? "$(tail -n 1 "$results/e2e.$name.txt")"
  done
}

# One million launches: what is dropped, what is on disk, what is in memory.
part_launch_many() {
  timeout -k 5 60 "$programs/launch_many" 1000000 1 >/dev/null 2>"$results/launch_many.bare.json"
  timeout -k 5 90 "$synctrace" run --quiet --force-overwrite --report=none -o "$traces/launch_many" -- \
    "$programs/launch_many" 1000000 1 >/dev/null 2>"$results/launch_many.timeline.json"
  timeout -k 5 90 "$synctrace" run --quiet --force-overwrite --report=none -o "$traces/launch_many_8" -- \
    "$programs/launch_many" 1000000 8 >/dev/null 2>"$results/launch_many_8.timeline.json"
  recorded launch_many >"$results/launch_many.report.json" 2>"$results/launch_many.report.stderr.txt"
  recorded launch_many_8 >"$results/launch_many_8.report.json" 2>>"$results/launch_many.report.stderr.txt"
  python3 -B - "$results" "$traces" "$root/tests/support" >"$results/launch_many.txt" 2>&1 <<'PYTHON'
import json, os, sys
results, traces, support = sys.argv[1:4]
sys.path.insert(0, support)
import measured_rows
rows = measured_rows.Rows("survival")
def last_json(name):
    return json.loads(open(f"{results}/{name}").read().strip().splitlines()[-1])
bare = last_json("launch_many.bare.json")
good = True
for name in ("launch_many", "launch_many_8"):
    with_tool = last_json(f"{name}.timeline.json")
    report = json.load(open(f"{results}/{name}.report.json"))["processes"][0]
    kernels = sum(work["count"] for work in report["work"] if work["what"] == "kernels")
    wanted = with_tool["launches"]
    per_kernel = os.path.getsize(f"{traces}/{name}.synctrace") / wanted
    more_mib = (with_tool["peak_rss_kib"] - bare["peak_rss_kib"]) / 1024
    losses = [(loss["name"], loss["count"]) for loss in report["losses"] if loss["severity"] != "note"]
    case = "a million launches of C++, 8 threads" if name.endswith("8") else "a million launches of C++"
    rows.add_of("launches", f"{case}: kernels", kernels, wanted)
    rows.add("launches", f"{case}: bytes each", f"{per_kernel:.1f}", "B")
    rows.add("launches", f"{case}: more memory", f"{more_mib:.1f}", "MiB")
    good = good and kernels == wanted and not losses and per_kernel <= 40 and more_mib <= 64
    print(f"{name}: {kernels} of {wanted} kernels, losses {losses}, {per_kernel:.1f} B per kernel, {more_mib:+.1f} MiB, "
          f"{with_tool['launches_per_second']:.0f} launches/s (bare {bare['launches_per_second']:.0f})")
sys.exit(0 if good else 1)
PYTHON
  verdict "launch_many 1,000,000" $? ""
  tee -a "$summary" <"$results/launch_many.txt"
}

part_launch_cost() {
  timeout -k 5 90 "$programs/launch_cost" --rounds 8 >"$results/launch_cost.bare.json" 2>"$results/launch_cost.bare.stderr.txt"
  SYNCTRACE_TEST_CONTROL=1 LD_PRELOAD=$library SYNCTRACE_OUTPUT="$traces/launch_cost" SYNCTRACE_FORCE_OVERWRITE=1 \
    timeout -k 5 120 "$programs/launch_cost" --rounds 24 >"$results/launch_cost.json" 2>"$results/launch_cost.stderr.txt"
  verdict launch_cost $? ""
  python3 - "$results/launch_cost.json" <<'PYTHON' | tee -a "$summary"
import json, sys
for row in json.load(open(sys.argv[1]))["results"]:
    print("  " + row["workload"] + ": " + ", ".join(f"{m} {v['median_ns']:.0f} ns ({v['ratio']:.3f})" for m, v in row["modes"].items()))
PYTHON
}

part_torch() {
  if ! python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    skip torch "no PyTorch with CUDA"
    return
  fi
  local loop=$root/tests/gpu/torch_loop.py
  timeout -k 5 60 python3 "$loop" >"$results/torch.alone.txt" 2>"$results/torch.alone.stderr.txt"
  LD_PRELOAD=$library SYNCTRACE_OUTPUT="$traces/torch_preload" SYNCTRACE_FORCE_OVERWRITE=1 \
    SYNCTRACE_REPORT="$results/torch_preload.report.txt" \
    timeout -k 5 60 python3 "$loop" >"$results/torch.preload.txt" 2>"$results/torch.preload.stderr.txt"
  local preload=$?
  timeout -k 5 60 "$synctrace" run --force-overwrite -o "$traces/torch_run" -- python3 "$loop" \
    >"$results/torch.run.txt" 2>"$results/torch.run.stderr.txt"
  local wrapped=$?
  cmp -s "$results/torch.alone.txt" "$results/torch.preload.txt"
  verdict "LD_PRELOAD python3 torch_loop.py" $((preload + $?)) "$(cat "$results/torch.preload.txt")"
  cmp -s "$results/torch.alone.txt" "$results/torch.run.txt"
  verdict "synctrace run python3 torch_loop.py" $((wrapped + $?)) "$(tail -n 1 "$results/torch.run.stderr.txt")"
  SYNCTRACE_TEST_CONTROL=1 LD_PRELOAD=$library SYNCTRACE_OUTPUT="$traces/torch_windows" SYNCTRACE_FORCE_OVERWRITE=1 \
    timeout -k 5 120 python3 "$root/tests/gpu/overhead/torch_windows.py" synctrace --seconds 5 \
    >"$results/torch_windows.jsonl" 2>"$results/torch_windows.stderr.txt"
  verdict torch_windows $? ""
  python3 -B "$root/tests/gpu/overhead/tables.py" "$results/torch_windows.jsonl" | tee -a "$summary"
}

# The unwinder against others: its tables over the libraries that are here (libdw.so.1 and libelf.so.1 are needed), its
# walks over the stacks of two programs (libunwind.so.8 is used where it is), known ones among them.
part_unwinder() {
  timeout -k 5 300 python3 -B "$root/tests/gpu/unwind_tables.py" "$programs/unwind_oracle" >"$results/unwind_tables.txt" 2>&1
  verdict "unwind tables" $? ""
  grep -E ' functions, ' "$results/unwind_tables.txt" | sed 's/^/  /' | tee -a "$summary"
  UNWIND_WALKS_OUT=$results/unwind_walks.program.json CUDA_INJECTION64_PATH=$programs/unwind_walks.so \
    timeout -k 5 60 "$programs/blocking_calls" >"$results/unwind_walks.txt" 2>&1
  if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    UNWIND_WALKS_OUT=$results/unwind_walks.torch.json CUDA_INJECTION64_PATH=$programs/unwind_walks.so \
      timeout -k 5 120 python3 "$root/tests/gpu/torch_loop.py" >>"$results/unwind_walks.txt" 2>&1
  fi
  local file
  for file in "$results"/unwind_walks.*.json; do
    python3 -B - "$file" "$root/tests/support" <<'PYTHON'
import json, sys
sys.path.insert(0, sys.argv[2])
import measured_rows
walks = json.load(open(sys.argv[1]))
case = "blocking_calls" if "program" in sys.argv[1].rpartition("/")[2] else "PyTorch loop"
measured_rows.Rows("lines").add_of("native", f"walks equal to libgcc's, {case}", walks["equal_to_libgcc"], walks["walks"])
measured_rows.Rows("lines").add_of("native", f"known walks equal, {case}", walks["equal_to_known"], walks["known"])
whole = [walks["equal_to_libgcc"]] + ([walks["equal_to_libunwind"]] if walks["libunwind"] else [])
known = walks["known"] and walks["equal_to_known"] == walks["known"]
sys.exit(0 if known and walks["walks"] and min(whole) >= 0.999 * walks["walks"] else 1)
PYTHON
    verdict "walks: $(basename "$file" .json)" $? "$(cat "$file")"
  done
}

part_torch_lines() {
  if ! python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    skip torch_lines "no PyTorch with CUDA"
    return
  fi
  local level
  for level in timeline syncs; do
    timeout -k 5 500 python3 "$root/tests/gpu/torch_lines.py" --synctrace "$synctrace" --level "$level" \
      --trace "$traces/torch_lines.$level.synctrace" --json "$results/torch_lines.$level.json" >"$results/torch_lines.$level.md" 2>&1
    verdict "torch_lines ($level)" $? "$(tail -n 1 "$results/torch_lines.$level.md")"
  done
}

# Programs with a known bottleneck: verdict and first cause.
part_causes() {
  if ! python3 -c 'import torch, jax, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    skip causes "no PyTorch with CUDA, or no JAX"
    return
  fi
  timeout -k 5 400 python3 "$root/tests/gpu/causes.py" --build "$build" --traces "$traces" --json "$results/causes.json" \
    >"$results/causes.md" 2>&1
  verdict causes $? "$(tail -n 1 "$results/causes.md")"
}

# What the first remedy promises, against the same remedy applied. Status 77: no GPU.
part_group_savings() {
  if ! python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    skip group_savings "no PyTorch with CUDA"
    return
  fi
  timeout -k 5 400 python3 "$root/tests/gpu/group_savings.py" --synctrace "$synctrace" --out "$results" --repetitions 2 \
    >"$results/group_savings.md" 2>&1
  verdict group_savings $? "$(tail -n 1 "$results/group_savings.md")"
}

# Status 77: neither PyTorch nor JAX is here.
part_gate() {
  timeout -k 5 590 python3 -B "$root/tests/gpu/gate.py" --build "$build" --out "$results/gate.md" >"$results/gate.txt" 2>&1
  local status=$?
  [ $status -eq 77 ] && status=0
  verdict gate $status "$(tail -n 1 "$results/gate.txt")"
}

# Status 77: no PyTorch with CUDA.
part_import_profiler() {
  timeout -k 5 400 python3 "$root/tests/gpu/import_torch_profiler.py" --synctrace "$synctrace" \
    >"$results/import_torch_profiler.txt" 2>&1
  local status=$?
  if [ $status -eq 77 ]; then skip import_torch_profiler "no PyTorch with CUDA"; return; fi
  verdict import_torch_profiler $status "$(tail -n 1 "$results/import_torch_profiler.txt")"
}

part_hta() {
  local recorded=()
  local name
  for name in sync_per_step tiny_kernels healthy_pipeline torch_lines.timeline; do
    [ -f "$traces/$name.synctrace" ] && recorded+=("$traces/$name.synctrace")
  done
  timeout -k 5 300 python3 "$root/tests/gpu/hta_compare.py" --synctrace "$synctrace" "${recorded[@]}" \
    >"$results/hta.md" 2>"$results/hta.err"
  verdict hta $? "$(grep -c ' compared$' "$results/hta.md") traces, $(grep -c 'was compared$' "$results/hta.md") of them with Meta's package"
}

# Status 77: no PyTorch with CUDA.
part_loader_advice() {
  timeout -k 5 480 python3 -B "$root/tests/gpu/loader_advice.py" --synctrace "$synctrace" --folder "$traces/loader_advice" \
    --json "$results/loader_advice.json" >"$results/loader_advice.md" 2>&1
  local status=$?
  if [ $status -eq 77 ]; then skip loader_advice "no PyTorch with CUDA"; return; fi
  verdict loader_advice $status "$(tail -n 1 "$results/loader_advice.md")"
}

# Status 77: no GPU.
part_step_shapes() {
  timeout -k 5 590 python3 -B "$root/tests/gpu/step_shapes.py" --synctrace "$synctrace" --programs "$programs" --jobs 4 \
    --folder "$traces/step_shapes" >"$results/step_shapes.md" 2>"$results/step_shapes.err"
  local status=$?
  if [ $status -eq 77 ]; then skip step_shapes "no GPU"; return; fi
  verdict step_shapes $status "$(tail -n 1 "$results/step_shapes.md")"
}

# Status 77: no PyTorch with CUDA.
part_docs() {
  timeout -k 5 590 python3 -B "$root/tests/gpu/doc_blocks.py" --build "$build" >"$results/doc_blocks.txt" 2>&1
  local status=$?
  if [ $status -eq 77 ]; then skip docs "no PyTorch with CUDA"; return; fi
  verdict docs $status "$(tail -n 1 "$results/doc_blocks.txt")"
}

part_killed_rank() {
  timeout -k 5 300 python3 -B "$root/tests/gpu/killed_rank.py" --synctrace "$synctrace" --folder "$traces/killed_rank" >"$results/killed_rank.txt" 2>&1
  verdict killed_rank $? "$(tail -n 1 "$results/killed_rank.txt")"
}

# Needs what `make release` made, in the build folder. Status 77: no PyTorch with CUDA.
part_packages() {
  if ! ls "$build"/packages/dist/*.whl >/dev/null 2>&1; then skip packages "no wheel in $build/packages/dist"; return; fi
  timeout -k 5 590 python3 -B "$root/tests/gpu/packages.py" --packages "$build/packages/dist" --out "$results/packages.md" \
    >"$results/packages.txt" 2>&1
  local status=$?
  if [ $status -eq 77 ]; then skip packages "no PyTorch with CUDA"; return; fi
  verdict packages $status "$(tail -n 1 "$results/packages.txt")"
}

find_runtime
if ! "$synctrace" --version >"$results/version.txt" 2>&1; then
  say "FAILED  the command line does not start: $(head -n 1 "$results/version.txt")"
  exit 1
fi
all_parts="doctor examples blocking_calls host_waits survival kills e2e launch_many launch_cost torch torch_lines causes group_savings gate hta
import_profiler unwinder loader_advice step_shapes killed_rank docs packages"
for part in ${PARTS:-$all_parts}; do
  start=$SECONDS
  "part_$part"
  say "        ($part: $((SECONDS - start)) s)"
done
rm -f "$results"/way.*
say "$failures failed"
[ -n "${PARTS:-}" ] || row survival suite "run_all.sh: every part" "$failures" failed
[ "$failures" -eq 0 ]
