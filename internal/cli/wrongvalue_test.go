package cli

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// variety defines a flag of each type.
func variety(f *pflag.FlagSet) {
	f.BoolP("json", "j", false, "")
	f.Int("instances", 0, "")
	f.Int32("eos", 0, "")
	f.Uint64("seed", 0, "")
	f.Float64("tolerance", 0, "")
	f.IntSlice("batches", nil, "")
	f.Float64Slice("rates", nil, "")
	DurationVar(f, new(time.Duration), "budget", 0, "")
	ScenarioVar(f, new(loadgen.Scenario), "scenario", "")
}

func TestAWrongValueIsToldInPlainWords(t *testing.T) {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	variety(f)
	for _, c := range []struct{ argument, want string }{
		{"--json=maybe", `--json: "maybe" is neither true nor false`},
		{"--json=", `--json: "" is neither true nor false`},
		{"--instances=two", `--instances: "two" is no whole number`},
		{"--instances=2.5", `--instances: "2.5" is no whole number`},
		{"--instances=9223372036854775808", `--instances: "9223372036854775808" is beyond what a number may be here`},
		{"--eos=2147483648", `--eos: "2147483648" is beyond what a number may be here`},
		{"--seed=-1", `--seed: "-1" is no whole number from 0`},
		{"--tolerance=little", `--tolerance: "little" is no number`},
		{"--batches=1,b", `--batches: "1,b" is no list of numbers with commas between`},
		{"--rates=1;2", `--rates: "1;2" is no list of numbers with commas between`},
		{"--budget=soon", `--budget: "soon" is not a time: want 90s, 10m, 1h, or milliseconds without a unit`},
		{"--scenario=nowhere", `--scenario: unknown scenario "nowhere", want one of SingleStream, MultiStream, Server, Offline`},
	} {
		err := Misread(f.Parse([]string{c.argument}))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.argument, err, c.want)
		}
	}
	if other := errors.New("flag needs an argument: --budget"); Misread(other) != other {
		t.Errorf("%v, want it as it is", Misread(other))
	}
}

func TestAWrongValueFromElsewhereNamesItsPlace(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(optionFile, []byte("json: maybe\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func() error {
		cmd := &cobra.Command{Use: "run"}
		DefineProgress(cmd.Flags())
		variety(cmd.Flags())
		return Before(cmd)
	}
	if err := read(); err == nil || err.Error() != `mlperf.yaml: json: "maybe" is neither true nor false` {
		t.Error(err)
	}
	t.Setenv("MLPERF_JSON", "perhaps")
	if err := read(); err == nil || err.Error() != `environment MLPERF_JSON: "perhaps" is neither true nor false` {
		t.Error(err)
	}
}
