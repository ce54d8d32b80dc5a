package modeltest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A recorder is a test that keeps what is wrong.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, of ...any) {
	r.said = append(r.said, fmt.Sprintf(format, of...))
}

func (r *recorder) Fatalf(format string, of ...any) {
	r.Errorf(format, of...)
	runtime.Goexit()
}

// wrong is what a check says.
func wrong(t *testing.T, check func(testing.TB)) []string {
	r, done := &recorder{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		check(r)
	}()
	<-done
	return r.said
}

// retinanet is as the checkers of v2.1 to v6.0 have it.
func retinanet() config.Model {
	early := config.Minima{PerformanceSamples: 64, OfflineSamples: 24576, ServerLatency: 100 * time.Millisecond}
	late := early
	late.AccuracySamples = 24781
	return config.Model{Name: "retinanet", Minima: []config.RoundMinima{{First: "v2.1", Last: "v4.1", Minima: early}, {First: "v5.0", Last: "v6.0", Minima: late}}}
}

func TestNumbersThatAreNotTheCheckersAreSaid(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*config.Model)
		want   []string // of what is said
	}{
		{"nothing is changed", func(*config.Model) {}, nil},
		{"a benchmark of no round", func(m *config.Model) { *m = config.Model{Name: "alexnet"} }, nil},
		{"a round too early", func(m *config.Model) { m.Minima[0].First = "v2.0" }, []string{"v2.0 has retinanet: true, its checker: false"}},
		{"a round too few", func(m *config.Model) { m.Minima[1].Last = "v5.1" }, []string{"v6.0 has retinanet: false, its checker: true"}},
		{"another latency", func(m *config.Model) {
			m.Minima[0].ServerLatency++
			m.Minima = m.Minima[:1]
			m.Minima[0].First = "v4.1"
		}, []string{"retinanet of v4.1: {", "ServerLatency:100.000001ms"}},
		{"another number of queries", func(m *config.Model) { m.Queries = map[loadgen.Scenario]uint64{loadgen.MultiStream: 7} }, []string{"retinanet of v2.1: 7 queries of MultiStream, the checker has 270336"}},
	} {
		m := retinanet()
		c.change(&m)
		said := strings.Join(wrong(t, func(t testing.TB) { Rules(t, m) }), "\n")
		if (said == "") != (c.want == nil) || slices.ContainsFunc(c.want, func(w string) bool { return !strings.Contains(said, w) }) {
			t.Errorf("%s: said %q, want %q", c.name, said, c.want)
		}
	}
}

func TestTargetsThatAreNotTheCheckersAreSaid(t *testing.T) {
	llama := workload.Quality{Metric: "rouge1", Reference: 44.4312, Fraction: 0.999, Also: []workload.Bound{
		{Metric: "rouge2", Reference: 22.0352, Least: 0.999}, {Metric: "rougeL", Reference: 28.6162, Least: 0.999},
		{Metric: "tokens_per_sample", Reference: 294.45, Least: 0.9, Most: 1.1},
	}}
	looser := llama
	looser.Fraction = 0.99
	endless := llama
	endless.Also = slices.Clone(llama.Also)
	endless.Also[2].Most = 0
	for _, c := range []struct {
		name    string
		quality workload.Quality
		want    string
	}{
		{"llama2-70b-99.9", llama, ""},
		{"llama2-70b-99.9", looser, "llama2-70b-99.9: at least map["},
		{"llama2-70b-99.9", endless, "llama2-70b-99.9: at most map[], the checker has map[tokens_per_sample:323.89"},
		{"llama2-70b", llama, "llama2-70b: at least map["},
		{"llama4", llama, "no round has llama4"},
	} {
		names := []string{"llama2-70b-99", "llama2-70b-99.9"}
		if c.name == "llama4" {
			names = nil
		}
		said := wrong(t, func(t testing.TB) {
			Quality(t, workload.Model{Name: c.name, Rules: config.Model{Name: "llama", Aliases: names}, Quality: c.quality})
		})
		if len(said) > 1 || !strings.HasPrefix(strings.Join(said, ""), c.want) || (c.want == "") != (len(said) == 0) {
			t.Errorf("%s: said %q, want %q", c.name, said, c.want)
		}
	}
}

// Rounds of a benchmark follow each other without a gap that its rows do not show, and none is there twice.
func TestRowsOfABenchmarkFollowEachOther(t *testing.T) {
	all, rows := config.Versions(), Rows(t)
	for i, row := range rows {
		first, last := slices.Index(all, row.First), slices.Index(all, row.Last)
		if first < 0 || last < first || row.Performance == 0 || len(row.Least) == 0 {
			t.Errorf("%+v", row)
		}
		if i > 0 && rows[i-1].Name == row.Name && slices.Index(all, rows[i-1].Last) >= first {
			t.Errorf("%s: %s is in two rows", row.Name, row.First)
		}
	}
}
