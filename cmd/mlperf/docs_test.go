package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Commands are in documents between backticks or in lines of their own, and anywhere in texts of help.
var (
	inBackticks = regexp.MustCompile("`(mlperf [^`]+)`")
	lineOfCode  = regexp.MustCompile(`(?m)^(?: {4}|\$ )?(mlperf [a-z].*)$`)
	inHelp      = regexp.MustCompile(`mlperf[ \n][a-z]+[ \n][^\n;:,()]*`)
	bareWord    = regexp.MustCompile(`^[a-z][a-z0-9.-]*$`)
)

// Commands in documents and in help exist, and their flags too.
func TestDocumentedCommands(t *testing.T) {
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(documents) == 0 {
		t.Fatal(documents, err)
	}
	seen := 0
	for _, path := range append(documents, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []*regexp.Regexp{inBackticks, lineOfCode} {
			for _, m := range form.FindAllStringSubmatch(string(text), -1) {
				seen++
				if wrong := unknownIn(m[1]); wrong != "" {
					t.Errorf("%s: %q: unknown %s", path, m[1], wrong)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d commands were found, want more", seen)
	}
	root := cli.New(io.Discard, io.Discard)
	for _, cmd := range commands(root) {
		for line := range strings.Lines(cmd.Example) {
			if wrong := unknownIn(line); wrong != "" {
				t.Errorf("example of %s: %q: unknown %s", cmd.CommandPath(), line, wrong)
			}
		}
		for _, m := range inHelp.FindAllString(cmd.Long, -1) {
			if found, _, err := root.Find(strings.Fields(m)[1:2]); err != nil || !found.HasParent() {
				continue // "mlperf in the PATH"
			}
			if wrong := unknownIn(m); wrong != "" {
				t.Errorf("help of %s: %q: unknown %s", cmd.CommandPath(), m, wrong)
			}
		}
	}
}

// unknownIn is the unknown command or flag in a line; "" if all are known. Words in capitals stand for others.
func unknownIn(line string) string {
	line, _, _ = strings.Cut(line, " #")
	words := strings.Fields(line)[1:]
	cmd, rest, err := cli.New(io.Discard, io.Discard).Find(words)
	if err == nil && len(rest) > 0 && cmd.HasSubCommands() && bareWord.MatchString(rest[0]) {
		err = cmd.ValidateArgs(rest[:1])
	}
	if err != nil {
		return "command " + strings.Join(words[:min(2, len(words))], " ")
	}
	cmd.InitDefaultHelpFlag()
	for _, word := range rest {
		flag, ok := strings.CutPrefix(word, "--")
		name := flag[:len(flag)-len(strings.TrimLeft(flag, "abcdefghijklmnopqrstuvwxyz0123456789-"))]
		if ok && name != "" && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			return fmt.Sprintf("flag --%s of %s", name, cmd.CommandPath())
		}
	}
	return ""
}

// docs/data.md names the variables that the program and the scripts read, except those that are flags.
func TestDocumentedVariables(t *testing.T) {
	manual, err := os.ReadFile("../../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	read := regexp.MustCompile(`"(MLPERF_\w+)"|\$\{?(MLPERF\w*)`)
	tree := os.DirFS("../..")
	found := map[string]string{}
	err = fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".sh") {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		for _, match := range read.FindAllStringSubmatch(string(text), -1) {
			found[match[1]+match[2]] = path
		}
		return err
	})
	if err != nil || len(found) < 4 {
		t.Fatalf("%v: found %v, want at least the folders, the configuration and the library", err, found)
	}
	for name, path := range found {
		if name != "MLPERF_LONG_TESTS" && !strings.Contains(string(manual), "`"+name+"`") {
			t.Errorf("%s reads %s, which docs/data.md does not name", path, name)
		}
	}
}

// TestHelpExamplesRun runs the examples of --help with a tiny model on the simulated engine.
func TestHelpExamplesRun(t *testing.T) {
	testenv.SkipLong(t, "many processes")
	t.Parallel()
	dir := material(t)
	if err := os.Rename(filepath.Join(dir, "tiny.onnx"), filepath.Join(dir, "my.onnx")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := commands(cli.New(io.Discard, io.Discard))
	slices.SortStableFunc(all, func(a, b *cobra.Command) int { // run first, because others look at its results
		return strings.Compare(strings.TrimPrefix(a.Name(), "run"), strings.TrimPrefix(b.Name(), "run"))
	})
	for _, cmd := range all {
		for line := range strings.Lines(cmd.Example) {
			args := exampleArgs(strings.Fields(line))
			if args == nil {
				continue
			}
			run := exec.Command(self, args...)
			run.Args[0] = "mlperf"
			run.Dir = dir
			run.Env = append(os.Environ(), "TEST_AS_MLPERF=1", "MLPERF_CACHE_DIR="+filepath.Join(dir, "cache"), "MLPERF_DATA_DIR="+filepath.Join(dir, "data"), "MLPERF_ORT_LIB=")
			out, err := run.CombinedOutput()
			var exit *exec.ExitError
			if errors.As(err, &exit) && slices.Contains([]int{cli.ExitInvalid, cli.ExitInaccurate}, exit.ExitCode()) {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", strings.TrimSpace(line), err, out)
			}
		}
	}
}

// exampleArgs are the arguments of an example here; nil: it needs ONNX Runtime, or other tests run it.
func exampleArgs(words []string) []string {
	args := slices.Clone(words[1:])
	if len(args) > 1 && args[1] == "my.onnx" { // ONNX Runtime reads it
		return nil
	}
	switch args[0] {
	case "synth", "doctor", "quantize", "compare", "convert", "serve", "submission": // scripts of their own run the last four
		return nil
	case "report": // report.txtar makes the runs of clients
		if slices.Contains(args, "--together") {
			return nil
		}
	case "suite": // suite.txtar runs one
		if args[1] == "run" {
			return nil
		}
	case "audit": // audit.txtar runs the others
		if args[1] != "list" {
			return nil
		}
	case "explain":
		if slices.Contains(args, "logs") { // of another LoadGen; report.txtar has some
			return nil
		}
	case "run":
		if !slices.Contains(args, "--model-path") {
			args = append(args, "--model-path", "my.onnx", "--dataset-path", "imagenet")
		}
		return append(args, "--backend", "simulated", "--sim-latency", "1ms", "--min-duration", "100ms", "--min-query-count", "64")
	case "tune":
		if !slices.Contains(args, "--model-path") {
			args = append(args, "--model-path", "my.onnx")
		}
		return append(args, "--dataset-path", "imagenet", "--backend", "simulated", "--sim-latency", "1ms", "--instances", "1", "--intra-threads", "1", "--budget", "300ms")
	case "accuracy":
		for i, a := range args {
			if a == "mlperf_log_accuracy.json" {
				args[i] = "results/mobilenet/offline/accuracy/latest/" + a
			}
		}
	}
	return args
}
