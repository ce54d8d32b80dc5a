#!/bin/sh
# Fetches the test data of the ONNX project (18 MB, of its package on PyPI), and compares the answers of bin/mlperf with them (scripts/onnxtests).
#
#   scripts/onnx_tests.sh [-update]
#
# Needs Go, curl, unzip and sha256sum. The data stay in ${ONNX_TESTS_DIR:-~/.cache/mlperf-onnx-tests}. The exit status is 1 where more models than those
# of scripts/onnxtests/known.txt have other outputs or are refused.
set -eu
cd "$(dirname -- "$0")/.."
cache=${ONNX_TESTS_DIR:-$HOME/.cache/mlperf-onnx-tests}
wheel=$cache/onnx-1.19.1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl
data=$cache/onnx/backend/test/data
if [ ! -e "$cache/complete" ]; then
	mkdir -p "$cache"
	curl -fsSL --retry 3 -o "$wheel" "https://files.pythonhosted.org/packages/d5/61/6c457ee8c3a62a3cad0a4bfa4c5436bb3ac4df90c3551d40bee1224b5b51/${wheel##*/}"
	echo "1839af08ab4a909e4af936b8149c27f8c64b96138981024e251906e0539d8bf9  $wheel" | sha256sum -c --quiet
	unzip -qo "$wheel" 'onnx/backend/test/data/*' -d "$cache"
	rm "$wheel"
	touch "$cache/complete"
fi
go run ./scripts/onnxtests "$@" "$data"
