# shellcheck shell=sh
# Sets mlperf to the program: $MLPERF, bin/mlperf of this checkout, or the one on the
# PATH. Read by the other scripts; does nothing by itself.

mlperf=${MLPERF:-}
if [ -z "$mlperf" ]; then
	mlperf=$(dirname -- "$0")/../bin/mlperf
	[ -x "$mlperf" ] || mlperf=$(command -v mlperf) || {
		printf '%s\n' "${0##*/}: there is no bin/mlperf and no mlperf on the PATH: run 'make build', or name it with MLPERF" >&2
		exit 1
	}
fi
