package config

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
)

var updateDocs = flag.Bool("update-docs", false, "rewrite docs/rules.md")

const rulesPage = "../../docs/rules.md"

// TestRulesPage keeps docs/rules.md equal to the rule sets.
func TestRulesPage(t *testing.T) {
	want := rulesText(t)
	if *updateDocs {
		if err := os.WriteFile(rulesPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the rule sets say: go test ./internal/config -update-docs rewrites it", rulesPage)
	}
}

func rulesText(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`# Rule sets

` + "`--rules VERSION`" + ` chooses the round of MLPerf Inference whose settings apply: its mlperf.conf
(configs/mlperf-*.conf) and the few rules that no conf file has (internal/config/rules.go).
This page is written from them by ` + "`go test ./internal/config -update-docs`" + `; a test keeps it true.

What a test needs at least, for resnet50 where models differ. Percentiles are those of the
latency; *early stopping* says that the number of queries follows from how many were
too slow, so that the fixed numbers are only a good start.

| rules | shortest test | SingleStream | MultiStream | Server | Offline | enough queries by |
|---|---|---|---|---|---|---|
`)
	for _, version := range Versions() {
		r := mustRules(t, version)
		cell := func(s loadgen.Scenario) string { return scenarioCell(t, r, s) }
		enough := "fixed numbers"
		if r.EarlyStopping {
			enough = "early stopping"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", version, units.Duration(r.MinDuration),
			cell(loadgen.SingleStream), cell(loadgen.MultiStream), cell(loadgen.Server), cell(loadgen.Offline), enough)
	}
	b.WriteString(`
Before v1.0 a Server result is the lowest of five runs. Up to v1.1 3d-unet is the network for BraTS 2019 (3d-unet-brats19), since v2.0 that for KiTS19 (3d-unet-kits19).

## Seeds

| rules | qsl_rng_seed | sample_index_rng_seed | schedule_rng_seed |
|---|---|---|---|
`)
	for _, version := range Versions() {
		s := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, Rules: mustRules(t, version)}).Settings
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", version, s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed)
	}
	b.WriteString("\n## Where the rules' text and the checker differ\n\nThe program does as the checker. `scripts/rounds_table.py` puts what it takes by default beside the checker and the mlperf.conf of each round,\nbenchmark by benchmark and scenario by scenario.\n\n| from | of | |\n|---|---|---|\n")
	for _, n := range textNotes() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", n.First, cmp.Or(n.Model, "all benchmarks"), n.Note)
	}
	b.WriteString(limitationsText())
	return b.String()
}

// limitationsText is the table of what is compared with the rules.
func limitationsText() string {
	var b strings.Builder
	b.WriteString(`
## Limitations and notes

Built-in models and data are known by what their files say of themselves, wherever they lie, and models by their checksums ([data.md](data.md#what-a-run-checks-of-the-data)). ` + "`results.json`" + ` has
SHA-256 sums of the logs, the score and the charts beside it (` + "`files_sha256`" + `), and ends with a digest of itself (` + "`seal`" + `). If one of
them does not fit, every command that reads the record says CHANGED after the verdict, and which file it is, as a limitation; a suite
makes the run anew, and ` + "`submission build`" + ` refuses it. If one is gone, or is no longer a file, it says FILES MISSING, and the same follows.
Records of the first versions have no seal: UNSEALED. Logs of this program
without their ` + "`results.json`" + ` are WITHOUT RECORD. The seal has no key: it shows accidents and careless edits. A seal that is made anew
with this program's source passes; only a repetition of the run, or a review, helps against that.

Every setting that a test really had is compared with what the rules say for its model, scenario and division. What makes
the test easier is a limitation of the result, with both values and who made it; what makes it harder is a note. In the open
division a submitter may change what is marked so, which is a note then. Everything else is the submitter's own.

| setting | a limitation if it is | in the open division | scenarios |
|---|---|---|---|
`)
	for _, f := range fieldRules() {
		when := map[loadgen.Rule]string{
			loadgen.RuleLeast: "less", loadgen.RuleMost: "more", loadgen.RuleExactly: "other", loadgen.RuleHarder: "never",
		}[f.Rule]
		open := ""
		if f.Open {
			open = "a note"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Key, when, open, scenariosOf(f))
	}
	return b.String()
}

// scenariosOf are those in which a rule has an effect under any settings.
func scenariosOf(f fieldRule) string {
	var names []string
	for _, s := range loadgen.Scenarios() {
		for _, tokens := range []bool{false, true} {
			v := loadgen.TestSettings{Scenario: s, Mode: loadgen.SubmissionRun, Common: loadgen.Common{UseTokenLatencies: tokens, InferTokenLatencies: true, WithoutEarlyStopping: true}}
			official := v
			official.WithoutEarlyStopping = false
			if f.applies(v, official) && !slices.Contains(names, s.String()) {
				names = append(names, s.String())
			}
		}
	}
	if len(names) == len(loadgen.Scenarios()) {
		return "all"
	}
	return strings.Join(names, ", ")
}

func scenarioCell(t *testing.T, r *RuleSet, s loadgen.Scenario) string {
	if s == loadgen.MultiStream && r.MultiStream == NoMultiStream {
		return "–"
	}
	settings := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: s, Rules: r}).Settings
	n := r.MinQueries(s, Model{Name: "resnet50"})
	e := settings.Effective(1024, 50000)
	switch {
	case s == loadgen.Offline:
		return units.Count(n, "sample")
	case s == loadgen.Server:
		return fmt.Sprintf("%g %% within %s, %s", e.TargetLatencyPercentile*100, units.Duration(e.TargetLatency), units.Count(n, "query"))
	case e.FixedInterval:
		return fmt.Sprintf("a query every %s, %g %% in time, %s", units.Duration(e.TargetLatency), e.TargetLatencyPercentile*100, units.Count(n, "query"))
	}
	if s == loadgen.MultiStream { // a count of the checker that early stopping replaces
		n = e.MinQueryCount
	}
	return fmt.Sprintf("%g %%, %s of %d", e.TargetLatencyPercentile*100, units.Count(n, "query"), e.SamplesPerQuery)
}

func TestFieldsOfTokensOrLatencies(t *testing.T) {
	tokens, plain := settings{Scenario: loadgen.Server, Common: loadgen.Common{UseTokenLatencies: true}}, settings{Scenario: loadgen.Server}
	for _, c := range []struct {
		key      string
		s, rules settings
		want     bool
	}{
		{"target_latency", plain, plain, true}, {"target_latency", tokens, tokens, false}, {"target_latency", tokens, plain, false},
		{"ttft_latency", tokens, tokens, true}, {"ttft_latency", tokens, plain, false}, {"ttft_latency", plain, tokens, false},
	} {
		for _, f := range fieldRules() {
			if f.Key == c.key && f.In(loadgen.Server) && f.applies(c.s, c.rules) != c.want {
				t.Errorf("%s with %+v and the rules' %+v applies: %v, want %v", c.key, c.s.UseTokenLatencies, c.rules.UseTokenLatencies, !c.want, c.want)
			}
		}
	}
}
