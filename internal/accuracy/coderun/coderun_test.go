//go:build unix

package coderun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestProgramsPassOrFail(t *testing.T) {
	testenv.SkipLong(t, "runs interpreters")
	for _, c := range []struct{ command, language, right, wrong string }{
		{"python3", "python", "def f(): return 2\nassert f() == 2", "assert False"},
		{"node", "javascript", "if (1 + 1 !== 2) throw 1", "throw new Error('no')"},
		{"ruby", "ruby", "raise 'no' unless 1 + 1 == 2", "raise 'no'"},
		{"php", "php", "<?php if (1 + 1 != 2) exit(1);", "<?php exit(1);"},
		{"g++", "cpp", "int main() { return 0; }", "int main() { return 1; }"},
		{"g++", "cpp", "int main() { return 0; }", "not a program"},
		{"tsc", "typescript", "let x: number = 1;", "let x: number = ("},
	} {
		t.Run(c.language, func(t *testing.T) {
			if _, err := exec.LookPath(c.command); err != nil {
				t.Skipf("%s is not installed", c.command)
			}
			if right, _ := run(t, newRunner(t), c.language, c.right); !right {
				t.Errorf("%q fails", c.right)
			}
			if wrong, _ := run(t, newRunner(t), c.language, c.wrong); wrong {
				t.Errorf("%q passes", c.wrong)
			}
		})
	}
}

// The other tests put the shell in the place of the interpreters: every machine has it, and a runner treats it alike.

// shells puts a folder of interpreters at the front of PATH. They are the shell, which runs the last argument.
// Compilers make shell programs: g++ copies the file, tsc runs it, so that it decides its output and status.
func shells(t *testing.T) (folder string) {
	t.Helper()
	folder = public(t)
	if err := os.Symlink("/bin/sh", filepath.Join(folder, "python3")); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"node": `. "./$2"`,
		"g++":  `grep -q 'no program' "$1" && exit 1; cp "$1" "$3" && chmod +x "$3"`,
		"tsc":  `. "./$1"`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	return folder
}

// runners returns runners with and without isolation, where this machine has both.
func runners(t *testing.T, change func(r *Runner)) map[string]*Runner {
	isolated := newRunner(t)
	change(isolated)
	plain := *isolated
	plain.isolated, plain.counted = false, false
	all := map[string]*Runner{"not isolated": &plain}
	if isolated.isolated {
		all["isolated"] = isolated
	}
	return all
}

func unchanged(*Runner) {}

// public returns a folder that programs reach, also those of the superuser.
func public(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	testenv.Must(t, os.Chmod(filepath.Dir(folder), 0o755))
	return folder
}

// newRunner may run programs as the superuser.
func newRunner(t *testing.T) *Runner {
	t.Helper()
	r, err := New(true)
	testenv.Must(t, err)
	return r
}

func run(t *testing.T, r *Runner, language, code string) (passed bool, output string) {
	t.Helper()
	var out strings.Builder
	passed, err := r.Run(t.Context(), Program{Language: language, Code: code, Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	return passed, out.String()
}

func TestStatusDecides(t *testing.T) {
	shells(t)
	for kind, r := range runners(t, unchanged) {
		for _, c := range []struct {
			name, language, code string
			want                 bool
		}{
			{"ends", "python", "exit 0", true},
			{"complains and ends well", "python", "echo bad >&2", true},
			{"ends badly", "python", "echo passed; exit 1", false},
			{"has the status that tsc may have", "python", "exit 2", false},
			{"kills itself", "python", "kill -KILL $$; sleep 0.1; exit 0", false},
			{"terminates itself", "python", "kill -TERM $$; sleep 0.1; exit 0", false},
			{"loses a child", "python", "sh -c 'kill -KILL $$'; exit 0", true},
			{"is compiled", "cpp", "#!/bin/sh\nexit 0", true},
			{"is compiled and fails", "cpp", "#!/bin/sh\nexit 1", false},
			{"does not compile", "cpp", "#!/bin/sh\nexit 0 # no program", false},
			{"is written by tsc", "typescript", "echo exit 0 > main.js", true},
			{"is written by tsc with complaints", "typescript", "echo exit 0 > main.js; exit 2", true},
			{"is written by tsc and fails", "typescript", "echo exit 1 > main.js; exit 2", false},
			{"fails in tsc", "typescript", "echo exit 0 > main.js; exit 1", false},
			{"is not written by tsc", "typescript", "exit 2", false},
		} {
			if got, _ := run(t, r, c.language, c.code); got != c.want {
				t.Errorf("%s: a program that %s: passes %t, want %t", kind, c.name, got, c.want)
			}
		}
	}
}

func TestMissingInterpretersAreNamed(t *testing.T) {
	folder := shells(t)
	t.Setenv("PATH", folder)
	for _, c := range []struct{ language, missing string }{{"python", "python3"}, {"javascript", "node"}, {"cpp", "g++"}, {"typescript", "tsc"}} {
		if err := os.Remove(filepath.Join(folder, c.missing)); err != nil {
			t.Fatal(err)
		}
		passed, err := newRunner(t).Run(t.Context(), Program{Language: c.language})
		if want := c.missing + " is not installed, which programs of this language need"; passed || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Run = %t, %v, want %q", c.language, passed, err, want)
		}
	}
}

func TestInputAndOutput(t *testing.T) {
	shells(t)
	for kind, r := range runners(t, unchanged) {
		for _, c := range []struct{ name, code, input, want string }{
			{"all of the input", "cat", "one\ntwo\x00three", "one\ntwo\x00three"},
			{"a part of the input", "head -n 1 >/dev/null; echo done", strings.Repeat("line\n", 1<<16), "done\n"},
			{"an empty input", "cat; echo end", "", "end\n"},
			{"complaints", "echo out; echo complaint >&2", "", "out\n"},
		} {
			var out strings.Builder
			passed, err := r.Run(t.Context(), Program{Language: "python", Code: c.code, Input: strings.NewReader(c.input), Output: &out})
			if err != nil || !passed || out.String() != c.want {
				t.Errorf("%s, %s: passes %t, error %v, wrote %q, want %q", kind, c.name, passed, err, out.String(), c.want)
			}
		}
	}
}

// The shell prints its limits: seconds, blocks of 512 bytes, files, blocks of core files, and KiB of memory.
func TestLimits(t *testing.T) {
	shells(t)
	const print = `ulimit -t; ulimit -f; ulimit -n; ulimit -c; `
	seconds := func(limit int) string { return strconv.Itoa((limit+2)*runtime.NumCPU()) + "\n" }
	for kind, r := range runners(t, func(r *Runner) {
		r.runTime, r.compileTime, r.memory = 7900*time.Millisecond, 50*time.Second, 6<<30
	}) {
		for language, code := range map[string]string{"python": print + "ulimit -v", "javascript": print + "ulimit -d"} {
			if _, got := run(t, r, language, code); got != seconds(7)+"131072\n256\n0\n6291456\n" {
				t.Errorf("%s: limits of %s: %q", kind, language, got)
			}
		}
		if _, got := run(t, r, "typescript", `echo "echo $(ulimit -t)" > main.js; echo 'ulimit -t' >> main.js`); got != seconds(50)+seconds(7) {
			t.Errorf("%s: a compiler and its program have %q", kind, got)
		}
		var out strings.Builder
		if _, err := r.Run(t.Context(), Program{Language: "python", Code: "ulimit -t", Time: time.Minute, Output: &out}); err != nil || out.String() != seconds(60) {
			t.Errorf("%s: a program with a minute has %q, %v", kind, out.String(), err)
		}
	}
}

func TestTimeEndsPrograms(t *testing.T) {
	shells(t)
	for kind, r := range runners(t, func(r *Runner) { r.runTime, r.compileTime = 20*time.Millisecond, 20*time.Millisecond }) {
		for _, c := range []struct{ name, language, code string }{
			{"ignores signals", "python", "trap '' TERM INT HUP; while :; do sleep 20; done"},
			{"computes", "python", "while :; do :; done"},
			{"has a child", "python", "sleep 20 & wait"},
			{"ends well after a signal", "python", "trap 'exit 0' TERM EXIT; sleep 20"},
			{"compiles long", "typescript", "echo > main.js; sleep 20"},
		} {
			start := time.Now()
			if passed, _ := run(t, r, c.language, c.code); passed || time.Since(start) > 10*time.Second {
				t.Errorf("%s: a program that %s: passes %t after %v", kind, c.name, passed, time.Since(start))
			}
		}
	}
}

func TestEnvironment(t *testing.T) {
	shells(t)
	t.Setenv("SECRET_KEY", "x")
	for kind, r := range runners(t, unchanged) {
		got := map[string]string{}
		_, env := run(t, r, "python", "env")
		for line := range strings.Lines(env) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			got[name] = value
		}
		for _, name := range []string{"_", "OLDPWD", "SHLVL"} { // some shells set these
			delete(got, name)
		}
		folder := got["PWD"]
		want := map[string]string{"PATH": os.Getenv("PATH"), "HOME": folder, "TMPDIR": folder, "PWD": folder, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
		if diff := cmp.Diff(want, got); diff != "" || !strings.HasPrefix(filepath.Base(folder), "mlperf-program-") {
			t.Errorf("%s: in %s (-want +got):\n%s", kind, folder, diff)
		}
	}
}

// pipe returns a named pipe and a function that waits until no process has it open for writing.
func pipe(t *testing.T) (path string, wait func()) {
	t.Helper()
	path = filepath.Join(public(t), "pipe")
	testenv.Must(t, errors.Join(syscall.Mkfifo(path, 0o666), os.Chmod(path, 0o666)))
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opens without a writer
	if err != nil {
		t.Fatal(err)
	}
	return path, func() {
		start := time.Now()
		_, err := io.Copy(io.Discard, f)
		if err := errors.Join(err, f.Close()); err != nil || time.Since(start) > 10*time.Second {
			t.Errorf("a process has the pipe open after %v, %v", time.Since(start), err)
		}
	}
}

// A cancelWriter cancels a context when something is written.
type cancelWriter context.CancelCauseFunc

func (w cancelWriter) Write(p []byte) (int, error) { w(errors.New("enough")); return len(p), nil }

func TestChildrenEndWithTheirProgram(t *testing.T) {
	shells(t)
	for kind, r := range runners(t, unchanged) {
		for _, c := range []struct {
			name, code string
			time       time.Duration
			want       bool
			err        string
		}{
			{"passes", "exit 0", 0, true, "<nil>"},
			{"fails", "exit 1", 0, false, "<nil>"},
			{"is late", "wait", 60 * time.Millisecond, false, "<nil>"},
			{"is cancelled", "echo started; wait", 0, false, "enough"},
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			path, wait := pipe(t)
			p := Program{Language: "python", Code: "exec 3>" + path + "; sleep 20 & " + c.code, Time: c.time}
			if c.err == "enough" {
				p.Output = cancelWriter(cancel)
			}
			passed, err := r.Run(ctx, p)
			if message := fmt.Sprint(err); passed != c.want || message != c.err {
				t.Errorf("%s: a program that %s: passes %t, %q, want %t, %q", kind, c.name, passed, message, c.want, c.err)
			}
			wait()
		}
	}
}

func TestCancelEndsCompilers(t *testing.T) {
	shells(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, errors.New("enough"))
	defer cancel()
	if _, err := newRunner(t).Run(ctx, Program{Language: "typescript", Code: "sleep 20"}); fmt.Sprint(err) != "enough" {
		t.Errorf("error %v", err)
	}
}

// killedEnv names the pipe for the process that TestProgramsEndWithThisProcess kills.
const killedEnv = "CODERUN_TEST_PIPE"

func TestProgramsEndWithThisProcess(t *testing.T) {
	if path := os.Getenv(killedEnv); path != "" { // this is the process to kill
		_, err := newRunner(t).Run(t.Context(), Program{Language: "python", Code: "exec 3>" + path + "; echo started; sleep 20; :", Output: os.Stdout})
		t.Fatal(err)
	}
	shells(t)
	if !newRunner(t).isolated {
		t.Skip("without isolation only the first process of a program ends with this one")
	}
	path, wait := pipe(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProgramsEndWithThisProcess$")
	cmd.Env = append(os.Environ(), killedEnv+"="+path, "TMPDIR="+public(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("started"))); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	wait()
	_ = cmd.Wait() // fails, as it was killed
}

func TestFoldersAreRemoved(t *testing.T) {
	shells(t)
	temp, kept := public(t), public(t)
	t.Setenv("TMPDIR", temp)
	if err := errors.Join(os.WriteFile(filepath.Join(kept, "file"), []byte("x"), 0o600), os.Chmod(kept, 0o500)); err != nil {
		t.Fatal(err)
	}
	elsewhere := public(t)
	testenv.Must(t, os.Chmod(elsewhere, 0o777))
	for kind, r := range runners(t, unchanged) {
		for _, c := range []struct{ name, code string }{
			{"writes files and folders", "mkdir -p a/b/c; echo x > a/b/c/d"},
			{"makes folders unreadable", "mkdir -p a/b; echo x > a/b/c; chmod 0 a/b a ."},
			{"makes a folder read-only", "mkdir a; echo x > a/b; chmod 0444 a/b; chmod 0555 a ."},
			{"links to the user's files", "ln -s " + kept + " a"},
			{"replaces its folder by a link", `cd /; rm -rf "$HOME"; ln -s ` + kept + ` "$HOME"`},
			{"replaces its folder by a file", `cd /; rm -rf "$HOME"; echo x > "$HOME" || :`},
			{"renames its folder", `echo x > a; cd /; mv "$HOME" ` + elsewhere + `/renamed || :`},
		} {
			if passed, _ := run(t, r, "python", c.code); !passed {
				t.Errorf("%s: a program that %s fails", kind, c.name)
			}
			for _, dir := range []string{temp, elsewhere} {
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%s: a program that %s leaves %v, %v", kind, c.name, left, err)
				}
			}
		}
	}
	about, err := os.Stat(kept)
	if _, err2 := os.Stat(filepath.Join(kept, "file")); err != nil || err2 != nil || about.Mode().Perm() != 0o500 {
		t.Errorf("the user's folder and file: %v, %v, %v", about.Mode(), err, err2)
	}
}
