package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestWrongValues(t *testing.T) {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Bool("json", false, "")
	f.Int("instances", 0, "")
	f.Int32("eos", 0, "")
	f.Uint64("seed", 0, "")
	f.Float64("tolerance", 0, "")
	f.IntSlice("batches", nil, "")
	f.Var(&mapFlag{"a": "1"}, "option", "")
	f.Var(new(durationFlag), "budget", "")
	f.Var(new(scenarioFlag), "scenario", "")
	for _, c := range []struct{ argument, want string }{
		{"--json=maybe", `--json … "maybe"`},
		{"--instances=2.5", `--instances … "2.5" … whole number`},
		{"--instances=9223372036854775808", `--instances … "9223372036854775808" … too large`},
		{"--eos=2147483648", `--eos … "2147483648" … too large`},
		{"--seed=-1", `--seed … "-1" … 0`},
		{"--tolerance=little", `--tolerance … "little" … number`},
		{"--batches=1,b", `--batches … "1,b" … commas`},
		{"--option=a=2", `--option … "a=2" … a … before`},
		{"--option==2", `--option … "=2" … key=value`},
		{"--budget=soon", `--budget … "soon" … 90s`},
		{"--budget=10", `--budget … "10" … 10s`},
		{"--budget=0.5", `--budget … "0.5" … 0.5s`},
		{"--budget=-1s", `--budget … "-1s" … negative`},
		{"--budget=1e30h", `--budget … "1e30h" … 90s`},
		{"--scenario=nowhere", `--scenario … "nowhere" … SingleStream … MultiStream … Server … Offline`},
	} {
		err := plainFlagError(f.Parse([]string{c.argument}))
		if !testenv.Names(err, c.want) {
			t.Errorf("%s: %v, want %s", c.argument, err, c.want)
		}
	}
	if other := errors.New("flag needs an argument: --budget"); plainFlagError(other) != other {
		t.Errorf("%v, want it as it is", plainFlagError(other))
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "0s": 0, "1.5s": 1500 * time.Millisecond, "10m": 10 * time.Minute, "1h30m": 90 * time.Minute, "2µs": 2000} {
		if got, err := parseDuration(text); got != want || err != nil {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
}

// settled is a command after its flags were settled, in a folder of its own, and its warnings.
func settled(t *testing.T, file string, args ...string) (*cobra.Command, string, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, optionFile, file)
	cmd := &cobra.Command{Use: "run"}
	var warnings strings.Builder
	cmd.SetErr(&warnings)
	f := cmd.Flags()
	defineProgress(f)
	durationVar(f, new(time.Duration), "min-duration", time.Second, "")
	f.Var((*scenarioFlag)(new(loadgen.Scenario)), "scenario", "")
	f.Int("count", 0, "")
	f.String("model", "", "")
	f.Bool("json", false, "")
	f.String("format", "table", "")
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	err := settleFlags(cmd)
	return cmd, warnings.String(), err
}

// The command line goes before the environment, and that before mlperf.yaml.
func TestFlagsEnvironmentAndFile(t *testing.T) {
	t.Setenv("MLPERF_COUNT", "5")
	t.Setenv("MLPERF_MODEL", "of-environment")
	t.Setenv("MLPERF_COLOUR", "red")
	cmd, warnings, err := settled(t, "model: of-file\ncount: 3\nmin-duration: 250ms\n", "--model", "of-flag")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range []string{"model", "count", "min-duration", "scenario"} {
		got[name] = cmd.Flag(name).Value.String() + " from " + originOf(cmd.Flags(), name)
	}
	want := map[string]string{
		"model": "of-flag from flag --model", "count": "5 from environment MLPERF_COUNT", "min-duration": "250ms from mlperf.yaml: min-duration", "scenario": "SingleStream from ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values and origins (-want +got):\n%s", diff)
	}
	if !strings.Contains(warnings, "MLPERF_COLOUR") {
		t.Errorf("no warning of a variable that nothing reads: %q", warnings)
	}
	if err := refuseFlags(cmd.Flags(), "is of nothing", "count", "min-duration", "scenario"); err != nil {
		t.Errorf("values for other verbs, from the environment and the file: %v", err)
	}
	if err := refuseFlags(cmd.Flags(), "is of nothing", "count", "model"); statusOf(err) != ExitUsage || err.Error() != "--model is of nothing" {
		t.Errorf("a flag of the command line: %v", err)
	}
}

func TestWrongValuesOfEnvironmentAndFile(t *testing.T) {
	for _, c := range []struct{ variable, value, file, want string }{
		{"MLPERF_MIN_DURATION", "soon", "", `environment MLPERF_MIN_DURATION … "soon" … 90s`},
		{"MLPERF_MIN_DURATION", "10", "", `environment MLPERF_MIN_DURATION … "10" … 10s`},
		{"", "", "min-duration: 250", `mlperf.yaml … min-duration … "250" … 250s`},
		{"", "", "json: maybe", `mlperf.yaml … json … "maybe"`},
		{"MLPERF_SCENARIO", "nowhere", "", `environment MLPERF_SCENARIO … "nowhere"`},
		{"MLPERF_PROGRESS", "loud", "", `--progress … "loud"`},
		{"MLPERF_CONFIG", "nowhere.yaml", "", "nowhere.yaml"},
	} {
		t.Run(c.variable+c.file, func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			if _, _, err := settled(t, c.file); statusOf(err) != ExitUsage || !testenv.Names(err, c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestChosenFormat(t *testing.T) {
	for _, c := range []struct{ name, file, variable, value, args, want string }{
		{name: "the default", want: "table"},
		{name: "JSON", args: "--json", want: "json"},
		{name: "another format", args: "--format csv", want: "csv"},
		{name: "JSON twice", args: "--json --format json", want: "json"},
		{name: "two formats", args: "--json --format csv", want: "--json … --format csv"},
		{name: "an unknown format", args: "--format pdf", want: `"pdf" … table … csv … json`},
		{name: "no JSON", args: "--json=false --format csv", want: "csv"},
		{name: "a format, and the file has JSON", file: "json: true", args: "--format csv", want: "csv"},
		{name: "a format, and the environment has JSON", variable: "MLPERF_JSON", value: "true", args: "--format csv", want: "csv"},
		{name: "JSON, and the file has a format", file: "format: csv", args: "--json", want: "json"},
		{name: "the environment before the file", file: "json: true", variable: "MLPERF_FORMAT", value: "csv", want: "csv"},
		{name: "both in the file", file: "json: true\nformat: csv", want: "json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			cmd, _, err := settled(t, c.file, strings.Fields(c.args)...)
			if err != nil {
				t.Fatal(err)
			}
			f := cmd.Flags()
			got, err := chosenFormat(f, []string{"table", "csv", "json"}, f.Lookup("format").Value.String(), f.Lookup("json").Value.String() == "true")
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != c.want || err != nil && !testenv.Names(err, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	cmd := &cobra.Command{Use: "show MODEL [FILE]"}
	root := &cobra.Command{Use: "mlperf", SuggestionsMinimumDistance: 2}
	root.AddCommand(cmd, &cobra.Command{Use: "run", Run: func(*cobra.Command, []string) {}})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"a"}, ""},
		{[]string{"a", "b", "c"}, `show … "c"`},
		{nil, "show … MODEL [FILE]"},
		{[]string{"a", ""}, "show … empty … MODEL [FILE]"},
	} {
		if err := arguments(1, 2)(cmd, c.args); !testenv.Names(err, c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
	for verb, want := range map[string]string{"rum": `"rum" … run`, "chicken": `"chicken"`} {
		if err := noVerb(root, []string{verb}); !testenv.Names(err, want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestOptionFileOfOtherVerbs(t *testing.T) {
	inFolder(t)
	write(t, optionFile, "fail-if: p50>+5%\nbudget: 3s\n")
	if o := mlperf(t, "list", "suites"); o.status != ExitDone || o.stderr != "" {
		t.Errorf("status %d: %s", o.status, o.stderr)
	}
}

// The name of an official data set is the folder of its download, unless the working folder has something of this name.
func TestNamedData(t *testing.T) {
	inFolder(t)
	run := func() outcome {
		return mlperf(t, "run", "--model", "resnet50", "--scenario", "offline", "--dataset-path", "imagenet", "--backend", "simulated")
	}
	got := run()
	if got.status != ExitError || !strings.Contains(got.stderr, "nor a download in ") || !strings.Contains(got.stderr, "mlperf download dataset imagenet gets it") {
		t.Errorf("nothing is there: %d, %s", got.status, got.stderr)
	}
	testenv.Tree(t, "data/datasets/imagenet", map[string]string{
		".mlperf-download/receipt.json": `{"format":1,"kind":"dataset","name":"imagenet"}`, "val_map.txt": "ofthedownload.JPEG 1\n",
	})
	if got := run(); got.status != ExitError || !strings.Contains(got.stderr, "ofthedownload.JPEG") {
		t.Errorf("it is downloaded: %d, %s", got.status, got.stderr)
	}
	testenv.Tree(t, "imagenet", map[string]string{"val_map.txt": "oftheuser.JPEG 1\n"})
	if got := run(); got.status != ExitError || !strings.Contains(got.stderr, "oftheuser.JPEG") {
		t.Errorf("the user has such a folder: %d, %s", got.status, got.stderr)
	}
}
