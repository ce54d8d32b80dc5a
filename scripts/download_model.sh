#!/bin/sh
# Gets an official model and prints its file. The same as: mlperf download model NAME [flags]
#
#   scripts/download_model.sh resnet50                      shows the licence, asks, fetches
#   scripts/download_model.sh resnet50 --mirror https://files.example.org/mlperf
#
# Give the same command again after an interruption: it goes on. docs/data.md has more.

set -eu
self=$(readlink -f "$0" 2>/dev/null) || self=$0 # a link to this script may lie anywhere
# shellcheck source=scripts/find_mlperf.sh
. "$(dirname -- "$self")/find_mlperf.sh"
exec "$mlperf" download model "$@"
