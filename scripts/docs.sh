#!/usr/bin/env bash
# Makes a site of the documents, with the manual and the schema, which works without a network: dist/docs/index.html.
# mdBook makes it (cargo install mdbook, or a package of the system).
set -euo pipefail
cd "$(dirname "$0")/.."
self=scripts/docs.sh
. scripts/find_mlperf.sh

if ! command -v mdbook >/dev/null; then
	echo "scripts/docs.sh: mdbook is missing: install it (cargo install mdbook, brew install mdbook, pacman -S mdbook)" >&2
	exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cp docs/* "$work/src"
# Files of the repository that are in no page of the site are at their address.
site=https://github.com/mlperf-go/mlperf/blob/main
sed -E 's#\]\(([A-Z]+\.md)\)#]('"$site"'/\1)#g; s#\]\(docs/SUMMARY.md\)#](print.html)#g; s#\]\(docs/#](#g' README.md >"$work/src/README.md"
sed -i -E 's#\]\(\.\./#]('"$site"'/#g' "$work"/src/*.md
"$mlperf" help --markdown >"$work/src/manual.md"
{
	printf '# The schema of results.json\n\nEvery run writes a results.json of this form.\n\n```json\n'
	"$mlperf" schema results
	printf '```\n'
} >"$work/src/schema.md"
printf '\n# Reference\n\n- [The command line](manual.md)\n- [The schema of results.json](schema.md)\n' >>"$work/src/SUMMARY.md"
cat >"$work/book.toml" <<'TOML'
[book]
title = "mlperf"
language = "en"

[output.html]
git-repository-url = "https://github.com/mlperf-go/mlperf"
preferred-dark-theme = "coal"
no-section-label = true

[output.html.print]
enable = true
TOML
rm -rf dist/docs
mdbook build --dest-dir "$PWD/dist/docs" "$work"
echo "dist/docs/index.html"
