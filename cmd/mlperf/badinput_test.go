//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// A badInput is a command line that cannot be right.
type badInput struct {
	args   string // with spaces between; _ is an empty argument
	status int
	want   string // in the error: the offender
}

// longest is how long a command may take before it hangs, on a machine with forty programs for each processor.
const longest = 2 * time.Minute

// TestBadInput runs the command lines of testdata/badinput.txt, and each flag with values that its type does not have. Each ends
// with the right status, names the offender, and shows no stack.
func TestBadInput(t *testing.T) {
	text, err := os.ReadFile("testdata/badinput.txt")
	if err != nil {
		t.Fatal(err)
	}
	inMaterial(t)
	inputs, begin := badValues(), ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch status, rest, ok := strings.Cut(line, " "); {
		case line == "" || status == "#":
		case status == "=":
			begin = rest + " "
		default:
			args, want, _ := strings.Cut(rest, "=> ")
			n, err := strconv.Atoi(status)
			if err != nil || !ok || want == "" {
				t.Fatalf("%q is not a status, arguments and a text", line)
			}
			inputs = append(inputs, badInput{begin + args, n, want})
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // each of them makes the whole command line and drops it
	next := make(chan badInput)
	var workers sync.WaitGroup
	for range 2 * runtime.NumCPU() { // some of them read files
		workers.Go(func() {
			for c := range next {
				c.check(t)
			}
		})
	}
	for _, c := range inputs {
		next <- c
	}
	close(next)
	workers.Wait()
}

// check runs the command line.
func (c badInput) check(t *testing.T) {
	var out bytes.Buffer
	args := strings.Fields(c.args)
	for i, a := range args {
		if a == "_" {
			args[i] = ""
		}
	}
	done := make(chan int, 1)
	go func() { done <- execute(args, &out, &out) }()
	select {
	case status := <-done:
		text := out.String()
		if status != c.status || !strings.Contains(text, c.want) || strings.Contains(text, "goroutine ") {
			t.Errorf("mlperf %s: status %d, want %d and %q:\n%s", c.args, status, c.status, c.want, strings.TrimSpace(text))
		}
	case <-time.After(longest):
		t.Errorf("mlperf %s hangs", c.args)
	}
}

// inMaterial goes to a folder with models, data, and files that are neither.
func inMaterial(t *testing.T) {
	t.Helper()
	dir := material(t)
	t.Chdir(dir)
	for name, value := range map[string]string{"MLPERF_CACHE_DIR": "cache", "MLPERF_DATA_DIR": "data", "MLPERF_ORT_LIB": filepath.Join(dir, "nothere.so")} {
		t.Setenv(name, value)
	}
	for name, text := range map[string]string{
		"page.html": "<html>404</html>", "empty": "", "bad.conf": "*.Server.target_qsp = 1\n", "value.conf": "*.Server.target_qps = fast\n",
		"words.conf": "not a settings file\n",
		"cut.json":   `[{ "seq_id" : 0, "qsl_idx" : 1, "data" : "00`, "odd.json": `[{ "seq_id" : 0, "qsl_idx" : 1, "data" : "0G" }]`,
		"far.json": `[{ "seq_id" : 0, "qsl_idx" : 99, "data" : "00000000" }]`, "profile.json": `{"schema": "x"}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"folder", "run/old", "badrun"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("badrun/results.json", []byte(`{"schema": "mlperf-go/results/9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo("pipe", 0o644); err != nil {
		t.Fatal(err)
	}
}

// badValues gives every flag of every verb values that its type does not have.
func badValues() (list []badInput) {
	bad := map[string][]string{
		"int": {"x", "1.5", "99999999999999999999"}, "uint64": {"x", "-1", "1e3"}, "float64": {"x", "1e999"}, "bool": {"maybe"},
		"duration": {"soon", "-1s", "10"}, "scenario": {"Servers"}, "key=value": {"x", "=1"}, "intSlice": {"x", "1,y"},
	}
	for _, cmd := range commands(cli.New(io.Discard, io.Discard)) {
		_, verb, _ := strings.Cut(cmd.CommandPath(), " ")
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			for _, value := range bad[f.Value.Type()] {
				list = append(list, badInput{fmt.Sprintf("%s --%s=%s", verb, f.Name, value), cli.ExitUsage, "--" + f.Name})
			}
		})
		list = append(list, badInput{verb + " --no-such-flag", cli.ExitUsage, "--no-such-flag"})
	}
	return list
}
