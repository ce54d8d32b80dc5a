//go:build unix

package coderun

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAProgramPassesByItsStatusAlone(t *testing.T) {
	shells(t)
	for kind, r := range kinds(Limits{}) {
		for _, c := range []struct {
			name, code string
			want       bool
		}{
			{"one that ends", "exit 0", true},
			{"an empty one", "", true},
			{"one that complains, and ends well", "echo bad >&2", true},
			{"one that says it is fine, and ends badly", "echo passed; exit 1", false},
			{"the status that a compiler may have", "exit 2", false},
			{"the largest status", "exit 255", false},
			{"a command that is not there", "exec /no/such/command", false},
			{"one that no shell can read", "if", false},
			{"one that ends itself", "kill -KILL $$; sleep 0.1; exit 0", false},
			{"one that asks itself to end", "kill -TERM $$; sleep 0.1; exit 0", false},
			{"one whose child is ended", "sh -c 'kill -KILL $$'; exit 0", true},
		} {
			if got := run(t, r, "python", c.code); got != c.want {
				t.Errorf("%s, %s: passes %t, want %t", kind, c.name, got, c.want)
			}
		}
	}
}

func TestEachLanguageHasItsFileAndItsCommand(t *testing.T) {
	shells(t)
	r := New(Limits{Memory: 3 << 30})
	for _, c := range []struct{ language, code, want string }{
		{"python", `echo "$0"`, "main.py\n"},
		{"ruby", `echo "$0"`, "main.rb\n"},
		{"php", `echo "$0"`, "main.php\n"},
		{"javascript", `echo "$heap $2"`, "--max-old-space-size=3072 main.js\n"},
		{"cpp", "#!/bin/sh\necho ${0##*/}", "main\n"},
		{"typescript", `echo "echo $arguments" > main.js`, "main.ts --target es5 --lib es2016\n"},
	} {
		if got := writes(t, r, c.language, c.code); got != c.want {
			t.Errorf("%s: it wrote %q, want %q", c.language, got, c.want)
		}
	}
}

func TestWhatACompilerRefusesIsNotRun(t *testing.T) {
	shells(t)
	r := New(Limits{})
	for _, c := range []struct {
		name, language, code string
		want                 bool
	}{
		{"a program in C++", "cpp", "#!/bin/sh\nexit 0", true},
		{"one that fails when it runs", "cpp", "#!/bin/sh\nexit 1", false},
		{"one that cannot be compiled", "cpp", "#!/bin/sh\nexit 0 # no program", false},
		{"one in TypeScript", "typescript", "echo exit 0 > main.js", true},
		{"one of which tsc complains, and which it writes", "typescript", "echo exit 0 > main.js; exit 2", true},
		{"one that tsc writes and that fails", "typescript", "echo exit 1 > main.js; exit 2", false},
		{"another complaint of tsc", "typescript", "echo exit 0 > main.js; exit 1", false},
		{"the end of tsc by a signal", "typescript", "echo exit 0 > main.js; kill -KILL $$", false},
		{"nothing written", "typescript", "exit 2", false},
	} {
		if got := run(t, r, c.language, c.code); got != c.want {
			t.Errorf("%s: passes %t, want %t", c.name, got, c.want)
		}
	}
}

func TestWhatIsNotInstalledIsNamed(t *testing.T) {
	shells(t)
	tools := os.Getenv("PATH")
	first, _, _ := strings.Cut(tools, ":")
	for _, c := range []struct{ language, gone, code string }{
		{"python", "python3", ""},
		{"javascript", "node", ""},
		{"cpp", "g++", ""},
		{"typescript", "tsc", ""},
		{"typescript", "node", "echo > main.js"}, // it is compiled by then
	} {
		t.Run(c.language+" without "+c.gone, func(t *testing.T) {
			shells(t)
			dir, _, _ := strings.Cut(os.Getenv("PATH"), ":")
			t.Setenv("PATH", dir)
			if err := os.Remove(filepath.Join(dir, c.gone)); err != nil {
				t.Fatal(err)
			}
			passed, err := New(Limits{}).Run(t.Context(), Program{Language: c.language, Code: c.code})
			want := c.gone + " is not installed, which programs of this language need"
			if passed || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Run = %t, %v, want %q", passed, err, want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(first, "python3")); err != nil {
		t.Error(err)
	}
}

func TestLanguagesThatAreNotRunAreNamedWithThoseThatAre(t *testing.T) {
	for _, language := range []string{"", "Python", "cobol", "c++"} {
		_, err := New(Limits{}).Run(t.Context(), Program{Language: language})
		want := `programs in "` + language + `" are not run, only those in cpp, javascript, php, python, ruby and typescript`
		if err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %q", language, err, want)
		}
	}
}

func TestAProgramReadsItsInputAndItsOutputIsKept(t *testing.T) {
	shells(t)
	for kind, r := range kinds(Limits{}) {
		for _, c := range []struct {
			name, code, input, want string
		}{
			{"all of it", "cat", "one\ntwo\x00three", "one\ntwo\x00three"},
			{"a line of it", "head -n 1 >/dev/null; echo done", strings.Repeat("line\n", 1<<16), "done\n"},
			{"none of it", "echo done", strings.Repeat("x", 1<<20), "done\n"},
			{"where there is none", "wc -c | tr -d ' '", "", "0\n"},
			{"complaints are not output", "echo out; echo complaint >&2", "", "out\n"},
		} {
			var out strings.Builder
			passed, err := r.Run(t.Context(), Program{Language: "python", Code: c.code, Input: strings.NewReader(c.input), Output: &out})
			if err != nil || !passed || out.String() != c.want {
				t.Errorf("%s, %s: passes %t, error %v, wrote %q, want %q", kind, c.name, passed, err, out.String(), c.want)
			}
		}
		if got := writes(t, r, "python", "cat; echo end"); got != "end\n" {
			t.Errorf("%s, without an input: it wrote %q", kind, got)
		}
	}
}

// A fullWriter takes nothing.
type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errors.New("no room left") }

func TestOutputThatCannotBeKeptIsAnError(t *testing.T) {
	shells(t)
	passed, err := New(Limits{}).Run(t.Context(), Program{Language: "python", Code: "echo x", Output: fullWriter{}})
	if passed || err == nil || err.Error() != "no room left" {
		t.Errorf("Run = %t, %v, want the error of the writer", passed, err)
	}
}

// A signalWriter calls a function when something is written.
type signalWriter func()

func (w signalWriter) Write(p []byte) (int, error) { w(); return len(p), nil }

func TestRunningEndsWithItsContextInTheMiddle(t *testing.T) {
	shells(t)
	for kind, r := range kinds(Limits{}) {
		for _, language := range []string{"python", "typescript"} { // that one runs, this one is compiled
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(10*time.Second, func() { cancel(errors.New("late")) })
			enough := signalWriter(func() { cancel(errors.New("enough")) })
			if language == "typescript" {
				time.AfterFunc(30*time.Millisecond, enough)
			}
			start := time.Now()
			passed, err := r.Run(ctx, Program{Language: language, Code: "echo begun; sleep 20", Output: enough})
			if passed || err == nil || err.Error() != "enough" || time.Since(start) > 9*time.Second {
				t.Errorf("%s, %s: Run = %t, %v, after %v", kind, language, passed, err, time.Since(start))
			}
		}
	}
}

func TestNothingRunsAfterTheEndOfItsContext(t *testing.T) {
	shells(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	mark := filepath.Join(t.TempDir(), "mark")
	passed, err := New(Limits{}).Run(ctx, Program{Language: "python", Code: "echo > " + mark})
	if passed || err == nil || err.Error() != "enough" {
		t.Errorf("Run = %t, %v", passed, err)
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program ran: %v", err)
	}
}

func TestProgramsRunSideBySide(t *testing.T) {
	shells(t)
	r := New(Limits{})
	var group sync.WaitGroup
	folders := make([]string, 8)
	for i := range folders {
		group.Go(func() {
			var out strings.Builder
			// Each writes a file of the same name, and sees only its own.
			code := "[ -e mine ] && exit 1; echo " + strings.Repeat("x", i) + " > mine; pwd; exit $(( $(wc -c < mine) - 1 - " + string(rune('0'+i)) + "))"
			passed, err := r.Run(t.Context(), Program{Language: "python", Code: code, Output: &out})
			if err != nil || !passed {
				t.Errorf("program %d: passes %t, %v", i, passed, err)
			}
			folders[i] = out.String()
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, folder := range folders {
		seen[folder] = true
	}
	if len(seen) != len(folders) {
		t.Errorf("%d programs had %d folders", len(folders), len(seen))
	}
}

func TestAFolderThatCannotBeMadeIsAnError(t *testing.T) {
	shells(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	passed, err := New(Limits{}).Run(t.Context(), Program{Language: "python", Input: io.MultiReader()})
	if passed || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("Run = %t, %v, want the folder that is not there", passed, err)
	}
}
