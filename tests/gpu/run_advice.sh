#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One call of at most nine minutes on a machine with GPUs: records the programs of advice/ and gpu_bound/, or times their changes.
#
#   OUT=RESULTS [BUILD=build/release] tests/gpu/run_advice.sh record|time [NAME...]
#
# OUT gets log.txt, the recordings and screens as parts of one archive (recordings.tar.gz.aa and on), or times.json.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:?OUT is the folder for the results}
build=${BUILD:-$here/../../build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 XLA_PYTHON_CLIENT_PREALLOCATE=false TOKENIZERS_PARALLELISM=false
{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  timeout "${SECONDS_ALL:-540}" python3 "$here/advice.py" "$1" --synctrace "$build/bin/synctrace" --out "$work" "${@:2}"
  echo "$SECONDS s"
} > >(tee "$out/log.txt") 2>&1
wait
if [ "$1" = record ]; then
  (cd "$work" && tar czf - ./*.synctrace ./*.log | split -b 15M - "$out/recordings.tar.gz.")
else
  cp "$work/times.json" "$out"
  (cd "$work" && tar czf "$out/logs.tar.gz" ./*.log)
fi
