package cli

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// requestOf is the request of a command line of run.
func requestOf(t *testing.T, args ...string) (q run.Request, err error) {
	t.Helper()
	var o runFlags
	cmd := &cobra.Command{Use: "run"}
	defineProgress(cmd.Flags())
	o.define(cmd.Flags())
	if err := cmd.ParseFlags(args); err != nil {
		return q, plainFlagError(err)
	}
	if err := settleFlags(cmd); err != nil {
		return q, err
	}
	return o.build(cmd.Flags())
}

func TestSettingsOfRequest(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, optionFile, "min-duration: 3s\nttft: 500ms\ntarget-qps: 7\nset: [qsl_rng_seed=5, min_duration=3s]\n")
	t.Setenv("MLPERF_TARGET_QPS", "8")
	t.Setenv("MLPERF_MIN_QUERY_COUNT", "64")
	t.Setenv("MLPERF_MAX_QUERY_COUNT", "")
	q, err := requestOf(t, "--target-qps", "9", "--tpot", "40ms")
	if err != nil {
		t.Fatal(err)
	}
	want := []config.Override{
		{Key: "target_qps", Value: "9", Origin: "flag --target-qps", Role: limitation.Flag},
		{Key: "min_duration", Value: "3s", Origin: "mlperf.yaml: min-duration", Role: limitation.OptionFile},
		{Key: "min_query_count", Value: "64", Origin: "environment MLPERF_MIN_QUERY_COUNT", Role: limitation.Environment},
		{Key: "ttft_latency", Value: "500ms", Origin: "mlperf.yaml: ttft", Role: limitation.OptionFile},
		{Key: "tpot_latency", Value: "40ms", Origin: "flag --tpot", Role: limitation.Flag},
		{Key: "qsl_rng_seed", Value: "5", Origin: "mlperf.yaml: set", Role: limitation.OptionFile},
	}
	if diff := cmp.Diff(want, q.Settings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if q.Given["target_qps"] != "flag --target-qps" || q.Given["model"] != "" {
		t.Errorf("given %v", q.Given)
	}
	if q, err = requestOf(t, "--target-latency", "auto"); err != nil || !q.AutoLatency {
		t.Errorf("--target-latency auto: %v, %v", q.AutoLatency, err)
	}
}

func TestSettingFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	got := map[string]string{}
	for _, flag := range strings.Fields("--target-qps=5 --min-duration=6s --max-duration=70s --min-query-count=8 --max-query-count=9 --samples-per-query=10 " +
		"--performance-sample-count=11 --ttft=12ms --tpot=13ms --target-latency=14ms") {
		q, err := requestOf(t, flag)
		if err != nil || len(q.Settings) != 1 {
			t.Fatalf("%s: %v, %v, want one setting", flag, q.Settings, err)
		}
		got[q.Settings[0].Key] = q.Settings[0].Value
	}
	want := map[string]string{
		"target_qps": "5", "min_duration": "6s", "max_duration": "70s", "min_query_count": "8", "max_query_count": "9", "samples_per_query": "10",
		"performance_sample_count_override": "11", "ttft_latency": "12ms", "tpot_latency": "13ms", "target_latency": "14ms",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The command line goes before the environment, and that before the file, also where one has a flag and the other --set.
func TestSettingGivenTwice(t *testing.T) {
	for _, c := range []struct{ name, file, variable, args, want string }{
		{"a flag, and the file", "set: [target_qps=5]", "", "--target-qps 7", "7 by flag --target-qps"},
		{"a flag, and the environment", "", "target_qps=6", "--target-qps 7", "7 by flag --target-qps"},
		{"--set, and the file", "target-qps: 5", "", "--set target_qps=7", "7 by flag --set"},
		{"the environment, and the file", "target-qps: 5", "target_qps=6", "", "6 by environment MLPERF_SET"},
		{"the file", "set: target_qps=5", "", "", "5 by mlperf.yaml: set"},
		{"the same value", "", "", "--target-qps 7 --set target_qps=7", "7 by flag --target-qps"},
		{"two values", "", "", "--target-qps 7 --set target_qps=8", "target_qps … 7 by flag --target-qps … 8 by flag --set"},
		{"two values of --set", "", "", "--set target_qps=7 --set target_qps=8", "target_qps … 7 by flag --set … 8 by flag --set"},
		{"two values of the file", "set: [target_qps=5]\ntarget-qps: 6", "", "", "target_qps … 6 by mlperf.yaml: target-qps … 5 by mlperf.yaml: set"},
		{"a key without a value", "", "", "--set target_qps", "--set target_qps … key=value"},
		{"an empty value", "", "", "--target-qps=", `target_qps … ""`},
		{"conf files have milliseconds", "", "", "--set min_duration=10", "10 by flag --set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, optionFile, c.file)
			t.Setenv("MLPERF_SET", c.variable)
			q, err := requestOf(t, strings.Fields(c.args)...)
			got := ""
			for _, s := range q.Settings {
				got += s.Value + " by " + s.Origin
			}
			if err == nil && got != c.want || err != nil && (got != "" || statusOf(err) != ExitUsage || !testenv.Names(err, c.want)) {
				t.Errorf("%s, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestBackendOfRequest(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("MLPERF_CONFIG", "named.yaml") // which may say more than one that is found
	write(t, "named.yaml", "provider-option: [c=1, 'd=2,3']\ncustom-ops:\n  - x.so\n  - y.so\n")
	for flag, value := range map[string]func(b backend.Options) bool{
		"--execution=parallel":   func(b backend.Options) bool { return b.Parallel },
		"--spinning=false":       func(b backend.Options) bool { return b.NoSpinning },
		"--arena=false":          func(b backend.Options) bool { return b.NoArena },
		"--memory-pattern=false": func(b backend.Options) bool { return b.NoMemoryPattern },
	} {
		with, err := requestOf(t, flag)
		without, err2 := requestOf(t)
		if err != nil || err2 != nil || !value(with.Backend) || value(without.Backend) {
			t.Errorf("%s: %v, %v: %+v, without it %+v", flag, err, err2, with.Backend, without.Backend)
		}
	}
	q, err := requestOf(t, "--device", "cuda,cpu", "--ort-config", "k=", "--free-dimension", "height=224", "--layout", "nhwc", "--label-offset", "-1")
	if err != nil {
		t.Fatal(err)
	}
	b := q.Backend
	for _, c := range []struct{ got, want any }{
		{b.Device, "cuda,cpu"},
		{b.DeviceOptions, map[string]string{"c": "1", "d": "2,3"}}, {b.Config, map[string]string{"k": ""}}, {b.CustomOps, []string{"x.so", "y.so"}},
		{b.FreeDimensions, map[string]int64{"height": 224}}, {q.Options, map[string]string{"layout": "nhwc", "label-offset": "-1"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for args, want := range map[string]string{
		"--execution sideways":                        `execution is "sideways": must be sequential or parallel`,
		"--free-dimension height=0":                   `free_dimension is "height=0": must be an extent from 1 after the name of an axis`,
		"--free-dimension height=9223372036854775808": `free_dimension is "height=9223372036854775808": must be an extent`,
		"--provider-option a=1 --provider-option a=1": "a was given before",
	} {
		if _, err := requestOf(t, strings.Fields(args)...); statusOf(err) != ExitUsage && !strings.Contains(args, "provider") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

func TestServersOfRequest(t *testing.T) {
	t.Chdir(t.TempDir())
	q, err := requestOf(t, strings.Fields("--backend oip --endpoint http://a:1 --endpoint grpc://b:2,c --remote-model m --concurrency 5 --request-timeout 1500ms --retry 2 "+
		"--synthetic-prompts 9 --answer-tokens 3 --stream off --route chat")...)
	if err != nil {
		t.Fatal(err)
	}
	remote := engine.Remote{Endpoints: []string{"http://a:1", "grpc://b:2,c"}, Model: "m", Concurrency: 5, Timeout: 1500 * time.Millisecond, Retry: 2}
	if diff := cmp.Diff(remote, q.Engine.Remote); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(run.Prompts{Synthetic: 9, Answer: "3", Stream: "off", Route: "chat"}, q.Prompts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each flag changes the request, and in another way than every other flag does.
func TestFlagsReachRequest(t *testing.T) {
	pointers := regexp.MustCompile("0x[0-9a-f]{6,}")
	values := map[string]string{"bool": "true", "int": "7", "int64": "7", "float64": "7", "float64Slice": "7", "intSlice": "7", "duration": "7s", "key=value": "a=7", "string": "seven", "stringArray": "a=7"}
	var o runFlags
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.define(f)
	flagOf := map[string]string{pointers.ReplaceAllString(fmt.Sprintf("%+v", o), "&"): "no flag"}
	f.VisitAll(func(flag *pflag.Flag) {
		if _, setting := flag.Value.(*settingFlag); setting || o.options.has(flag) { // which the request reads when it is built
			return
		}
		value := values[flag.Value.Type()]
		if flag.DefValue == "true" {
			value = "false"
		}
		var again runFlags
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		again.define(f)
		if err := f.Set(flag.Name, value); err != nil {
			t.Fatalf("--%s=%s: %v", flag.Name, value, err)
		}
		state := pointers.ReplaceAllString(fmt.Sprintf("%+v", again), "&")
		// The name of the model at servers has two flags.
		if other, same := flagOf[state]; same && flag.Name != "remote-model" {
			t.Errorf("--%s changes the same as %s", flag.Name, other)
		}
		flagOf[state] = flag.Name
	})
}

func (o optionFlags) has(flag *pflag.Flag) bool {
	for _, f := range o {
		if f.Name == flag.Name {
			return true
		}
	}
	return false
}
