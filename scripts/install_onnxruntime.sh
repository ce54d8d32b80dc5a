#!/bin/sh
# Puts the ONNX Runtime library that mlperf loads into mlperf's data directory.
#
#   scripts/install_onnxruntime.sh              install, or say that it is there already
#   scripts/install_onnxruntime.sh --help       all options
#
# The library comes from the release archive of the ONNX Runtime project if that can be
# reached, else from the npm package onnxruntime-node, which carries the same release
# (another build of it: with WebGPU, hence larger), else from the wheel on PyPI, for which
# Python is not needed: it is a zip archive. Only the library is kept. Nothing is
# installed whose SHA-256 is not the expected one; a download that breaks off goes on
# where it stopped; two runs at once wait for each other (where flock(1) exists) or
# work in files of their own.
#
# mlperf looks in the same place: internal/machine/home, function DataDir, and
# internal/backend/ort/search.go, function installDir.

set -eu

default_version=1.24.3
version=$default_version
source=auto
want=
dir=
device=
print_path=false

usage() {
	cat <<TEXT
Usage: ${0##*/} [options]

Installs the ONNX Runtime library (version $default_version unless told otherwise) for mlperf.

  --dir DIR       put the library into DIR
                  (default: DATA/onnxruntime/VERSION/OS-ARCH, where DATA is \$MLPERF_DATA_DIR,
                  else \$XDG_DATA_HOME/mlperf, else ~/.local/share/mlperf, on macOS
                  ~/Library/Application Support/mlperf)
  --version V     another version, at least 1.24; needs --sha256 unless it is in the table
                  of this script
  --sha256 HEX    the SHA-256 that the library must have, instead of the table's
  --source NAME   auto (default: github, then npm, then pypi), github, npm, or pypi
  --device NAME   ONNX Runtime with this device (openvino, cuda, webgpu): the same as
                  mlperf doctor --fix --device NAME, which shows size and licences and asks
  --print-path    print where the library is or would be, and do nothing
  --help          this text

Environment: ONNXRUNTIME_RELEASES, another address for the project's release archives
(default: https://github.com/microsoft/onnxruntime/releases/download); ONNXRUNTIME_WHEELS,
another address for PyPI's files (default: https://files.pythonhosted.org/packages); the npm
registry is the one that npm is configured for, or \$NPM_CONFIG_REGISTRY, or the public one.

Exit status: 0 installed or already there, 1 failed, 2 wrong usage.
TEXT
}

say() { printf '%s\n' "$*" >&2; }
fail() { say "${0##*/}: $*"; exit 1; }
misuse() { say "${0##*/}: $*"; say "try --help"; exit 2; }

parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h) usage; exit 0 ;;
		--print-path) print_path=true; shift; continue ;;
		--*=*) name=${1%%=*} value=${1#*=} used=1 ;;
		*) name=$1 value=${2-} used=2 ;;
		esac
		case $name in
		--dir) dir=$value ;;
		--version) version=${value#v} ;;
		--sha256) want=$value ;;
		--source) source=$value ;;
		--device) device=$value ;;
		*) misuse "unknown argument: $1" ;;
		esac
		[ -n "$value" ] || misuse "$name needs a value"
		shift "$used"
	done
	case $source in auto | github | npm | pypi) ;; *) misuse "unknown source: $source (auto, github, npm, pypi)" ;; esac
}

data_dir() {
	if [ -n "${MLPERF_DATA_DIR:-}" ]; then printf '%s\n' "$MLPERF_DATA_DIR"; return; fi
	case ${XDG_DATA_HOME:-} in /*) printf '%s\n' "$XDG_DATA_HOME/mlperf"; return ;; esac
	case $os_arch in
	darwin-*) printf '%s\n' "${HOME:?is not set: give --dir}/Library/Application Support/mlperf" ;;
	*) printf '%s\n' "${HOME:?is not set: give --dir}/.local/share/mlperf" ;;
	esac
}

# platform sets os_arch (as Go names it), library (the file's name here), and what npm and
# the project call the platform.
platform() {
	case $(uname -s)/$(uname -m) in
	Linux/x86_64) os_arch=linux-amd64 npm_dir=linux/x64 github_name=linux-x64 ;;
	Linux/aarch64 | Linux/arm64) os_arch=linux-arm64 npm_dir=linux/arm64 github_name=linux-aarch64 ;;
	Darwin/arm64) os_arch=darwin-arm64 npm_dir=darwin/arm64 github_name=osx-arm64 ;;
	*) fail "no ready-made ONNX Runtime $version for $(uname -s) on $(uname -m): build or get the library \
yourself and name it with --ort-lib FILE or the environment variable MLPERF_ORT_LIB" ;;
	esac
	case $os_arch in
	linux-*)
		library=libonnxruntime.so.1 npm_file=$library github_file=libonnxruntime.so.$version
		for musl in /lib/ld-musl-*; do
			[ ! -e "$musl" ] || [ -e /lib64/ld-linux-x86-64.so.2 ] || [ -e /lib/ld-linux-aarch64.so.1 ] ||
				fail "ONNX Runtime's binaries need glibc and libstdc++, and this system has musl: use an image \
such as debian, or build the library and name it with MLPERF_ORT_LIB"
		done ;;
	darwin-*)
		library=libonnxruntime.dylib npm_file=libonnxruntime.$version.dylib github_file=$npm_file ;;
	esac
}

# pinned sets the expected SHA-256 of the library in the npm package (npm_sum), of the
# project's release archive (github_sum), and of the wheel (pypi_sum), whose address below
# PyPI's files is wheel; empty where we know none.
#
# The npm sums were taken from the packages. The archives' could not be downloaded when
# this was written: theirs are the sums that independent public projects pin for the
# same files. Should one be wrong, the archive is refused and npm is asked instead.
pinned() {
	npm_sum='' github_sum='' pypi_sum='' wheel=''
	case $version/$os_arch in
	1.24.3/linux-amd64)
		npm_sum=92ba8e44d31b80a34f5e805076a044122c3be1fffe0d88ed790de7267b0b2682
		github_sum=4c436a280d650f8bf32c921a2bf4de7c42cc32884c51c90e47de991708bbb5a4
		pypi_sum=fb56575d7794bf0781156955610c9e651c9504c64d42ec880784b6106244882d
		wheel=03/4b/f96b46c1866a293ed23ca2cf5e5a63d413ad3a951da60dd877e3c56cbbca/onnxruntime-1.24.3-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl ;;
	1.24.3/linux-arm64)
		npm_sum=33032cb5b91c12edbf028d7c69fa40a31848d66c0095448758af237d5e0b07db
		github_sum=15100fb88b4c692cdd6bf2cca5f4a26a3806cebca8136de6681e2aba4b2ea033
		pypi_sum=8b2ebc54c6d8281dccff78d4b06e47d4cf07535937584ab759448390a70f4978
		wheel=7e/c5/3af6b325f1492d691b23844d88ed26844c1164620860c5efe95c0e22782d/onnxruntime-1.24.3-cp311-cp311-manylinux_2_27_aarch64.manylinux_2_28_aarch64.whl ;;
	1.24.3/darwin-arm64)
		npm_sum=76831409ce6eded92b4cb343cf422c458a60c1ea1d5f3cfa69692ab7fcc67f0f
		github_sum=c255663d40755f84b1b86373bdb9870bb65f3a2c3d779b3d7ae31aaa00cebb4f
		pypi_sum=3e6456801c66b095c5cd68e690ca25db970ea5202bd0c5b84a2c3ef7731c5a3c
		wheel=15/41/3253db975a90c3ce1d475e2a230773a21cd7998537f0657947df6fb79861/onnxruntime-1.24.3-cp311-cp311-macosx_14_0_arm64.whl ;;
	1.32.0/linux-amd64) # the newest that make nightly tests
		pypi_sum=5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d
		wheel=1d/46/e6f356c9539d2eed44126de3421a81e217da2ad91b22dc11b379cb1e384f/onnxruntime-1.32.0-cp311-cp311-manylinux_2_28_x86_64.whl ;;
	1.27.0/linux-amd64) npm_sum=d8aff4aa8abee8fb2abb2f2f2459ffc94461e781e41b9f7c072829dd0d470221 ;;
	1.30.0/linux-amd64) npm_sum=ffb75a925ba05e47b235bb66e3e3911714a80b328a9c9425539feb204aa32a23 ;;
	esac
	if [ -n "$want" ]; then
		npm_sum=$want github_sum='' pypi_sum=''
	elif [ -z "$npm_sum$github_sum$pypi_sum" ]; then
		fail "no checksum is known for version $version on $os_arch: give it with --sha256, or install $default_version"
	fi
}

sha256_of() {
	if command -v sha256sum >/dev/null 2>&1; then sum=$(sha256sum <"$1")
	elif command -v shasum >/dev/null 2>&1; then sum=$(shasum -a 256 <"$1")
	elif command -v openssl >/dev/null 2>&1; then sum=$(openssl dgst -sha256 -r <"$1")
	else fail "no sha256sum, shasum or openssl to check the download with: install coreutils"
	fi
	printf '%s\n' "${sum%% *}"
}

# installed says whether the library is there and whole: it has the expected checksum, or
# the one that was noted beside it when it was verified and installed, here or by mlperf doctor --fix.
installed() {
	[ -f "$target" ] || return 1
	have=$(sha256_of "$target")
	[ "$have" = "$npm_sum" ] && return 0
	[ -z "$want" ] && grep -qs "^$have" "$target.sha256" "$dir/.mlperf-download/SHA256SUMS"
}

# prepare makes the directory, sees to it that there is room, and takes the lock.
prepare() {
	mkdir -p "$dir" 2>/dev/null || fail "cannot make the directory $dir: choose another with --dir or MLPERF_DATA_DIR"
	[ -w "$dir" ] || fail "cannot write to $dir: choose another directory with --dir or MLPERF_DATA_DIR"
	free_kb=$(df -Pk "$dir" | awk 'NR == 2 { print $4 }')
	[ "${free_kb:-1000000}" -ge "$need_kb" ] ||
		fail "the disk of $dir has $((free_kb / 1024)) MB free, $((need_kb / 1024)) MB are needed: free some, or choose another with --dir"
	part=$dir/.download
	if command -v flock >/dev/null 2>&1; then
		exec 9>"$dir/.lock"
		flock -n 9 || { say "waiting for another installation of the same library"; flock 9; }
		rm -rf "$dir"/.tmp.*  # of runs that were killed
	else
		part=$dir/.download.$$
	fi
	tmp=$dir/.tmp.$$
	mkdir "$tmp"
	trap 'rm -rf "$tmp"; [ "$part" = "$dir/.download" ] || rm -f "$part".*' EXIT
	trap 'exit 130' INT TERM HUP
}

# fetch URL PART: writes all of the file to standard output, first what PART has of it from
# an earlier try, and adds to PART what arrives. The reader may stop early. Leaves
# curl's exit status in $tmp/status and its messages in $tmp/messages.
fetch() {
	rm -f "$tmp/status"
	touch "$2"
	{
		cat "$2"
		{
			code=0
			curl -fsSL --connect-timeout "$patience" --speed-limit 1000 --speed-time 30 \
				-C "$(wc -c <"$2" | tr -d ' ')" "$1" || code=$?
			echo "$code" >"$tmp/status"
		} | tee -a "$2"
	} 2>"$tmp/messages"
}

# unpack MEMBER PART: takes one file out of the archive on standard input, and stops reading
# when it has it, where tar can do that; or, if the whole archive is wanted, takes it out of
# PART once all of it is there. Whether it worked is for the checksum to say.
unpack() {
	if $whole; then
		cat >/dev/null
		case $2 in
		*.pypi) unzip -p "$2" "$1" >"$tmp/library" 2>"$tmp/tar" ;;
		*) tar -xzOf "$2" "$1" >"$tmp/library" 2>"$tmp/tar" || tar -xzOf "$2" "./$1" >"$tmp/library" 2>>"$tmp/tar" ;;
		esac
		return
	fi
	early=
	case $(tar --version 2>/dev/null) in
	*GNU*) early=--occurrence=1 ;;
	*bsdtar*) early=-q ;;
	esac
	tar -xzOf - ${early:+"$early"} "$1" >"$tmp/library" 2>"$tmp/tar"
}

# right PART: whether the archive has the expected checksum, or the library in it.
right() {
	[ -s "$tmp/library" ] || return 1
	if $whole && [ -n "$archive_sum" ]; then [ "$(sha256_of "$1")" = "$archive_sum" ]
	else [ "$(sha256_of "$tmp/library")" = "$npm_sum" ]
	fi
}

# why says in words what the last fetch died of; nothing if all of the file arrived.
why() {
	if grep -qi 'no space left' "$tmp/messages" "$tmp/tar" 2>/dev/null; then
		echo "the disk of $dir is full: free $((need_kb / 1024)) MB, or choose another with --dir"
		return
	fi
	case $(cat "$tmp/status" 2>/dev/null || echo none) in
	0 | 23 | none) ;; # 23 is what curl says when the reader has enough
	5 | 6) echo "its name could not be looked up (no network?)" ;;
	7 | 28) echo "no connection (no network, or blocked)" ;;
	22) sed -n 's/^curl: (22) //p' "$tmp/messages" | head -n 1 ;;
	18 | 52 | 55 | 56) echo "the connection broke off" ;;
	35 | 51 | 58 | 60 | 77) echo "no secure connection: $(sed -n 's/^curl: //p' "$tmp/messages" | head -n 1)" ;;
	*) sed -n 's/^curl: //p' "$tmp/messages" | head -n 1 ;;
	esac
}

# resumable says whether another try of the same address can help.
resumable() {
	case $(cat "$tmp/status" 2>/dev/null || echo none) in
	18 | 52 | 55 | 56 | 92) return 0 ;;      # broke off: go on where it stopped
	28) [ -s "$1" ]; return ;;               # too slow; if nothing came at all, it will not come
	33 | 36) rm -f "$1"; return 0 ;;         # the server cannot go on: begin again
	esac
	return 1
}

# download URL PART MEMBER: tries up to four times. Leaves in why what went wrong.
download() {
	tries=0
	while :; do
		resumed=false
		[ ! -s "$2" ] || resumed=true
		fetch "$1" "$2" | unpack "$3" "$2" || :
		if right "$2"; then rm -f "$2"; return 0; fi
		tries=$((tries + 1))
		[ "$tries" -lt 4 ] || break
		if resumable "$2"; then
			sleep "$tries"
		elif $resumed; then
			rm -f "$2" # what an earlier run left may be of another file
		else
			break
		fi
	done
	why=$(why)
	rm -f "$2"
	return 1
}

# from_github needs the whole archive (8 MB on Linux), since it is the archive whose checksum is
# known. Where it cannot be reached that is found out in seconds.
from_github() {
	archive=onnxruntime-$github_name-$version
	url=${ONNXRUNTIME_RELEASES:-https://github.com/microsoft/onnxruntime/releases/download}/v$version/$archive.tgz
	command -v curl >/dev/null 2>&1 || { note github "curl is not installed"; return 1; }
	[ -n "$github_sum$want" ] || { note github "no checksum is known for $archive.tgz"; return 1; }
	whole=true archive_sum=$github_sum patience=3
	say "getting ONNX Runtime $version for $os_arch: $url"
	download "$url" "$part.github" "$archive/lib/$github_file" && return 0
	note github "${why:-not the file whose checksum is known}"
	return 1
}

# from_npm reads only as much of the package (86 MB) as it takes to get the library: 20 MB on Linux.
from_npm() {
	[ -n "$npm_sum" ] || { note npm "no checksum is known for the library of onnxruntime-node $version"; return 1; }
	member=package/bin/napi-v6/$npm_dir/$npm_file whole=false
	if command -v curl >/dev/null 2>&1; then
		registry=$(npm config get registry 2>/dev/null) || registry=
		case $registry in http*) ;; *) registry=${NPM_CONFIG_REGISTRY:-https://registry.npmjs.org} ;; esac
		url=${registry%/}/onnxruntime-node/-/onnxruntime-node-$version.tgz
		patience=10
		say "getting ONNX Runtime $version for $os_arch: $url"
		download "$url" "$part.npm" "$member" && return 0
		[ -n "$why" ] || [ -s "$tmp/library" ] || why="the package has no $member"
		note npm "${why:-the library in it has the SHA-256 $(sha256_of "$tmp/library"), not $npm_sum}"
	fi
	command -v npm >/dev/null 2>&1 || { note npm "npm is not installed"; return 1; }
	# npm knows about credentials and proxies that curl does not.
	say "getting ONNX Runtime $version for $os_arch: npm pack onnxruntime-node@$version"
	(cd "$tmp" && npm pack --silent "onnxruntime-node@$version") >"$tmp/messages" 2>&1 ||
		{ note "npm pack" "$(grep -v '^npm warn' "$tmp/messages" | head -n 1)"; return 1; }
	unpack "$member" "" <"$tmp/onnxruntime-node-$version.tgz" || :
	right "" && return 0
	note "npm pack" "the package does not hold the library whose SHA-256 is $npm_sum"
	return 1
}

# from_pypi needs the whole wheel (17 MB), since it is the wheel whose checksum is known.
from_pypi() {
	[ -n "$wheel" ] || { note pypi "no wheel is known for version $version"; return 1; }
	for tool in curl unzip; do
		command -v $tool >/dev/null 2>&1 || { note pypi "$tool is not installed"; return 1; }
	done
	url=${ONNXRUNTIME_WHEELS:-https://files.pythonhosted.org/packages}/$wheel
	whole=true archive_sum=$pypi_sum patience=10
	say "getting ONNX Runtime $version for $os_arch: $url"
	download "$url" "$part.pypi" "onnxruntime/capi/$github_file" && return 0
	note pypi "${why:-not the file whose checksum is known}"
	return 1
}

notes=
note() { notes="$notes
  $1: $2"; }

wanted() { [ "$source" = auto ] || [ "$source" = "$1" ]; }

finish() {
	sha256_of "$tmp/library" >"$tmp/sum"
	chmod 644 "$tmp/library"
	mv -f "$tmp/library" "$target"
	mv -f "$tmp/sum" "$target.sha256"
	printf 'installed ONNX Runtime %s: %s\n' "$version" "$target"
}

main() {
	parse "$@"
	if [ -n "$device" ]; then
		self=$(readlink -f "$0" 2>/dev/null) || self=$0
		# shellcheck source=scripts/find_mlperf.sh
		. "$(dirname -- "$self")/find_mlperf.sh"
		exec "$mlperf" doctor --fix --device "$device"
	fi
	platform
	[ -n "$dir" ] || dir=$(data_dir)/onnxruntime/$version/$os_arch
	target=$dir/$library
	if $print_path; then printf '%s\n' "$target"; exit 0; fi
	pinned
	if installed; then printf 'already installed: %s\n' "$target"; exit 0; fi
	need_kb=$((120 * 1024))
	command -v curl >/dev/null 2>&1 || command -v npm >/dev/null 2>&1 ||
		fail "neither curl nor npm is installed: install one (e.g. apt-get install curl), or name a library you have with MLPERF_ORT_LIB"
	prepare
	# Another run may have done it while we waited.
	if installed; then printf 'already installed: %s\n' "$target"; exit 0; fi
	if { wanted github && from_github; } || { wanted npm && from_npm; } || { wanted pypi && from_pypi; }; then finish; exit 0; fi
	fail "could not get ONNX Runtime $version for $os_arch:$notes
With a library that you have, set MLPERF_ORT_LIB=/path/to/$library instead."
}

main "$@"
