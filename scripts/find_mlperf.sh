# shellcheck shell=sh
# Sets mlperf to the program: $MLPERF, bin/mlperf of this checkout, or the one on the
# PATH. Read by the other scripts, which have set self to their own path; does nothing by
# itself.

mlperf=${MLPERF:-}
if [ -z "$mlperf" ]; then
	mlperf=$(dirname -- "$self")/../bin/mlperf
	[ -x "$mlperf" ] || mlperf=$(command -v mlperf) || {
		printf '%s\n' "${0##*/}: there is no bin/mlperf and no mlperf on the PATH: run 'make build', or name it with MLPERF" >&2
		exit 1
	}
elif [ -d "$mlperf" ] || ! command -v "$mlperf" >/dev/null 2>&1; then
	printf '%s\n' "${0##*/}: MLPERF is '$mlperf', which is no program: set it to the path of mlperf, or unset it" >&2
	exit 1
fi
