#!/usr/bin/env bash
# Makes the pictures of the documentation from recordings of a real GPU:
#
#   docs/pictures/make.sh [SYNCTRACE]     (build/release/bin/synctrace unless given; needs chromium)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
synctrace=$(realpath "${1:-$root/build/release/bin/synctrace}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# picture NAME TRACE HEIGHT: the top of the trace's page, down to the timeline, once that is drawn
picture() {
  "$synctrace" report --html "$work/$1.html" "$root/tests/golden/frameworks/$2.synctrace"
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=8000 --window-size=1280,"$3" --screenshot="$here/$1.png" \
    "file://$work/$1.html" 2> /dev/null
}

picture page cifar_resnet.baseline 1906
picture timeline point_strokes.fps 2100
