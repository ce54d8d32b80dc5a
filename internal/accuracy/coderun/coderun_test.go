//go:build unix

package coderun

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// needs skips a test where an interpreter is not installed.
func needs(t *testing.T, command string) {
	t.Helper()
	if _, err := exec.LookPath(command); err != nil {
		t.Skipf("%s is not installed", command)
	}
}

func run(t *testing.T, r *Runner, language, code string) bool {
	t.Helper()
	passed, err := r.Run(t.Context(), Program{Language: language, Code: code})
	if err != nil {
		t.Fatal(err)
	}
	return passed
}

func TestProgramsPassOrFail(t *testing.T) {
	testenv.SkipLong(t, "runs interpreters")
	for _, c := range []struct{ command, language, right, wrong string }{
		{"python3", "python", "def f(): return 2\nassert f() == 2", "assert False"},
		{"node", "javascript", "if (1 + 1 !== 2) throw 1", "throw new Error('no')"},
		{"ruby", "ruby", "raise 'no' unless 1 + 1 == 2", "raise 'no'"},
		{"php", "php", "<?php if (1 + 1 != 2) exit(1);", "<?php exit(1);"},
		{"g++", "cpp", "int main() { return 0; }", "int main() { return 1; }"},
		{"g++", "cpp", "int main() { return 0; }", "this is no program"},
		{"tsc", "typescript", "let x: number = 1;", "let x: number = ("},
	} {
		t.Run(c.language, func(t *testing.T) {
			needs(t, c.command)
			r := New(Limits{})
			if !run(t, r, c.language, c.right) {
				t.Errorf("%q fails", c.right)
			}
			if run(t, r, c.language, c.wrong) {
				t.Errorf("%q passes", c.wrong)
			}
		})
	}
}

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

// The shell tells what bounds it has: seconds, blocks of 512 bytes, files, blocks of core files, and KiB of memory.
const bounds = `ulimit -t; ulimit -f; ulimit -n; ulimit -c; `

func TestAProgramSeesItsBounds(t *testing.T) {
	shells(t)
	seconds := func(limit int) string { return strconv.Itoa((limit + 2) * runtime.NumCPU()) }
	for kind, r := range kinds(Limits{Time: 7900 * time.Millisecond, Memory: 6 << 30}) {
		want := seconds(7) + "\n131072\n256\n0\n6291456\n"
		if got := writes(t, r, "python", bounds+"ulimit -v"); got != want {
			t.Errorf("%s: bounds are %q, want %q", kind, got, want)
		}
		// node reserves more than it uses, so that it is what it can write to that is bounded.
		if got := writes(t, r, "javascript", bounds+"ulimit -d"); got != want {
			t.Errorf("%s: bounds of node are %q, want %q", kind, got, want)
		}
	}
	r := New(Limits{Compile: 50 * time.Second, Time: 3 * time.Second})
	// What the compiler has is in what it writes, which tells the rest.
	got := writes(t, r, "typescript", `echo "echo compiler $(ulimit -t); echo program $(ulimit -t)" > main.js; echo 'ulimit -t' >> main.js`)
	if want := "compiler " + seconds(50) + "\nprogram " + seconds(50) + "\n" + seconds(3) + "\n"; got != want {
		t.Errorf("a compiler and its program had %q, want %q", got, want)
	}
}

func TestATimeOfAProgramTakesThePlaceOfTheLimit(t *testing.T) {
	shells(t)
	r := New(Limits{Time: time.Nanosecond})
	if run(t, r, "python", "exit 0") {
		t.Error("a program passes in a nanosecond")
	}
	var out strings.Builder
	passed, err := r.Run(t.Context(), Program{Language: "python", Code: "ulimit -t", Time: time.Minute, Output: &out})
	if want := strconv.Itoa(62*runtime.NumCPU()) + "\n"; err != nil || !passed || out.String() != want {
		t.Errorf("with a minute: passes %t, %v, bound %q, want %q", passed, err, out.String(), want)
	}
}

func TestProgramsThatDoNotEndAreEnded(t *testing.T) {
	shells(t)
	for kind, r := range kinds(Limits{Time: 20 * time.Millisecond, Compile: 20 * time.Millisecond}) {
		for _, c := range []struct{ name, language, code string }{
			{"one that sleeps", "python", "sleep 20"},
			{"one that does not want to end", "python", "trap '' TERM INT HUP; while :; do sleep 20; done"},
			{"one that works", "python", "while :; do :; done"},
			{"one whose child goes on", "python", "sleep 20 & wait"},
			{"one that does not end well", "python", "trap 'exit 0' TERM EXIT; sleep 20"},
			{"its compiler", "typescript", "echo > main.js; sleep 20"},
		} {
			start := time.Now()
			if run(t, r, c.language, c.code) {
				t.Errorf("%s, %s: it passes", kind, c.name)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%s, %s: it took %v", kind, c.name, took)
			}
		}
	}
}

func TestAFileHasAnEnd(t *testing.T) {
	shells(t)
	r := New(Limits{})
	// The place is behind 64 MiB but for one byte, and then one further.
	if !run(t, r, "python", "printf x | dd of=f bs=1 seek=67108863 2>/dev/null") {
		t.Error("64 MiB do not fit")
	}
	if run(t, r, "python", "printf x | dd of=f bs=1 seek=67108864 2>/dev/null") {
		t.Error("64 MiB and a byte fit")
	}
}

func TestMemoryHasAnEnd(t *testing.T) {
	shells(t)
	r := New(Limits{Memory: 256 << 20})
	// dd asks for a buffer of its block's size.
	for size, want := range map[string]bool{"1M": true, "400M": false} {
		for _, language := range []string{"python", "javascript"} {
			if got := run(t, r, language, "dd if=/dev/null of=/dev/null count=1 bs="+size+" 2>/dev/null"); got != want {
				t.Errorf("%s: a buffer of %s: passes %t, want %t", language, size, got, want)
			}
		}
	}
}

func TestAProgramHasTheEnvironmentOfNobody(t *testing.T) {
	shells(t)
	t.Setenv("SECRET_KEY", "x")
	for kind, r := range kinds(Limits{}) {
		got := map[string]string{}
		for line := range strings.Lines(writes(t, r, "python", "env")) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			got[name] = value
		}
		delete(got, "_") // some shells' own
		delete(got, "OLDPWD")
		delete(got, "SHLVL")
		folder := got["PWD"]
		if !strings.HasPrefix(filepath.Base(folder), "mlperf-program-") {
			t.Errorf("%s: it runs in %q", kind, folder)
		}
		want := map[string]string{"PATH": os.Getenv("PATH"), "HOME": folder, "TMPDIR": folder, "PWD": folder, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %q, want %q", kind, name, got[name], value)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("%s: there is %q too", kind, got)
		}
	}
}

// pipe is a named pipe, and a function that says how long there is still somebody who has it open for writing.
func pipe(t *testing.T) (path string, ended func() time.Duration) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // needs no writer yet
	if err != nil {
		t.Fatal(err)
	}
	return path, func() time.Duration {
		start := time.Now()
		if _, err := io.Copy(io.Discard, f); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		return time.Since(start)
	}
}

// child holds a pipe open in a child for longer than the test may take.
func child(pipe string) string { return "exec 3>" + pipe + "; sleep 20 & " }

func TestChildrenEndWithTheirProgram(t *testing.T) {
	shells(t)
	for kind, r := range kinds(Limits{Time: 5 * time.Second}) {
		for _, c := range []struct {
			name, code string
			time       time.Duration
			want       bool
		}{
			{"that passes", "exit 0", 0, true},
			{"that fails", "exit 1", 0, false},
			{"that is not in time", "wait", 60 * time.Millisecond, false},
		} {
			path, ended := pipe(t)
			passed, err := r.Run(t.Context(), Program{Language: "python", Code: child(path) + c.code, Time: c.time})
			if err != nil || passed != c.want {
				t.Errorf("%s, a program %s: passes %t, %v", kind, c.name, passed, err)
			}
			if took := ended(); took > 10*time.Second {
				t.Errorf("%s: the child of a program %s went on for %v", kind, c.name, took)
			}
		}
	}
}

func TestChildrenEndWithTheContext(t *testing.T) {
	shells(t)
	for kind, r := range kinds(Limits{}) {
		ctx, cancel := context.WithCancel(t.Context())
		path, ended := pipe(t)
		if _, err := r.Run(ctx, Program{Language: "python", Code: child(path) + "echo begun; wait", Output: signalWriter(cancel)}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", kind, err)
		}
		if took := ended(); took > 10*time.Second {
			t.Errorf("%s: the child went on for %v", kind, took)
		}
	}
}

// killedEnv has the pipe for the process that TestAProgramEndsWithThisProcess kills.
const killedEnv = "CODERUN_TEST_PIPE"

func TestAProgramEndsWithThisProcess(t *testing.T) {
	if path := os.Getenv(killedEnv); path != "" { // the process that is killed, which the shells of the other one serve
		_, err := New(Limits{}).Run(t.Context(), Program{Language: "python", Code: "exec 3>" + path + "; echo begun; sleep 20; :", Output: os.Stdout})
		t.Fatal(err)
	}
	shells(t)
	if !New(Limits{}).isolated {
		t.Skip("where programs are not isolated, only the first process of a program ends so")
	}
	path, ended := pipe(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAProgramEndsWithThisProcess$")
	cmd.Env = append(os.Environ(), killedEnv+"="+path, "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("begun"))); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if took := ended(); took > 10*time.Second {
		t.Errorf("the program went on for %v", took)
	}
	_ = cmd.Wait() // it was killed
}

func TestNothingOfAProgramIsLeft(t *testing.T) {
	shells(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	kept := t.TempDir()
	if err := os.WriteFile(filepath.Join(kept, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(kept, 0o500); err != nil {
		t.Fatal(err)
	}
	r := New(Limits{})
	for _, c := range []struct{ name, code string }{
		{"files and folders", "mkdir -p a/b/c; echo x > a/b/c/d"},
		{"a folder that nobody may look into", "mkdir -p a/b; echo x > a/b/c; chmod 0 a/b a"},
		{"a folder that nobody may write to", "mkdir a; echo x > a/b; chmod 0444 a/b; chmod 0555 a ."},
		{"its own folder that nobody may look into", "echo x > a; chmod 0 ."},
		{"a link to the user's files", "ln -s " + kept + " a"},
		{"no folder any more", `rm -rf "$HOME"`},
		{"a link in the place of its folder", `cd /; rm -rf "$HOME"; ln -s ` + kept + ` "$HOME"`},
		{"a file in the place of its folder", `cd /; rm -rf "$HOME"; echo x > "$HOME"`},
		{"a file with an odd name", `echo x > "$(printf 'a\nb\001\377')"`},
	} {
		if !run(t, r, "python", c.code) {
			t.Errorf("%s: it fails", c.name)
		}
		left, err := os.ReadDir(temp)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range left {
			t.Errorf("%s: %s is left", c.name, entry.Name())
		}
	}
	if about, err := os.Stat(kept); err != nil || about.Mode().Perm() != 0o500 {
		t.Errorf("the folder of the user is %v, %v", about.Mode(), err)
	}
	if text, err := os.ReadFile(filepath.Join(kept, "file")); err != nil || string(text) != "x" {
		t.Errorf("the file of the user is %q, %v", text, err)
	}
}

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
