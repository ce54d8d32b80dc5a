package survey

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/suite"
)

// queriesFor is the number of queries that the rules derive (inference_rules.adoc, "Latency-bounded"): the normal approximation
// of a binomial share, of which the error has to stay below the margin.
func queriesFor(percentile, confidence, margin float64) float64 {
	p, z := percentile/100, math.Sqrt2*math.Erfinv(confidence/100)
	return z * z * p * (1 - p) / (margin / 100) / (margin / 100)
}

// TestQueriesAreThoseOfTheNormalDistribution, for shares at random, and rounded up to whole sets of 8192.
func TestQueriesAreThoseOfTheNormalDistribution(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		percentile, confidence := 50+49.9*random.Float64(), 80+19.9*random.Float64()
		margin := 0.01 + random.Float64()
		var b strings.Builder
		if err := planQueries(&b, percentile, confidence, margin, true); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Schema                         string
			Percentile, Confidence, Margin float64
			Queries, Rounded               uint64
		}
		if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
			t.Fatal(err)
		}
		want := queriesFor(percentile, confidence, margin)
		if math.Abs(float64(got.Queries)-want) > 0.5+want*1e-9 { // the table of the rules has the nearest, such as 50425 of 50425.1
			t.Errorf("p%g at %g %% within %g: %d queries, want %g", percentile, confidence, margin, got.Queries, want)
		}
		if got.Rounded%8192 != 0 || got.Rounded < got.Queries || got.Rounded-got.Queries >= 8192 || got.Percentile != percentile || got.Confidence != confidence || got.Margin != margin {
			t.Errorf("%+v", got)
		}
		b.Reset()
		if err := planQueries(&b, percentile, confidence, margin, false); err != nil || !strings.HasPrefix(b.String(), fmt.Sprintf("%d queries, rounded up to a multiple of 8192: %d\n", got.Queries, got.Rounded)) {
			t.Errorf("in words: %s, %v", b.String(), err)
		}
	}
}

// TestThePlanInWordsHasTheNumbersOfTheJSON, of every model of the catalogue under the newest rules.
func TestThePlanInWordsHasTheNumbersOfTheJSON(t *testing.T) {
	alone(t)
	for _, model := range []string{"resnet50", "retinanet", "3d-unet", "llama2-70b", "whisper", "stable-diffusion-xl"} {
		o := clitest.Run(t, Commands(), "plan", "--model", model, "--samples-per-second", "37.5", "--json")
		var p struct {
			Schema string
			run.Plan
		}
		if err := json.Unmarshal([]byte(o.Stdout), &p); err != nil || p.Schema != "mlperf-go/plan/1" || p.Speed != 37.5 || len(p.Scenarios) < 4 {
			t.Fatalf("%s: %+v, %v", model, p, err)
		}
		text := clitest.Run(t, Commands(), "plan", "--model", model, "--samples-per-second", "37.5").Stdout
		for _, s := range p.Scenarios {
			i := strings.Index(text, " "+s.Scenario+" ")
			if i < 0 {
				t.Errorf("%s: the table has no %s", model, s.Scenario)
				continue
			}
			line, _, _ := strings.Cut(text[i:], "\n")
			want := s.Why
			if want == "" {
				want = strconv.FormatUint(uint64(s.Queries), 10)
			}
			if !strings.Contains(line, want) {
				t.Errorf("%s: no %s in %s", model, want, line)
			}
		}
	}
}

// TestListsInWordsAndAsJSONHaveTheSameRows, in the same order.
func TestListsInWordsAndAsJSONHaveTheSameRows(t *testing.T) {
	alone(t)
	names := map[string]func() []string{
		"models":   func() []string { return namesOf(t, run.Models, func(m run.Model) string { return m.Name }) },
		"datasets": func() []string { return namesOf(t, run.Datasets, func(d run.Dataset) string { return d.Name }) },
		"backends": func() []string {
			return namesOf(t, func() ([]run.Backend, error) { return run.Backends(), nil }, func(b run.Backend) string { return b.Name })
		},
		"suites": func() []string { return namesOf(t, suite.List, func(s suite.Listed) string { return s.Name }) },
	}
	if what := slices.Sorted(slices.Values(listable)); len(names) != len(what) {
		t.Errorf("%q can be listed, and %d are tested", what, len(names))
	}
	for what, list := range names {
		o := clitest.Run(t, Commands(), "list", what)
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(o.Stdout), "\n")[2:] {
			got = append(got, strings.Fields(line)[0])
		}
		if want := list(); !slices.Equal(got, want) {
			t.Errorf("the table of %s has %q, want %q", what, got, want)
		}
		var doc struct{ Rows []map[string]any }
		if err := json.Unmarshal([]byte(clitest.Run(t, Commands(), "list", what, "--json").Stdout), &doc); err != nil || len(doc.Rows) != len(got) {
			t.Fatalf("%s: %d rows, %v, want %d", what, len(doc.Rows), err, len(got))
		}
		for i, row := range doc.Rows {
			if row["name"] != got[i] {
				t.Errorf("row %d of %s is %v, want %s", i, what, row["name"], got[i])
			}
		}
	}
}

func namesOf[T any](t *testing.T, list func() ([]T, error), name func(T) string) (names []string) {
	t.Helper()
	rows, err := list()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		names = append(names, name(r))
	}
	return names
}

// TestACardHasTheSettingsOfEveryRound: every model under every rule set, with each scenario once and its target in numbers.
func TestACardHasTheSettingsOfEveryRound(t *testing.T) {
	alone(t)
	for _, rules := range []string{config.Versions()[0], "v3.1", config.Newest} {
		for _, model := range []string{"resnet50", "bert-99.9", "dlrm-v2", "mixtral-8x7b"} {
			o := clitest.Run(t, Commands(), "show", model, "--rules", rules)
			if o.Status != cli.ExitDone {
				t.Errorf("%s under %s: status %d: %s", model, rules, o.Status, o.Err)
				continue
			}
			for _, scenario := range []string{"SingleStream", "MultiStream", "Server", "Offline"} {
				if n := strings.Count(o.Stdout, "\n"+scenario+", rules "+rules+"\n"); n != 1 {
					t.Errorf("%s under %s has %s %d times", model, rules, scenario, n)
				}
			}
			if !strings.HasPrefix(o.Stdout, model+": ") || strings.Contains(o.Stdout, "NaN") {
				t.Errorf("%s under %s:\n%s", model, rules, o.Stdout)
			}
		}
	}
}
