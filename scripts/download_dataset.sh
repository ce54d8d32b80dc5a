#!/bin/sh
# Gets an official data set. The same as: mlperf download dataset NAME [flags]
#
#   scripts/download_dataset.sh coco                        shows the licence, asks, fetches
#   scripts/download_dataset.sh imagenet --from-file ILSVRC2012_img_val.tar
#   scripts/download_dataset.sh openimages --count 500 --seed 1 --accept-license
#
# Give the same command again after an interruption: it goes on. docs/data.md has more.

set -eu
self=$(readlink -f "$0" 2>/dev/null) || self=$0 # a link to this script may lie anywhere
# shellcheck source=scripts/find_mlperf.sh
. "$(dirname -- "$self")/find_mlperf.sh"
exec "$mlperf" download dataset "$@"
