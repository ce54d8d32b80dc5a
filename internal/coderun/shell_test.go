//go:build unix

package coderun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tests of this package that need no interpreter have the shell in their places: what a runner does with a
// program is the same, and the shell is on every machine and quick.

// shells puts a folder before the others in which commands are looked for. The interpreters in it are the shell,
// which runs the last argument; node tells of its first argument too. Compilers make programs of the shell:
// g++ copies the file, tsc runs it, so that it decides what there is and with which status it ends.
func shells(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"python3", "ruby", "php"} {
		if err := os.Symlink("/bin/sh", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range map[string]string{
		"node": `heap=$1; . "./$2"`,
		"g++":  `grep -q 'no program' "$1" && exit 1; cp "$1" "$3" && chmod +x "$3"`,
		"tsc":  `arguments="$*"; . "./$1"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// kinds are runners with and without isolation, where this machine has both.
func kinds(l Limits) map[string]*Runner {
	kinds := map[string]*Runner{"not isolated": {limits: l.filled()}}
	if r := New(l); r.isolated {
		kinds["isolated"] = r
	}
	return kinds
}

// writes runs a program, which has to pass, and returns what it wrote.
func writes(t *testing.T, r *Runner, language, code string) string {
	t.Helper()
	var out strings.Builder
	passed, err := r.Run(t.Context(), Program{Language: language, Code: code, Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	if !passed {
		t.Fatalf("%s does not pass, after %q", code, out.String())
	}
	return out.String()
}
