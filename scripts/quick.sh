#!/usr/bin/env bash
# Tests the packages that changed since a commit and, if these pass, those that import them directly.
#
#   scripts/quick.sh            # uncommitted changes; without any, the last commit
#   scripts/quick.sh origin/main
set -euo pipefail
cd "$(dirname "$0")/.."

base=${1:-HEAD}
changed() { { git diff --name-only "$base" -- '*.go' '*/testdata/*' 'configs/*'; git ls-files --others --exclude-standard -- '*.go'; } | sort -u; }
files=$(changed)
if [ -z "$files" ] && [ $# -eq 0 ]; then
	base=HEAD~1
	files=$(changed)
fi
# A file of testdata or configs belongs to the next folder above that is a package.
dirs=$(for f in $files; do
	d=$(dirname "$f")
	while [ "$d" != . ] && ! ls "$d"/*.go >/dev/null 2>&1; do d=$(dirname "$d"); done
	ls "$d"/*.go >/dev/null 2>&1 && echo "./$d"
done | sort -u)
if [ -z "$dirs" ]; then
	echo "no package changed since $base"
	exit
fi
packages=$(go list $dirs)
importers=$(go list -f '{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... |
	awk -v changed="$packages" 'BEGIN { n = split(changed, c); for (i = 1; i <= n; i++) want[c[i]] = 1 }
		{ for (i = 1; i <= NF; i++) if ($i in want) { print $1; next } }')
go test $packages
exec go test $importers
