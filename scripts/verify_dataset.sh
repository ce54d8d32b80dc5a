#!/bin/sh
# Checks a data set that is on this machine. The same as: mlperf verify dataset NAME [flags]
#
#   scripts/verify_dataset.sh imagenet                      where mlperf download puts it
#   scripts/verify_dataset.sh imagenet --dir /data/imagenet
#
# Exit status: 0 nothing is wrong, 1 something is, 2 wrong usage.

set -eu
self=$(readlink -f "$0" 2>/dev/null) || self=$0 # a link to this script may lie anywhere
# shellcheck source=scripts/find_mlperf.sh
. "$(dirname -- "$self")/find_mlperf.sh"
exec "$mlperf" verify dataset "$@"
