package request

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
)

// built is what a command line asks for, read as the verbs do.
func built(t *testing.T, args ...string) (r run.Request, o clitest.Outcome) {
	t.Helper()
	verb := func() []*cobra.Command {
		var q Flags
		cmd := &cobra.Command{Use: "run", RunE: func(cmd *cobra.Command, _ []string) (err error) {
			r, err = q.Build(cmd.Flags())
			return err
		}}
		q.Define(cmd.Flags())
		DefineSettings(cmd.Flags())
		return []*cobra.Command{cmd}
	}
	o = clitest.Run(t, verb(), append([]string{"run"}, args...)...)
	return r, o
}

func TestWithoutFlagsARequestHasTheDefaults(t *testing.T) {
	t.Chdir(t.TempDir())
	r, o := built(t)
	if o.Status != cli.ExitDone {
		t.Fatal(o.Err)
	}
	if r.Rules != config.Newest || r.Division != "closed" || r.Engine.Name != run.ONNXRuntime || r.Engine.Latency != 5*time.Millisecond || r.Backend.Device != "cpu" {
		t.Errorf("%+v", r)
	}
	b := r.Backend
	if b.Parallel || b.NoSpinning || b.NoArena || b.NoMemoryPattern || b.FreeDimensions != nil || r.AutoLatency || len(r.Settings)+len(r.Options)+len(r.Given) > 0 {
		t.Errorf("something was asked for that nobody gave: %+v", r)
	}
	if r.Program != cli.Program() || r.NewPacer == nil {
		t.Errorf("program %q", r.Program)
	}
}

func TestSettingsComeFromFlagsTheEnvironmentAndTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mlperf.yaml", []byte("min-duration: 3s\nttft: 500ms\ntarget-qps: 7\nset: [qsl_rng_seed=5]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MLPERF_TARGET_QPS", "8")
	t.Setenv("MLPERF_MIN_QUERY_COUNT", "64")
	r, o := built(t, "--target-qps", "9", "--max-duration=", "--tpot", "40ms")
	if o.Status != cli.ExitUsage || o.Err != `--max-duration is "", want a value` {
		t.Errorf("an empty value: status %d: %s", o.Status, o.Err)
	}
	r, o = built(t, "--target-qps", "9", "--tpot", "40ms")
	if o.Status != cli.ExitDone {
		t.Fatal(o.Err)
	}
	want := []config.Override{
		{Key: "target_qps", Value: "9", Origin: "flag --target-qps"},
		{Key: "min_duration", Value: "3s", Origin: "mlperf.yaml: min-duration"},
		{Key: "min_query_count", Value: "64", Origin: "environment MLPERF_MIN_QUERY_COUNT"},
		{Key: "ttft_latency", Value: "500ms", Origin: "mlperf.yaml: ttft"},
		{Key: "tpot_latency", Value: "40ms", Origin: "flag --tpot"},
		{Key: "qsl_rng_seed", Value: "5", Origin: "mlperf.yaml: set"},
	}
	if diff := cmp.Diff(want, r.Settings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Given["target_qps"] != "flag --target-qps" || r.Given["model"] != "" {
		t.Errorf("given %v", r.Given)
	}
}

func TestASettingOfTheEnvironmentSaysSo(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("MLPERF_SET", "min_duration=10")
	r, o := built(t)
	want := []config.Override{{Key: "min_duration", Value: "10", Origin: "environment MLPERF_SET"}}
	if diff := cmp.Diff(want, r.Settings); diff != "" {
		t.Errorf("%s (-want +got):\n%s", o.Err, diff)
	}
}

func TestAnEmptyVariableOfTheEnvironmentIsNone(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("MLPERF_TARGET_QPS", "")
	if r, o := built(t); o.Status != cli.ExitDone || len(r.Settings) > 0 {
		t.Errorf("status %d: %s; %v", o.Status, o.Err, r.Settings)
	}
}

func TestABoundThatIsToBeMeasuredIsNoSetting(t *testing.T) {
	t.Chdir(t.TempDir())
	if r, o := built(t, "--target-latency", AutoLatency); !r.AutoLatency || len(r.Settings) > 0 {
		t.Errorf("%v, %v: %s", r.AutoLatency, r.Settings, o.Err)
	}
	want := []config.Override{{Key: "target_latency", Value: "20ms", Origin: "flag --target-latency"}}
	if r, _ := built(t, "--target-latency", "20ms"); r.AutoLatency || !cmp.Equal(r.Settings, want) {
		t.Errorf("%v, %v", r.AutoLatency, r.Settings)
	}
}

func TestFlagsOfTheBackendAreReadAsTheyAreMeant(t *testing.T) {
	t.Chdir(t.TempDir())
	r, o := built(t, "--execution", "parallel", "--spinning=false", "--arena=false", "--memory-pattern=false", "--device", "cuda,cpu", "--inter-threads", "3", "--ort-log", "-1",
		"--provider-option", "b=2", "--provider-option", "a=x=y", "--ort-config", "k=", "--free-dimension", "height=224", "--free-dimension", "width=9223372036854775807", "--custom-ops", "one.so", "--custom-ops", "two.so")
	if o.Status != cli.ExitDone {
		t.Fatal(o.Err)
	}
	b := r.Backend
	if !b.Parallel || !b.NoSpinning || !b.NoArena || !b.NoMemoryPattern || b.Device != "cuda,cpu" || b.InterThreads != 3 || b.LogSeverity != -1 {
		t.Errorf("%+v", b)
	}
	for _, c := range []struct{ got, want any }{
		{b.DeviceOptions, map[string]string{"b": "2", "a": "x=y"}}, {b.Config, map[string]string{"k": ""}},
		{b.FreeDimensions, map[string]int64{"height": 224, "width": 1<<63 - 1}}, {b.CustomOps, []string{"one.so", "two.so"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestFlagsOfServersAreReadAsTheyAreMeant(t *testing.T) {
	t.Chdir(t.TempDir())
	r, o := built(t, "--backend", "oip", "--endpoint", "http://a:1", "--endpoint", "grpc://b:2,c", "--remote-model", "m", "--concurrency", "5", "--request-timeout", "1500", "--retry", "2",
		"--synthetic-prompts", "9", "--answer-tokens", "3", "--stream", "off", "--route", "chat")
	if o.Status != cli.ExitDone {
		t.Fatal(o.Err)
	}
	want := run.Remote{Endpoints: []string{"http://a:1", "grpc://b:2,c"}, Model: "m", Concurrency: 5, Timeout: 1500 * time.Millisecond, Retry: 2}
	if diff := cmp.Diff(want, r.Engine.Remote); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(run.Prompts{Synthetic: 9, Answer: 3, Stream: "off", Route: "chat"}, r.Prompts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r, _ = built(t, "--model-name", "other"); r.Engine.Remote.Model != "other" {
		t.Errorf("--model-name: %q", r.Engine.Remote.Model)
	}
}

func TestOptionsThatModelsDeclareAreFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	r, o := built(t, "--layout", "nhwc", "--label-offset", "-1")
	if o.Status != cli.ExitDone {
		t.Fatal(o.Err)
	}
	if diff := cmp.Diff(map[string]string{"layout": "nhwc", "label-offset": "-1"}, r.Options); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var options OptionFlags
	f := pflag.NewFlagSet("accuracy", pflag.ContinueOnError)
	options.Define(f, []run.Option{{Name: "one", Help: "h"}, {Name: "two", Switch: true}})
	if err := f.Parse([]string{"--one", "", "--two=false"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"one": "", "two": "false"}, options.Values()); diff != "" {
		t.Errorf("what is given counts, also if it is empty or off (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeRightIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ name, args, want string }{
		{"an order that is none", "--execution sideways", `execution is "sideways", want sequential or parallel`},
		{"an extent of nothing", "--free-dimension height=0", `--free-dimension is "height=0", want an extent from 1 after the name of an axis`},
		{"an extent below nothing", "--free-dimension height=-5", `--free-dimension is "height=-5", want an extent`},
		{"an extent that is too large", "--free-dimension height=9223372036854775808", `--free-dimension is "height=9223372036854775808", want an extent`},
		{"an extent in words", "--free-dimension height=tall", `--free-dimension is "height=tall", want an extent`},
		{"a setting without a value", "--set min_duration", "--set min_duration: want key=value"},
		{"an option without a value", "--provider-option a", "want key=value"},
		{"an option without a name", "--ort-config =1", "want key=value"},
		{"an option that was given before", "--provider-option a=1 --provider-option a=1", "a was given before"},
		{"a time in words", "--sim-latency soon", "--sim-latency"},
		{"a time below nothing", "--sim-jitter -1ms", "--sim-jitter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, o := built(t, strings.Fields(c.args)...); o.Status != cli.ExitUsage || !strings.Contains(o.Err, c.want) {
				t.Errorf("status %d: %s, want %s", o.Status, o.Err, c.want)
			}
		})
	}
}

func TestAMapFlagTakesEachKeyOnce(t *testing.T) {
	var m MapFlag
	for _, text := range []string{"a=1", "b=", "c=x=y"} {
		if err := m.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if diff := cmp.Diff(MapFlag{"a": "1", "b": "", "c": "x=y"}, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := m.Set("a=2"); err == nil || err.Error() != "a was given before" || m["a"] != "1" {
		t.Errorf("a second time: %v, %v", err, m)
	}
	if m.Type() != "key=value" || m.String() != "" {
		t.Errorf("%q %q", m.Type(), m.String())
	}
}

func TestAFlagThatIsThereIsNotDefinedTwice(t *testing.T) {
	f := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.String("ttft", "mine", "")
	DefineSettings(f)
	DefineSettings(f)
	for _, s := range settingFlags {
		if f.Lookup(s.flag) == nil {
			t.Errorf("there is no --%s", s.flag)
		}
	}
	if got := f.Lookup("ttft").DefValue; got != "mine" {
		t.Errorf("--ttft is %q", got)
	}
}

func TestListsOfTheFileGiveFlagsThatRepeatEachOfTheirValues(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "set: [qsl_rng_seed=5, sample_index_rng_seed=6]\nprovider-option: [a=1, 'b=2,3']\nendpoint: [http://a:1, http://b:2]\ncustom-ops:\n  - x.so\n  - y.so\n"
	if err := os.WriteFile("mlperf.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, o := built(t)
	if o.Status != cli.ExitDone {
		t.Fatal(o.Err)
	}
	want := []config.Override{{Key: "qsl_rng_seed", Value: "5", Origin: "mlperf.yaml: set"}, {Key: "sample_index_rng_seed", Value: "6", Origin: "mlperf.yaml: set"}}
	if diff := cmp.Diff(want, r.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "2,3"}, r.Backend.DeviceOptions); diff != "" {
		t.Errorf("options of the device (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"http://a:1", "http://b:2"}, {"x.so", "y.so"}}, [][]string{r.Engine.Remote.Endpoints, r.Backend.CustomOps}); diff != "" {
		t.Errorf("servers and libraries (-want +got):\n%s", diff)
	}
}

// TestAKeyThatIsGivenInTwoWaysHasTheValueThatGoesBefore: the command line before the environment before the file, also
// where one of them has a flag of its own and the other --set.
func TestAKeyThatIsGivenInTwoWaysHasTheValueThatGoesBefore(t *testing.T) {
	for _, c := range []struct {
		name, file, variable string
		args                 []string
		want                 string // value and origin, or the error
	}{
		{"a flag before --set of the file", "set: [target_qps=5]", "", []string{"--target-qps", "7"}, "7 by flag --target-qps"},
		{"a flag before --set of the environment", "", "target_qps=6", []string{"--target-qps", "7"}, "7 by flag --target-qps"},
		{"--set before the file", "target-qps: 5", "", []string{"--set", "target_qps=7"}, "7 by flag --set"},
		{"the environment before the file", "target-qps: 5", "target_qps=6", nil, "6 by environment MLPERF_SET"},
		{"the file alone", "set: target_qps=5", "", nil, "5 by mlperf.yaml: set"},
		{"the same value twice", "", "", []string{"--target-qps", "7", "--set", "target_qps=7"}, "7 by flag --target-qps"},
		{"two values", "", "", []string{"--target-qps", "7", "--set", "target_qps=8"}, "target_qps is given twice: 7 by flag --target-qps, and 8 by flag --set"},
		{"two values of --set", "", "", []string{"--set", "target_qps=7", "--set", "target_qps=8"}, "target_qps is given twice: 7 by flag --set, and 8 by flag --set"},
		{"two values of the file", "set: [target_qps=5]\ntarget-qps: 6", "", nil, "target_qps is given twice: 6 by mlperf.yaml: target-qps, and 5 by mlperf.yaml: set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("mlperf.yaml", []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("MLPERF_SET", c.variable)
			r, o := built(t, c.args...)
			got := o.Err
			for _, s := range r.Settings {
				got += s.Value + " by " + s.Origin
			}
			if got != c.want || (o.Status == cli.ExitUsage) != strings.Contains(c.want, "twice") {
				t.Errorf("status %d: %s, want %s", o.Status, got, c.want)
			}
		})
	}
}
