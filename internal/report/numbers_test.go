package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func TestNumbersHaveFiveDigitsOrAllBeforeThePoint(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 1.5: "1.5", 123.456: "123.46", 1234.56: "1234.6", 12345.6: "12346", 99999.4: "99999", 99999.5: "100000", 99999.96: "100000",
		123456.7: "123457", 1e6: "1000000", -99999.9: "-100000", 0.000123456: "0.00012346", 1e-7: "1e-07",
	} {
		if got := digits(v); got != want {
			t.Errorf("digits(%v) = %s, want %s", v, got, want)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 4))
	for range 2000 {
		v := math.Pow(10, rnd.Float64()*20-6) * (1 + rnd.Float64())
		got, err := strconv.ParseFloat(digits(v), 64)
		if err != nil || math.Abs(got-v) > max(0.5, 5e-5*v) || v > 1e-4 && strings.Contains(digits(v), "e") {
			t.Errorf("digits(%v) = %s", v, digits(v))
		}
	}
}

// Three digits are those that a person would keep: no exponent, and within half of the last.
func TestThreeDigitsOfAnyNumber(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 4))
	for range 2000 {
		v := math.Pow(10, rnd.Float64()*24-12) * (1 + rnd.Float64()*8.99)
		text := threeDigits(v)
		got, err := strconv.ParseFloat(text, 64)
		significant := strings.TrimLeft(strings.ReplaceAll(text, ".", ""), "0")
		if err != nil || math.Abs(got-v) > 0.005*v*(1+1e-9) || strings.ContainsAny(text, "eE") || len(significant) < 3 {
			t.Errorf("threeDigits(%v) = %s", v, text)
		}
		if len(significant) > 3 && strings.Trim(significant[3:], "0") != "" {
			t.Errorf("threeDigits(%v) = %s, with more than three digits", v, text)
		}
		if threeDigits(got) != text {
			t.Errorf("threeDigits(%v) = %s, and of that %s", v, text, threeDigits(got))
		}
	}
}

// The oracle is the shell itself.
func TestAShellReadsTheArgumentsOfACommandLine(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	const letters = "abc=-_/.,:@%^+~#!$`'\"\\;&|<>()*?[]{} \t\n\r\vé€"
	runes := []rune(letters)
	var args []string
	for range 300 {
		var b strings.Builder
		for range rnd.IntN(8) {
			b.WriteRune(runes[rnd.IntN(len(runes))])
		}
		args = append(args, b.String())
	}
	args = append(args, "", "--flag=a b", "-", "--", "~", "a=b", "*")
	out, err := exec.Command(shell, "-c", "printf '%s\\0' "+CommandLine(args)).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if !slices.Equal(got, args) {
		for i := range args {
			if i >= len(got) || got[i] != args[i] {
				t.Fatalf("argument %d is read as %q, want %q", i, got[min(i, len(got)-1)], args[i])
			}
		}
	}
}

func TestCSVSurvivesARoundTrip(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	lines := []Line{
		{Folder: "a,b", Created: at, Model: "say \"hi\"", Scenario: "Server", Mode: "PerformanceOnly", Result: "VALID", Engine: "two\nlines", Device: "cpu+cuda", Precision: "fp16",
			Batch: 8, Concurrency: 2, SamplesPerSecond: 1234.5678901, LatencyP95MS: 1.0 / 3, Metric: &Metric{"completed samples", 812.25, "samples/s"},
			Accuracy: &LineAccuracy{Metric: "acc", Value: 0, Unit: "%", Met: true, Folder: "c"}, PerDollar: 1e-9, JoulesPerSample: 0.5},
		{Folder: "d", Created: at, Model: "bert", Scenario: "Offline", Result: "INVALID"},
	}
	var b strings.Builder
	if err := CSV(&b, lines); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(records) != 3 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for i, l := range lines {
		got := map[string]string{}
		for column, name := range records[0] {
			got[name] = records[i+1][column]
		}
		want := map[string]string{
			"folder": l.Folder, "created": "2026-11-23T12:00:00Z", "model": l.Model, "engine": l.Engine, "result": l.Result, "batch": strconv.Itoa(l.Batch),
			"samples_per_second": exact(l.SamplesPerSecond), "latency_p95_ms": exact(l.LatencyP95MS), "joules_per_sample": exact(l.JoulesPerSample),
			"samples_per_second_per_dollar": exact(l.PerDollar), "metric": "", "accuracy": "", "accuracy_met": "",
		}
		if l.Metric != nil {
			want["metric"], want["metric_value"], want["metric_unit"] = l.Metric.Name, "812.25", "samples/s"
			want["accuracy"], want["accuracy_met"], want["accuracy_folder"] = "0", "true", "c" // which was measured
		}
		for name, text := range want {
			if got[name] != text {
				t.Errorf("line %d: %s is %q, want %q", i, name, got[name], text)
			}
		}
	}
}

func TestSettingsAreNumbersWhereTheyAreOne(t *testing.T) {
	for value, want := range map[string]*loadgen.Quantity{
		"600000 ms": {Value: 600000, Unit: "ms"}, "50 /s": {Value: 50, Unit: "/s"}, "0.99": {Value: 0.99}, "-1": {Value: -1}, "1e3 ns": {Value: 1000, Unit: "ns"}, "0": {},
		"true": nil, "": nil, "Server": nil, "NaN": nil, "inf ms": nil, "-Inf": nil, "5 of 7": nil, "10 ms or more": nil, "ms 5": nil, " 5": nil, "1e999": nil,
	} {
		got := Setting{Value: value}.Quantity()
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q is %+v, want %+v", value, got, want)
		}
		text, err := json.Marshal(Setting{Key: "k", Value: value, Origin: "o"})
		if err != nil || strings.Contains(string(text), `"quantity"`) != (want != nil) || !strings.HasPrefix(string(text), fmt.Sprintf(`{"key":"k","value":%q,"origin":"o"`, value)) {
			t.Errorf("%q is written as %s, %v", value, text, err)
		}
	}
}

func TestATestsSettingsKeepTheirSeeds(t *testing.T) {
	e := passed(loadgen.Server).Effective
	e.QSLRNGSeed, e.SampleIndexRNGSeed, e.ScheduleRNGSeed = math.MaxUint64, 1<<53+1, 0
	e.TargetQPS, e.TargetLatencyPercentile = math.Inf(1), math.NaN()
	data, err := json.Marshal(newTest(e))
	if err != nil {
		t.Fatal(err)
	}
	var back Test
	if err := json.Unmarshal(data, &back); err != nil || back.QSLSeed != math.MaxUint64 || back.SampleSeed != 1<<53+1 || back.ScheduleSeed != 0 {
		t.Errorf("%+v, %v, want the seeds as they were", back, err)
	}
	if !strings.Contains(string(data), `"qsl_rng_seed":"18446744073709551615"`) || back.TargetQPS != 0 || back.TargetLatencyPercentile != 0 {
		t.Errorf("%s, want seeds as texts and nothing that JSON has not", data)
	}
	if back.FirstTokenLatencyNS != 0 {
		t.Error("a model without tokens has bounds of them")
	}
	tokened := newTest(tokens(passed(loadgen.Server)).Effective)
	if tokened.FirstTokenLatencyNS != 2e9 || tokened.PerTokenLatencyNS != 2e8 {
		t.Errorf("bounds of tokens are %d and %d ns", tokened.FirstTokenLatencyNS, tokened.PerTokenLatencyNS)
	}
	if offline := newTest(tokens(passed(loadgen.Offline)).Effective); offline.FirstTokenLatencyNS != 0 {
		t.Error("Offline has a bound of the first token")
	}
}

func TestConstraintsOfBothFormsAreRead(t *testing.T) {
	var c Constraint
	if err := json.Unmarshal([]byte(`{"name": "min duration", "required": "≥ 10 min", "observed": "5 min", "met": false, "origin": "rules", "advice": "run longer"}`), &c); err != nil {
		t.Fatal(err)
	}
	name, required, observed, met := c.row()
	if c.ID != "min_duration" || required != "≥ 10 min" || observed != "5 min" || met != "NO" || name == "" || c.Origin != "rules" {
		t.Errorf("%+v as %s, %s, %s, %s", c, name, required, observed, met)
	}
	if got, want := c.Sentence(), c.ID.String()+": 5 min, want ≥ 10 min; run longer"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatIsNoConstraintIsRefused(t *testing.T) {
	var c Constraint
	for _, text := range []string{`{"name": 5}`, `[]`, `{"name": "x", "met": "yes"}`, `{"id": 5}`} {
		if err := json.Unmarshal([]byte(text), &c); err == nil {
			t.Errorf("%s is read as %+v", text, c)
		}
	}
}

func TestConstraintsSurviveARoundTrip(t *testing.T) {
	for _, p := range []*loadgen.Performance{passed(loadgen.Server), passed(loadgen.SingleStream), tokens(passed(loadgen.Server))} {
		for _, old := range constraints(p, setBy) {
			data, err := json.Marshal(old)
			if err != nil {
				t.Fatal(err)
			}
			var back Constraint
			if err := json.Unmarshal(data, &back); err != nil || back.Sentence() != old.Sentence() || back.ID != old.ID || back.Met != old.Met || back.Origin != old.Origin {
				t.Errorf("%s becomes %+v, %v", data, back, err)
			}
		}
	}
	c := Constraint{}
	c.ReferenceOnly = true
	if _, _, _, met := c.row(); met != "not for the reference" {
		t.Errorf("what only the reference refuses is met: %s", met)
	}
}
