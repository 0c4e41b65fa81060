#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One call of at most nine minutes on a machine with a GPU: the graph matrix, JAX's graphs, the soak.
#
#   OUT=RESULTS [BUILD=build/release] tests/gpu/run_survival.sh [matrix jax soak | pairs | smallest]
#
# BUILD has bin/synctrace and lib/libsynctrace.so. OUT gets seven files at most: logs of what went wrong, rows as CSV, survival.txt
# with all tables. All is written as it happens, so that a call that is cut off loses nothing but tables.
# SECONDS_ALL=520 ends it all; MATRIX_RUNS=616 MATRIX_SECONDS=170 JAX_RUNS=30 (each mode) JAX_SECONDS=130 SOAK_RUNS=34 PROGRAMS=all
# JOBS=cores PAIR_RUNS=2 PAIR_SECONDS=400. Exit status: 0 when every part found nothing.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:?OUT is the folder for the results}
build=${BUILD:-$here/../../build/release}
limit=${SECONDS_ALL:-520}
jobs=${JOBS:-$(nproc)}
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
failed=0
mkdir -p "$out"

left() { # left AT_MOST: seconds for a part
  local rest=$((limit - SECONDS))
  [ "$rest" -gt "$1" ] && rest=$1
  [ "$rest" -lt 1 ] && rest=1
  echo "$rest"
}

part() { # part NAME COMMAND...
  local begin=$SECONDS name=$1
  shift
  echo "== $name"
  "$@" 2>&1 || failed=$((failed + 1))
  echo "== $name took $((SECONDS - begin)) s"
}

matrix() {
  python3 "$here/graph_matrix.py" --build "$build" --out "$out" --jobs "$jobs" --runs "${MATRIX_RUNS:-616}" \
    --time-limit "$(left "${MATRIX_SECONDS:-170}")"
}

jax() {
  python3 "$here/soak.py" --build "$build" --out "$out/jax" --jobs "$jobs" --programs jax_graphs --runs "${JAX_RUNS:-30}" \
    --defaults --time-limit "$(left "${JAX_SECONDS:-130}")"
}

soak() { # a run that begins at the end takes some 20 s more
  python3 "$here/soak.py" --build "$build" --out "$out" --jobs "$jobs" --programs "${PROGRAMS:-all}" --runs "${SOAK_RUNS:-34}" \
    --time-limit "$(($(left 3600) - 25))"
}

pairs() { python3 "$here/cupti_pairs.py" --out "$out" --jobs "$jobs" --runs "${PAIR_RUNS:-2}" --time-limit "$(left "${PAIR_SECONDS:-400}")"; }

smallest() { python3 "$here/cupti_pairs.py" --smallest --out "$out" --jobs "$jobs" --runs "${PAIR_RUNS:-3}" --time-limit "$(left "${PAIR_SECONDS:-400}")"; }

{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
  "$build/bin/synctrace" --version
  for name in ${*:-matrix jax soak}; do part "$name" "$name"; done
  echo "$failed parts failed, $SECONDS s"
} > >(tee "$out/survival.txt") 2>&1
wait
[ "$failed" -eq 0 ]
