package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestMain lets this program be the mlperf that selftest starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "selftest" {
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// An outcome is the exit status of a command line and its output.
type outcome struct {
	status         int
	stdout, stderr string
}

// mlperf runs a command line without a user who answers questions.
func mlperf(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := Run(t.Context(), args, &stdout, &stderr)
	return outcome{status, stdout.String(), stderr.String()}
}

// inFolder goes to an empty folder, with the cache and the downloads below it.
func inFolder(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fromJSON reads a document that a verb printed.
func fromJSON(t *testing.T, o outcome, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), into); err != nil {
		t.Fatalf("status %d, %v:\n%s%s", o.status, err, o.stdout, o.stderr)
	}
}

// TestVerbs lists what a verb needs: a line of verbs(), a purpose, an example, help that fits a terminal, and --json.
func TestVerbs(t *testing.T) {
	withoutJSON := []string{
		"mlperf man",    // writes manual pages
		"mlperf schema", // prints JSON
		"mlperf serve",  // answers until it is stopped
		"mlperf system", // prints JSON, in the form of a submission
	}
	root := New(io.Discard, io.Discard)
	for _, cmd := range commandsBelow(root) {
		cmd.InitDefaultHelpFlag()
		name := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || cmd.Example == "" {
			t.Errorf("%s: purpose %q, example %q", name, cmd.Short, cmd.Example)
		}
		if cmd.Parent() == root && cmd.GroupID == "" {
			t.Errorf("%s is in no group of the help", name)
		}
		if has := cmd.Flags().Lookup("json") != nil; !cmd.HasSubCommands() && has == slices.Contains(withoutJSON, name) {
			t.Errorf("%s: --json: %v", name, has)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(usageText(cmd, true), "--"+f.Name) {
				t.Errorf("help of %s lacks --%s", name, f.Name)
			}
		})
		if n := strings.Count(cmd.Long+"\n\n"+cmd.UsageString(), "\n"); n > helpLines {
			t.Errorf("help of %s has %d lines, want two screens", name, n)
		}
		for line := range strings.Lines(cmd.Long + "\n" + usageText(cmd, true)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("help of %s has a line of %d columns: %s", name, n, line)
			}
		}
	}
	short, all := mlperf(t, "run", "--help"), mlperf(t, "run", "--help-all")
	if strings.Contains(short.stdout, "--memory-pattern") || !strings.Contains(short.stdout, "more flags: mlperf run --help-all") || !strings.Contains(all.stdout, "--memory-pattern") {
		t.Errorf("help of run:\n%s\nwith all flags:\n%s", short.stdout, all.stdout)
	}
	o := mlperf(t, "help", "--markdown")
	for _, want := range []string{"# The command line\n", "## mlperf run\n", "## mlperf suite show\n", "--memory-pattern"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("help --markdown lacks %q", want)
		}
	}
}

func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"run --model ": "resnet50", "run --scenario o": "offline", "run --scenario Of": "Offline", "run --scenario SINGLES": "SINGLEStream", "show Res": "Resnet50", "run --device ": "cuda", "tune --rules ": "v0.5", "suite run --only ": "mobilenet", "suite run ": "mlmark",
		"synth dataset ": "imagenet", "download model ": "resnet50", "report --format ": "mlmark", "submission check --rules ": "v6.1",
	} {
		o := mlperf(t, append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Split(line, " ")...)...)
		if !slices.Contains(strings.Split(o.stdout, "\n"), want) {
			t.Errorf("completing %q: %q, want %s", line, o.stdout, want)
		}
	}
}

// The official scripts' spellings of flags work.
func TestOfficialSpelling(t *testing.T) {
	cmd, _, err := New(io.Discard, io.Discard).Find([]string{"accuracy"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"use_inv_map": "use-inv-map", "output_dtype": "dtype", "mlperf-accuracy-file": "log", "log_file": "log", "path": "log", "coco-dir": "dataset-path", "openimages-dir": "dataset-path", "waymo-dir": "dataset-path", "preprocessed_data_dir": "dataset-path",
	} {
		if f := cmd.Flags().Lookup(name); f == nil || f.Name != want {
			t.Errorf("--%s is %v, want --%s", name, f, want)
		}
	}
}

func TestWrapExamples(t *testing.T) {
	long := "  mlperf run " + strings.Repeat("--model resnet50 ", 10)
	wrapped := wrapExamples(long)
	for line := range strings.Lines(wrapped) {
		if len(line) > helpWidth+1 {
			t.Errorf("too long: %q", line)
		}
	}
	if joined := strings.Join(strings.Fields(strings.ReplaceAll(wrapped, "\\\n", "")), " "); joined != strings.TrimSpace(long) {
		t.Errorf("%q is not %q", joined, long)
	}
}
