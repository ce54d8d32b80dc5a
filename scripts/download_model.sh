#!/bin/sh
# Gets an official model and prints its file. The same as: mlperf download model NAME [flags]
#
#   scripts/download_model.sh resnet50                      shows the licence, asks, fetches
#   scripts/download_model.sh resnet50 --mirror https://files.example.org/mlperf
#
# Give the same command again after an interruption: it goes on. docs/data.md has more.

set -eu
# shellcheck source=scripts/find_mlperf.sh
. "$(dirname -- "$0")/find_mlperf.sh"
exec "$mlperf" download model "$@"
