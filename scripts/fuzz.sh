#!/usr/bin/env bash
# Runs every fuzz target for a while (default 30s each) and lists those that failed.
#
#   scripts/fuzz.sh 30s
#   scripts/fuzz.sh 10s ./internal/loadgen/...
set -uo pipefail
cd "$(dirname "$0")/.."

time=${1:-30s}
shift || true
targets=$(go test -list '^Fuzz' "${@:-./...}" | awk '/^Fuzz/ { names = names " " $1 } /^ok/ { n = split(names, f); for (i = 1; i <= n; i++) print $2, f[i]; names = "" }') || exit 1
count=0 failed=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Before Go 1.27 the end of its time may make a target fail (go.dev/issue/75804), and then it runs again.
# An interesting input is made smaller for a second, not for the minute that go test takes, which would be all of its time.
fuzz() { go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s "$package" </dev/null | tee "$log"; }

while read -r package target; do
	count=$((count + 1))
	echo "=== $target ($package)"
	fuzz || { grep -qx ' *context deadline exceeded' "$log" && fuzz; } || failed+=("$package $target")
done <<<"$targets"
echo "$count fuzz targets ran for $time each; ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ] || { printf '  %s\n' "${failed[@]}"; exit 1; }
