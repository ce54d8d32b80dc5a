package measure

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

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/compliance"
	"github.com/mlperf-go/mlperf/internal/report"
)

// The flags of run that scripts may rely on, with a value that is not the default.
const runContract = `
--model=resnet50 --scenario=offline --mode=accuracy --rules=v5.1 --division=open --quick --anyway --force --trace --json --output=DIR
--backend=oip --sim-latency=7ms --sim-jitter=1ms --device=cuda --model-path=m.onnx --dataset-path=imagenet --full-size --rows=5
--mlperf-conf=a.conf --user-conf=b.conf --audit-conf=c.config --allow-unknown-keys --set=qsl_rng_seed=3
--count=5 --max-batchsize=4 --max-batch-delay=2ms --instances=3 --intra-threads=2 --inter-threads=6 --precision=int8 --profile=auto
--endpoint=http://h:1 --remote-model=r --model-name=n --remote-version=2 --concurrency=9 --request-timeout=90s --retry=1
--token-file=t --tls-ca=ca.pem --tls-cert=cert.pem --tls-key=key.pem
--synthetic-prompts=8 --prompt-words=12 --answer-tokens=13 --power=rapl --power-ranging --no-report --reserve-core --pin
--optimized-model=o.onnx --thread-affinity=1;2 --custom-ops=x.so --ort-config=a=b --provider-option=c=d --free-dimension=n=4
--engine-cache=e --ort-lib=l.so --ort-log=2 --graph-optimization=basic --execution=parallel --shared-threads=11
--spinning=false --arena=false --memory-pattern=false --allow-fallback --device-memory --spin=1ms --issue-priority=false
--sweep-qps=1,2 --sweep-concurrency=3,4 --target-latency=auto`

// The flags that set a key of conf files are read when the request is built, and no sooner.
const runSettings = `--target-qps=5 --min-duration=6s --max-duration=70s --min-query-count=8 --max-query-count=9 --samples-per-query=10
--performance-sample-count=11 --ttft=12ms --tpot=13ms --target-latency=14ms`

const auditContract = `--performance-logs=p --accuracy-logs=a --custom-data=d --response-dtype=int64 --eos=3 --accuracy-script=s --score-pattern=x
--accuracy-threshold=4 --tolerance=0.5 --min-tokens=6 --max-tokens=7`

const verifyContract = `--accuracy-logs=a --rules=v5.1 --response-dtype=int64 --eos=3 --accuracy-script=s --score-pattern=x --accuracy-threshold=4
--tolerance=0.5 --min-tokens=6 --max-tokens=7 --model=resnet50 --dataset-path=d --output=o --force --json`

const tuneContract = `--model=resnet50 --scenario=server --budget=7m --model-path=a=m.onnx --precision=int8 --instances=2,3 --intra-threads=4
--max-batchsize=5,6 --max-batch-delay=7ms --output=p.json --json --target-latency=auto --dataset-path=d --count=8 --rules=v5.1`

const suiteContract = `--quick --only=resnet50 --no-accuracy --cooldown=5s --rules=v5.1 --division=open --user-conf=u --set=a=b --precision=fp16
--model-path=m --dataset-path=d --count=5 --full-size --instances=2 --profile=auto --power=rapl --json --backend=oip --endpoint=http://h:1
--device=cuda --sim-latency=6ms --spinning=false`

// TestEachFlagSaysSomethingOfItsOwn: it changes what is asked for, and in another way than every other flag does.
func TestEachFlagSaysSomethingOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		verb, flags string
		make        func() (f *pflag.FlagSet, state func() string)
	}{
		{"run", runContract, ofRun},
		{"audit", auditContract, func() (*pflag.FlagSet, func() string) {
			o, f := &auditFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
			o.defineAll(f)
			return f, func() string { return fmt.Sprintf("%+v", o.audit) }
		}},
		{"audit verify", verifyContract, func() (*pflag.FlagSet, func() string) {
			o, f := &verifyFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
			o.define(f)
			return f, func() string { return fmt.Sprintf("%+v", *o) }
		}},
		{"tune", tuneContract, func() (*pflag.FlagSet, func() string) {
			o, f := &tuneFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
			o.define(f)
			return f, func() string { return fmt.Sprintf("%+v", *o) }
		}},
		{"suite run", suiteContract, func() (*pflag.FlagSet, func() string) {
			o, f := &suiteFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
			o.define(f)
			return f, func() string { return fmt.Sprintf("%+v", *o) }
		}},
	} {
		t.Run(c.verb, func(t *testing.T) { checkFlags(t, strings.Fields(c.flags), c.make) })
	}
}

// ofRun are the flags of run, and what they amount to.
func ofRun() (*pflag.FlagSet, func() string) {
	o, f := &runFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	o.define(f)
	return f, func() string { return fmt.Sprintf("%+v", *o) }
}

func checkFlags(t *testing.T, flags []string, newFlags func() (*pflag.FlagSet, func() string)) {
	_, state := newFlags()
	by := map[string]string{addresses.ReplaceAllString(state(), "&"): "no flag"}
	for _, flag := range flags {
		f, state := newFlags()
		if err := f.Parse([]string{flag}); err != nil {
			t.Errorf("%s: %v", flag, err)
			continue
		}
		now := addresses.ReplaceAllString(state(), "&")
		if other, same := by[now]; same {
			t.Errorf("%s asks for the same as %s", flag, other)
		}
		by[now] = flag
	}
}

// addresses are of what is elsewhere, in another place each time.
var addresses = regexp.MustCompile("0x[0-9a-f]{6,}")

// TestFlagsOfSettingsBecomeOverrides with their keys in conf files, values as they were written, and where they come from.
func TestFlagsOfSettingsBecomeOverrides(t *testing.T) {
	keys := map[string]string{
		"target-qps": "target_qps", "min-duration": "min_duration", "max-duration": "max_duration", "min-query-count": "min_query_count", "max-query-count": "max_query_count",
		"samples-per-query": "samples_per_query", "performance-sample-count": "performance_sample_count_override", "ttft": "ttft_latency", "tpot": "tpot_latency", "target-latency": "target_latency",
	}
	got := map[string]string{}
	for _, flag := range strings.Fields(runSettings) {
		o := &runFlags{}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.define(f)
		if err := f.Parse([]string{flag}); err != nil {
			t.Fatal(err)
		}
		q, err := o.Build(f)
		if err != nil || len(q.Settings) != 1 {
			t.Fatalf("%s: %v, %v, want one setting", flag, q.Settings, err)
		}
		name, value, _ := strings.Cut(flag[2:], "=")
		got[name] = q.Settings[0].Key
		if q.Settings[0].Value != value {
			t.Errorf("%s sets %s to %q", flag, q.Settings[0].Key, q.Settings[0].Value)
		}
	}
	if !maps.Equal(got, keys) {
		t.Errorf("the flags set %v, want %v", got, keys)
	}
}

// TestWithoutFlagsATestIsJudgedByWhatItChooses: all bounds are left to it but the tolerance of the rules.
func TestWithoutFlagsATestIsJudgedByWhatItChooses(t *testing.T) {
	o, f := &auditFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	o.defineAll(f)
	if diff := cmp.Diff(compliance.Options{Tolerance: 0.001}, o.audit.Options); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	tuned, f := &tuneFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	tuned.define(f)
	if tuned.Budget != 5*time.Minute || tuned.Scenario != "offline" || len(tuned.Axes.Instances)+len(tuned.Axes.Threads)+len(tuned.Axes.Batches) > 0 {
		t.Errorf("a search of %v in %s over %+v", tuned.Budget, tuned.Scenario, tuned.Axes)
	}
}

// TestVerbsHaveTheirExamplesAndLimits: how many arguments, and that the text for people names the statuses that there are.
func TestVerbsHaveTheirExamplesAndLimits(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Example == "" || cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s has the example %q and the title %q", cmd.CommandPath(), cmd.Example, cmd.Short)
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	for _, cmd := range Commands() {
		visit(cmd)
		if cmd.Name() == "suite" {
			continue
		}
		long := strings.ToLower(cmd.Long)
		if !strings.Contains(long, "exit status") {
			t.Errorf("%s does not say how it ends", cmd.Name())
		}
	}
	run := newRun().Long
	for status, what := range map[int]string{cli.ExitDone: "0 done and VALID", cli.ExitError: "1 error", cli.ExitUsage: "2 usage", cli.ExitInvalid: "3 INVALID", cli.ExitInaccurate: "4 accuracy below target", cli.ExitInterrupted: "130 interrupted"} {
		if !strings.Contains(strings.ReplaceAll(run, "\n", " "), what) || !strings.HasPrefix(what, fmt.Sprint(status)) {
			t.Errorf("run does not say %q of status %d", what, status)
		}
	}
	if hidden := newAudit().Flags().Lookup("mode"); hidden == nil || !hidden.Hidden {
		t.Error("audit offers --mode, which is the test's own")
	}
	if hidden := newAudit().Flags().Lookup("audit-conf"); hidden == nil || !hidden.Hidden {
		t.Error("audit offers --audit-conf, which is the test's own")
	}
}

// TestArgumentsAreChangedAndNothingElse: a plain second way to do what withFlag does, over words in every order.
func TestArgumentsAreChangedAndNothingElse(t *testing.T) {
	words := []string{"run", "--model", "a b", "--target-qps=5", "--output", "x", "--target_qps", "7", "--quick", "--json=true"}
	for from := range words {
		args := append(append([]string{}, words[from:]...), words[:from]...)
		if last := args[len(args)-1]; last == "--model" || last == "--output" || last == "--target_qps" {
			continue // a flag without its value is no command line
		}
		line := " " + strings.Join(args, "\x00") + "\x00"
		for _, flag := range []string{"--target-qps=5\x00", "--target_qps\x007\x00"} {
			line = strings.Replace(line, flag, "", 1)
		}
		want := strings.Split(strings.TrimSuffix(line[1:], "\x00"), "\x00")
		want = append(want, "--target-qps", "9")
		if got := withFlag(args, "target-qps", "9"); report.CommandLine(got) != report.CommandLine(want) {
			t.Errorf("of %q: %q, want %q", args, got, want)
		}
	}
}
