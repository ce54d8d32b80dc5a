//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A process is this program, run as mlperf in a folder with the tiny model and data.
type process struct {
	cmd  *exec.Cmd
	out  string // folder of its output
	done chan struct{}
	err  error

	mu     sync.Mutex
	output bytes.Buffer
}

// Write takes the output of the process.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(b)
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// read is the content of a file in the output folder; empty without it.
func (p *process) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(p.cmd.Dir, p.out, name))
	return string(data)
}

// start begins a command in a new folder, by way of the words before it.
func start(t *testing.T, made, args string, before ...string) *process {
	dir := t.TempDir()
	for _, err := range []error{
		os.CopyFS(dir, os.DirFS(made)), os.Mkdir(filepath.Join(dir, "out"), 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o755),
		os.WriteFile(filepath.Join(dir, "log.json"), []byte(`[{ "seq_id" : 0, "qsl_idx" : 1, "data" : "00004040" }]`), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return launch(t, dir, args, before...)
}

// next begins another command where this one was.
func (p *process) next(t *testing.T, args string) *process { return launch(t, p.cmd.Dir, args) }

func launch(t *testing.T, dir, args string, before ...string) *process {
	words := append(append(before, self(t)), strings.Fields(args)...)
	switch verb, _, _ := strings.Cut(args, " "); verb {
	case "run", "tune":
		words = append(words, strings.Fields(commonArgs)...)
	case "accuracy":
		words = append(words, "--model", "resnet50", "--dataset-path", "imagenet")
	}
	return begin(t, dir, words)
}

// self is this program.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// begin starts a command with all of its arguments.
func begin(t *testing.T, dir string, words []string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(words[0], words[1:]...), out: "out", done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, p, p
	p.cmd.Env = append(os.Environ(), "TEST_AS_MLPERF=1", "MLPERF_CACHE_DIR="+filepath.Join(dir, "cache"),
		"MLPERF_DATA_DIR="+filepath.Join(dir, "data"), "MLPERF_ORT_LIB=", "TMPDIR="+filepath.Join(dir, "tmp"))
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.done) }()
	return p
}

// wait waits for the end and returns the exit status; -1: ended by a signal.
func (p *process) wait(t *testing.T) int {
	select {
	case <-p.done:
	case <-time.After(longest):
		_ = p.cmd.Process.Kill()
		t.Fatalf("it hangs:\n%s", p.text())
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		t.Fatal(p.err)
	}
	if text := p.text(); strings.Contains(text, "goroutine ") || strings.Contains(text, "panic:") {
		t.Errorf("it shows a stack:\n%s", text)
	}
	return p.cmd.ProcessState.ExitCode()
}

// waitFor waits until a condition holds, or the process has ended.
func (p *process) waitFor(t *testing.T, what string, so func() bool) {
	for end := time.Now().Add(longest); !so(); {
		select {
		case <-p.done:
			return
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("it hangs before %s:\n%s", what, p.text())
		}
	}
}
