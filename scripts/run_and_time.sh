#!/bin/sh
# Runs one benchmark and prints when it began and ended and how many seconds it took, in
# the lines that MLPerf's own run_and_time.sh scripts print.
#
#   scripts/run_and_time.sh MODEL SCENARIO [flags of mlperf run]
#   scripts/run_and_time.sh resnet50 offline --quick
#   scripts/run_and_time.sh resnet50 server --target-qps 30 --model-path my.onnx --dataset-path imagenet
#
# A data set that mlperf download has got goes by its name.
#
# The seconds are those of the whole run, with what is prepared before and written after
# it; they are no result. The result is what mlperf run prints in between. The exit
# status is that of mlperf run: 0 valid, 3 finished but INVALID, 4 accuracy below target.

set -eu
self=$(readlink -f "$0" 2>/dev/null) || self=$0 # a link to this script may lie anywhere
# shellcheck source=scripts/find_mlperf.sh
. "$(dirname -- "$self")/find_mlperf.sh"

case ${1-} in --help | -h) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ $# -ge 2 ] || { printf '%s\n' "usage: ${0##*/} MODEL SCENARIO [flags of mlperf run]" >&2; exit 2; }
model=$1 scenario=$2
shift 2

start=$(date +%s)
start_text=$(date '+%Y-%m-%d %r')
printf 'STARTING TIMING RUN AT %s\n' "$start_text"

status=0
"$mlperf" run --model "$model" --scenario "$scenario" "$@" || status=$?

end=$(date +%s)
printf 'ENDING TIMING RUN AT %s\n' "$(date '+%Y-%m-%d %r')"
printf 'RESULT,%s-%s,,%s,%s,%s\n' "$model" "$scenario" "$((end - start))" "${USER:-nobody}" "$start_text"
exit "$status"
