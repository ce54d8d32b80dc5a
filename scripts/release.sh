#!/bin/sh
# Makes the archives and the wheels of a release, and SHA256SUMS beside them.
#
#   scripts/release.sh                       all targets, into dist/
#   scripts/release.sh --version 1.2.0       the version that mlperf --version says
#   scripts/release.sh --targets "linux/amd64 darwin/arm64" --output DIR
#
# ONNX Runtime is loaded through cgo, so a program that runs models has to be built by a C
# compiler of its target. This machine's own target is built with it. Others are, if CC_OS_ARCH
# names a cross compiler (CC_linux_arm64=aarch64-linux-gnu-gcc). What is left is built without cgo:
# everything works there but --backend onnxruntime, and the archive's name says so
# (-without-onnxruntime). A target with cgo has a wheel, too (scripts/wheel), if the version is one of numbers.
#
# An archive has the program, the licence, the README, scripts/, and for the target of this machine
# the manual pages. Archives of the same commit are the same, byte by byte, where tar is GNU's.
#
# Environment: GO is the Go command; SOURCE_DATE_EPOCH the time of the files (default: the commit's).

set -eu

targets="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"
output=dist
version=
go=${GO:-go}

say() { printf '%s\n' "$*" >&2; }
fail() { say "${0##*/}: $*"; exit 1; }

while [ $# -gt 0 ]; do
	case $1 in
	--help | -h) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
	--version | --targets | --output)
		[ $# -ge 2 ] && [ -n "$2" ] || { say "${0##*/}: $1 needs a value"; exit 2; }
		case $1 in
		--version) version=${2#v} ;;
		--targets) targets=$2 ;;
		--output) output=$2 ;;
		esac
		shift 2
		;;
	*) say "${0##*/}: unknown argument: $1"; say "try --help"; exit 2 ;;
	esac
done

mkdir -p "$output"
output=$(cd "$output" && pwd)
cd "$(dirname -- "$0")/.."
[ -n "$version" ] || version=$(git describe --tags --always --dirty 2>/dev/null | sed 's/^v//') || true
[ -n "$version" ] || version=0.0.0
case $version in *[!A-Za-z0-9.+-]*) fail "the version is \"$version\", want letters, digits, dots, plus and hyphens" ;; esac
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
host=$("$go" env GOHOSTOS)/$("$go" env GOHOSTARCH)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sums() { # FILES…: checksums as sha256sum -c reads them
	if command -v sha256sum >/dev/null 2>&1; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

pack() { # FOLDER ARCHIVE: of what is in the work folder
	case $2 in
	*.zip) (cd "$work" && zip -qrX "$2" "$1") ;;
	*) if tar --version 2>/dev/null | grep -q GNU; then
		tar -C "$work" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf - "$1" | gzip -n >"$2"
	else
		tar -C "$work" -cf - "$1" | gzip -n >"$2"
	fi ;;
	esac
}

build() { # OS ARCH
	compiler=$(eval "printf '%s' \"\${CC_$1_$2:-}\"")
	cgo=0 suffix=-without-onnxruntime
	if [ "$1/$2" = "$host" ] || [ -n "$compiler" ]; then cgo=1 suffix=; fi
	name=mlperf-$version-$1-$2$suffix
	program=mlperf
	[ "$1" != windows ] || program=mlperf.exe
	mkdir -p "$work/$name"
	GOEXPERIMENT=simd CGO_ENABLED=$cgo GOOS=$1 GOARCH=$2 ${compiler:+env CC="$compiler"} "$go" build -trimpath \
		-ldflags "-s -w -X github.com/mlperf-go/mlperf/internal/cli.version=$version" -o "$work/$name/$program" ./cmd/mlperf || fail "$1/$2 cannot be built"
	cp -R LICENSE README.md scripts "$work/$name/"
	if [ "$1/$2" = "$host" ]; then "$work/$name/$program" man "$work/$name/man"; fi
	archive=$name.tar.gz
	if [ "$1" = windows ] && command -v zip >/dev/null 2>&1; then archive=$name.zip; fi
	pack "$name" "$output/$archive"
	made="$made $archive"
	say "$archive"
	if [ $cgo = 1 ] && expr "$version" : '[0-9][0-9.]*$' >/dev/null; then # pip knows versions like 1.2.0 only
		wheel=$("$go" run ./scripts/wheel --version "$version" --output "$output" "$work/$name/$program") || fail "$1/$2: no wheel"
		made="$made ${wheel##*/}"
		say "${wheel##*/}"
	fi
}

made=
for t in $targets; do
	case $t in ?*/?*) build "${t%/*}" "${t#*/}" ;; *) fail "\"$t\" is not a target, want OS/ARCH" ;; esac
done
# shellcheck disable=SC2086 # names of archives have no spaces
(cd "$output" && sums $made >SHA256SUMS)
say "checksums: $output/SHA256SUMS"
