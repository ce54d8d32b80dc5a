#!/usr/bin/env bash
# Makes docs/run.png, the picture in the README: the top of the page that a run leaves, in headless Chromium.
#
#   scripts/readme_picture.sh results/resnet50/server/performance/latest
#
# CHROMIUM names the browser, if it is not chromium on the PATH. It is run without a sandbox: the page is ours.
set -euo pipefail
run=${1:?usage: scripts/readme_picture.sh RUN_DIR}
cd "$(dirname "$0")/.."
"${CHROMIUM:-chromium}" --headless --no-sandbox --disable-gpu --hide-scrollbars --force-color-profile=srgb \
	--force-device-scale-factor=0.8 --window-size=900,1350 --screenshot="$PWD/docs/run.png" "file://$(realpath "$run")/report.html" 2>/dev/null
size=$(stat -c %s docs/run.png)
[ "$size" -le 150000 ] || { echo "docs/run.png has $size bytes, want at most 150000" >&2; exit 1; }
