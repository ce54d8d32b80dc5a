package modeltest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

//go:embed checker.json
var checker []byte

// A Row is what the checkers of some rounds, one after the other, ask of a benchmark.
type Row struct {
	Name        string             // of the checker: bert-99
	First, Last string             // the rounds, both included
	Least, Most map[string]float64 // of the accuracy run, by the checker's names
	Performance uint64             // samples in memory
	Accuracy    uint64             // samples of the accuracy run
	Offline     uint64             // samples of the Offline query
	Latency     time.Duration      // of Server
	Queries     map[string]uint64  // by scenario
}

// Rows returns what the checkers know.
func Rows(t testing.TB) []Row {
	t.Helper()
	var rows []Row
	if err := json.Unmarshal(checker, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// has reports whether a round is one of the row's.
func (r Row) has(version string) bool {
	all := config.Versions()
	at := slices.Index(all, version)
	return slices.Index(all, r.First) <= at && at <= slices.Index(all, r.Last)
}

// minima are what the row asks for.
func (r Row) minima() config.Minima {
	return config.Minima{PerformanceSamples: r.Performance, AccuracySamples: r.Accuracy, OfflineSamples: r.Offline, ServerLatency: r.Latency}
}

// Rules wants the rounds and the numbers of benchmarks to be those of the checkers.
func Rules(t testing.TB, models ...config.Model) {
	t.Helper()
	rows := Rows(t)
	for _, version := range config.Versions() {
		rules, err := config.Rules(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range models {
			round(t, rules, m, rows)
		}
	}
}

// round wants what a round asks of a benchmark to be what its checker does.
func round(t testing.TB, rules *config.RuleSet, m config.Model, rows []Row) {
	t.Helper()
	have, known := rules.Minima(m)
	asked := false
	for _, row := range rows {
		if !m.Is(row.Name) || !row.has(rules.Version) {
			continue
		}
		asked = true
		if have != row.minima() {
			t.Errorf("%s of %s: %+v, the checker has %+v", row.Name, rules.Version, have, row.minima())
		}
		queries(t, rules, m, row)
	}
	if known != asked {
		t.Errorf("%s has %s: %t, its checker: %t", rules.Version, m.Name, known, asked)
	}
}

// queries wants least numbers of queries to be those of a row, in scenarios that the round has.
func queries(t testing.TB, rules *config.RuleSet, m config.Model, row Row) {
	t.Helper()
	for _, s := range loadgen.Scenarios() {
		want, ok := row.Queries[s.String()]
		if got := rules.MinQueries(s, m); ok && got != want && got != 0 {
			t.Errorf("%s of %s: %d queries of %v, the checker has %d", row.Name, rules.Version, got, s, want)
		}
	}
}

// ours are the names of scores that the checkers call otherwise.
var ours = map[string]string{
	"acc": "accuracy", "WER": "accuracy", "ACCURACY": "accuracy", // of words: how many are right
	"bleu": "BLEU", "F1": "f1", "DICE": "mean", "ROUGE1": "rouge1", "ROUGE2": "rouge2", "ROUGEL": "rougeL", "ROUGELSUM": "rougeLsum",
	"GEN_LEN": "gen_len", "TOKENS_PER_SAMPLE": "tokens_per_sample", "gsm8k_accuracy": "gsm8k", "mbxp_accuracy": "mbxp",
}

// Quality wants the targets of a benchmark to be those of the newest round that has it.
func Quality(t testing.TB, m workload.Model) {
	t.Helper()
	row, ok := newest(t, m)
	if !ok {
		t.Fatalf("no round has %s", m.Name)
	}
	least, most := map[string]float64{m.Quality.Metric: m.Quality.Reference * m.Quality.Fraction}, map[string]float64{}
	for _, b := range m.Quality.Also {
		if b.Least != 0 {
			least[b.Metric] = b.Reference * b.Least
		}
		if b.Most != 0 {
			most[b.Metric] = b.Reference * b.Most
		}
	}
	same(t, m.Name+": at least", least, row.Least)
	same(t, m.Name+": at most", most, row.Most)
}

// newest is the last row of a benchmark, or of the stricter one of two.
func newest(t testing.TB, m workload.Model) (last Row, found bool) {
	t.Helper()
	for _, row := range Rows(t) {
		if m.Rules.Is(row.Name) && strings.HasSuffix(row.Name, "-99.9") == strings.HasSuffix(m.Name, "-99.9") {
			last, found = row, true
		}
	}
	return last, found
}

// same wants the same bounds, but for rounding.
func same(t testing.TB, what string, have, checker map[string]float64) {
	t.Helper()
	want := map[string]float64{}
	for name, bound := range checker {
		want[cmp.Or(ours[name], name)] = bound
	}
	if !maps.EqualFunc(have, want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-7*b }) {
		t.Errorf("%s %v, the checker has %v", what, have, want)
	}
}
