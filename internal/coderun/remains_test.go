//go:build unix

package coderun

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
		{"another copy of the lock", "rm -f .scratch; mkdir .scratch"},
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

// As the superuser, for whom rights are no bounds, only the rights show it.
func TestFoldersAreOpenedBeforeTheyAreRemoved(t *testing.T) {
	top := t.TempDir()
	outside := t.TempDir()
	inner := filepath.Join(top, "a", "b")
	if err := errors.Join(os.MkdirAll(inner, 0o700), os.Symlink(outside, filepath.Join(top, "a", "link")),
		os.Chmod(outside, 0o500), os.Chmod(inner, 0), os.Chmod(filepath.Dir(inner), 0), os.Chmod(top, 0)); err != nil {
		t.Fatal(err)
	}
	openUp(top)
	for path, want := range map[string]os.FileMode{top: 0o700, filepath.Dir(inner): 0o700, inner: 0o700, outside: 0o500} {
		if about, err := os.Stat(path); err != nil || about.Mode().Perm() != want {
			t.Errorf("%s has %v, %v, want %v", strings.TrimPrefix(path, top), about.Mode(), err, want)
		}
	}
	openUp(filepath.Join(top, "missing")) // there is nothing to be said
}
