package compare

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A simulation is a Server run: queries that wait for two workers.
type simulation struct {
	arrivals, service uint64 // seeds
	load, seconds     float64
	slower            float64 // than 10 ms, as a factor
}

// run has the results and the charts of a simulation.
func (s simulation) run(created time.Time) Run {
	arrivals, service := rand.New(rand.NewPCG(s.arrivals, 11)), rand.New(rand.NewPCG(s.service, 12))
	rate := s.load * 2 / 0.01
	var free [2]float64
	var records []loadgen.SampleRecord
	var latencies []time.Duration
	for at := arrivals.ExpFloat64() / rate; at < s.seconds; at += arrivals.ExpFloat64() / rate {
		w := 0
		if free[1] < free[0] {
			w = 1
		}
		free[w] = max(at, free[w]) + 0.01*s.slower*math.Exp(0.03*service.NormFloat64())
		start, end := time.Duration(at*1e9), time.Duration(free[w]*1e9)
		latencies = append(latencies, end-start)
		records = append(records, loadgen.SampleRecord{Query: uint64(len(records)), Start: start, Issued: start, Completed: end, FirstToken: -1})
	}
	slices.Sort(latencies)
	n := uint64(len(records))
	stats := loadgen.LatencyStats{Count: n, Min: latencies[0], Max: latencies[n-1]}
	sum := time.Duration(0)
	for _, l := range latencies {
		sum += l
	}
	stats.Mean = sum / time.Duration(n)
	for i, p := range loadgen.Percentiles() {
		stats.Percentiles[i] = latencies[int(p*float64(n))]
	}
	p := &loadgen.Performance{QueryCount: n, SampleCount: n, SampleLatency: stats, LastCompletion: records[n-1].Completed,
		PerfConstraintsMet: true, MinDurationMet: true, MinQueriesMet: true, GeneratorMet: true, EarlyStopping: loadgen.EarlyStopping{Met: true}}
	p.Effective = loadgen.EffectiveSettings{Scenario: loadgen.Server, Mode: loadgen.PerformanceOnly, TargetQPS: rate, TargetLatency: time.Second, TargetLatencyPercentile: 0.99, SamplesPerQuery: 1, Common: loadgen.Common{ScheduleRNGSeed: s.arrivals}}
	r := &report.Results{Schema: report.Schema, Created: created, Model: "resnet50", Rules: "v6.1", Host: "box", Command: []string{"mlperf", "run", "--output", "x"}}
	r.Fill(&loadgen.Result{Effective: p.Effective, Performance: p}, func(string) string { return "" })
	source := charts.Source{Effective: p.Effective, Queries: n, Samples: n, End: p.LastCompletion, Latency: stats, Each: func(f func(loadgen.SampleRecord)) {
		for _, r := range records {
			f(r)
		}
	}}
	return Run{report.Run{Folder: fmt.Sprintf("run-%d", s.service), Results: r}, source.Charts()}
}

func named(t testing.TB, list []Comparison, name string) Metric {
	t.Helper()
	for _, m := range list[0].Metrics {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no %s in %+v", name, list[0].Metrics)
	return Metric{}
}

func compared(t testing.TB, base, new []Run) []Comparison {
	t.Helper()
	list, left, err := Of(base, new)
	if err != nil || len(left) > 0 || len(list) != 1 {
		t.Fatalf("%d comparisons, left %v, %v", len(list), left, err)
	}
	return list
}

var begin = time.Date(2026, 7, 8, 9, 0, 0, 0, time.UTC)

// series makes repeats of a simulation; each starts some hours after the one before.
func series(n int, offset time.Duration, s simulation, spread float64) []Run {
	drift := rand.New(rand.NewPCG(s.service, 5))
	var list []Run
	for i := range n {
		x := s
		x.arrivals, x.service = s.arrivals+uint64(i)*1000, s.service+uint64(i)*1000
		x.slower *= math.Exp(spread * drift.NormFloat64())
		list = append(list, x.run(begin.Add(time.Duration(i)*time.Hour+offset)))
	}
	return list
}

func TestMethods(t *testing.T) {
	short := simulation{arrivals: 1, service: 2, load: 0.6, seconds: 30, slower: 1}
	other, sameTraffic := short, short
	other.arrivals, other.service = 3, 4
	sameTraffic.service = 4
	bare := other.run(begin)
	bare.Charts = nil
	for _, test := range []struct {
		name        string
		base, new   []Run
		want        string
		decides     bool
		hasInterval bool
	}{
		{"the same traffic", []Run{short.run(begin)}, []Run{sameTraffic.run(begin)}, "t over 20 pairs of batches of the same traffic, within these two runs", false, true},
		{"other traffic", []Run{short.run(begin)}, []Run{other.run(begin)}, "independent queries' worth, within these two runs", false, true},
		{"no charts", []Run{short.run(begin)}, []Run{bare}, "one run each: no charts.json", false, false},
		{"three repeats", series(3, 0, short, 0), series(3, time.Minute, other, 0), "t over 3 pairs of runs in turns", false, true},
		{"five repeats", series(5, 0, short, 0), series(5, time.Minute, other, 0), "t over 5 pairs of runs in turns", true, true},
		{"five repeats one after the other", series(5, 0, short, 0), series(5, 100*time.Hour, other, 0), "Welch's t over 5 and 5 runs, not in turns", false, true},
		{"one against many", series(1, 0, short, 0), series(2, 0, other, 0), "one side has one run only: repeat it as well", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := compared(t, test.base, test.new)
			m := named(t, list, "p90")
			if !strings.Contains(m.Method, test.want) || m.Decides != test.decides || (m.Interval != nil) != test.hasInterval {
				t.Errorf("%+v, want %q", m, test.want)
			}
			if s := named(t, list, "samples/s"); s.Decides && test.decides == false {
				t.Errorf("samples/s decides: %+v", s)
			}
			wantCommands := !test.decides && test.name != "three repeats"
			if (len(list[0].Commands) > 0) != wantCommands {
				t.Errorf("commands %q", list[0].Commands)
			}
		})
	}
}

func TestOneRunEachNeverDecides(t *testing.T) {
	fast, slow := simulation{1, 2, 0.6, 30, 1}, simulation{1, 3, 0.6, 30, 1.3}
	list := compared(t, []Run{fast.run(begin)}, []Run{slow.run(begin)})
	m := named(t, list, "p90")
	if !m.Differs() || m.Tone() != "bad" {
		t.Errorf("30 %% slower is %+v", m)
	}
	limit, err := ParseLimit("p90>+5%")
	if err != nil {
		t.Fatal(err)
	}
	if o := limit.Check(list[0]); o.Met || !testenv.Tells(o.Reason, "5 repeats … in turns") {
		t.Errorf("%+v", o)
	}
	list = compared(t, series(5, 0, fast, 0.01), series(5, time.Minute, slow, 0.01))
	if o := limit.Check(list[0]); !o.Met || !testenv.Tells(o.Reason, "5 pairs … in turns") {
		t.Errorf("%+v", o)
	}
}

// TestEqualRunsFailNoBuild repeats equal runs on a machine that drifts by 1 % from run to run.
func TestEqualRunsFailNoBuild(t *testing.T) {
	testenv.SkipLong(t, "simulates hundreds of series of runs")
	limit, err := ParseLimit("p90>+0%") // the strictest there is: one in 40 fails by luck
	if err != nil {
		t.Fatal(err)
	}
	useful, err := ParseLimit("p90>+5%")
	if err != nil {
		t.Fatal(err)
	}
	const tries = 50
	differ, strict, failed, found := 0, 0, 0, 0
	for i := range uint64(tries) {
		a, b, c := simulation{10 * i, 10*i + 1, 0.6, 10, 1}, simulation{10*i + 2, 10*i + 3, 0.6, 10, 1}, simulation{10*i + 4, 10*i + 5, 0.6, 10, 1.1}
		base := series(5, 0, a, 0.01)
		list := compared(t, base, series(5, time.Minute, b, 0.01))
		if named(t, list, "p90").Differs() {
			differ++
		}
		if limit.Check(list[0]).Met {
			strict++
		}
		if useful.Check(list[0]).Met {
			failed++
		}
		if useful.Check(compared(t, base, series(5, time.Minute, c, 0.01))[0]).Met {
			found++
		}
	}
	t.Logf("of %d: %d differ, %d beyond 0 %%, %d beyond 5 %%; of 10 %% slower ones %d are found", tries, differ, strict, failed, found)
	if differ > tries*14/100 || strict > tries*8/100 || failed > 0 {
		t.Errorf("of %d pairs of equal series %d differ, %d are beyond 0 %%, %d beyond 5 %%", tries, differ, strict, failed)
	}
	if found < tries*6/10 {
		t.Errorf("of %d series that are 10 %% slower, %d are found", tries, found)
	}
}

// TestIntervalsOfDifferencesHold compares single runs, of which half met the same traffic.
func TestIntervalsOfDifferencesHold(t *testing.T) {
	testenv.SkipLong(t, "simulates hundreds of minutes")
	const tries = 60
	for _, load := range []float64{0.6, 0.75} {
		alarms := map[string]int{}
		shown := 0
		for i := range uint64(tries) {
			a, b, c, d := simulation{10 * i, 10*i + 1, load, 60, 1}, simulation{10 * i, 10*i + 2, load, 60, 1}, simulation{10*i + 3, 10*i + 4, load, 60, 1}, simulation{10 * i, 10*i + 5, load, 60, 1.02}
			base := []Run{a.run(begin)}
			for name, other := range map[string]simulation{"same": b, "other": c} {
				list := compared(t, base, []Run{other.run(begin)})
				for _, p := range []string{"p50", "p90", "p99"} {
					if named(t, list, p).Differs() {
						alarms[name+" "+p]++
					}
				}
			}
			if named(t, compared(t, base, []Run{d.run(begin)}), "p90").Differs() {
				shown++
			}
		}
		t.Logf("load %g: false alarms of %d: %v; 2 %% slower shows in %d", load, tries, alarms, shown)
		for name, n := range alarms {
			if n > tries*14/100 {
				t.Errorf("load %g, %s traffic: %d of %d equal runs differ", load, name, n, tries)
			}
		}
		if shown < tries*9/10 {
			t.Errorf("load %g: 2 %% slower shows in %d of %d", load, shown, tries)
		}
	}
}

func TestDifferencesComeFirst(t *testing.T) {
	s := simulation{1, 2, 0.5, 20, 1}
	a, b := s.run(begin), s.run(begin)
	b.Results.Host, b.Results.Rules, b.Results.Limitations = "cloud", "v5.1", report.Limitations{{ID: limitation.SimulatedEngine}}
	b.Results.Input.Precision, b.Results.Settings = "int8", []report.Setting{{Key: "target_qps", Value: "50 /s"}}
	list := compared(t, []Run{a}, []Run{b})
	var unlike []string
	for _, d := range list[0].Unlike() {
		unlike = append(unlike, d.Key)
	}
	if strings.Join(unlike, ",") != "host,rules,limitations" {
		t.Errorf("unlike %v", unlike)
	}
	var out bytes.Buffer
	if err := Text(&out, list); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	last := 0
	for _, want := range []string{"DIFFERENT TESTS OR MACHINES", "! host", "cloud", "! limitations", "precision", "int8", "target_qps", "default", "50 /s", "METRIC", "p90", "To be sure, repeat both in turns", "mlperf compare --repeat 5 "} {
		at := strings.Index(text[last:], want)
		if at < 0 {
			t.Fatalf("no %q after %q", want, text[:last])
		}
		last += at
	}
	if len(compared(t, []Run{a}, []Run{s.run(begin)})[0].Differences) != 0 {
		t.Error("equal runs differ")
	}
}

func TestCalibratedIsNoDifference(t *testing.T) {
	s := simulation{1, 2, 0.5, 20, 1}
	for _, c := range []struct {
		key  string
		role limitation.Role
		want int
	}{
		{"target_latency", limitation.Calibration, 0}, {"target_latency", limitation.UserConf, 1}, {"target_qps", limitation.Calibration, 1},
	} {
		a, b := s.run(begin), s.run(begin)
		a.Results.Settings = []report.Setting{{Key: c.key, Value: "10.5", Role: c.role}}
		b.Results.Settings = []report.Setting{{Key: c.key, Value: "11.25", Role: c.role}}
		if got := compared(t, []Run{a}, []Run{b})[0].Differences; len(got) != c.want {
			t.Errorf("%s by %s: %v, want %d differences", c.key, c.role, got, c.want)
		}
	}
}

func TestRunsWithoutAPartner(t *testing.T) {
	a, b := simulation{1, 2, 0.5, 20, 1}.run(begin), simulation{1, 2, 0.5, 20, 1}.run(begin)
	b.Results.Model = "bert"
	if _, left, err := Of([]Run{a}, []Run{b}); err == nil || len(left) != 2 || !strings.Contains(left[0], "no run of resnet50 Server") {
		t.Errorf("%v, %v", left, err)
	}
	b.Results.Model, b.Results.Interactive = a.Results.Model, true // a scenario of other bounds, which LoadGen calls Server
	if _, left, err := Of([]Run{a}, []Run{b}); err == nil || len(left) != 2 || !strings.Contains(left[1], "no run of resnet50 Interactive") {
		t.Errorf("Server and Interactive: %v, %v", left, err)
	}
}

func TestOwnModelsAreCompared(t *testing.T) {
	a, b, c := simulation{1, 2, 0.5, 20, 1}.run(begin), simulation{1, 2, 0.4, 20, 1}.run(begin), simulation{1, 2, 0.3, 20, 1}.run(begin)
	for r, name := range map[*report.Results]string{a.Results: "my.onnx", b.Results: "my-int8.onnx", c.Results: "other.onnx"} {
		r.Model, r.Limitations = name, report.Limitations{{ID: limitation.OwnModel}}
	}
	list, left, err := Of([]Run{a}, []Run{b})
	if err != nil || len(list) != 1 || len(left) != 0 || !slices.Contains(list[0].Differences, Difference{"model", "my.onnx", "my-int8.onnx", false}) {
		t.Errorf("%+v, %v, %v", list, left, err)
	}
	if _, left, err := Of([]Run{a}, []Run{b, c}); err == nil || len(left) != 3 {
		t.Errorf("one of two: %v, %v", left, err)
	}
}

func TestAccuracyBySample(t *testing.T) {
	right := func(n int, wrong ...int) *report.Accuracy {
		a := &report.Accuracy{Metric: "accuracy", Unit: "%", Samples: uint64(n), Right: make([]byte, (n+7)/8), Reference: 76, Target: 75}
		for i := range n {
			if !slices.Contains(wrong, i) {
				a.Right[i/8] |= 1 << (i % 8)
			}
		}
		a.Value = 100 * float64(n-len(wrong)) / float64(n)
		return a
	}
	many := make([]int, 40)
	for i := range many {
		many[i] = 3 * i
	}
	for _, test := range []struct {
		name      string
		base, new *report.Accuracy
		want      string
		differs   bool
	}{
		{"the same answers", right(1000, 5), right(1000, 5), "0 are right only in the base, 0 only in the new; p = 1", false},
		{"as many wrong, others", right(1000, 1, 2, 3), right(1000, 4, 5, 6), "3 are right only in the base, 3 only in the new", false},
		{"forty worse", right(1000), right(1000, many...), "40 are right only in the base, 0 only in the new", true},
		{"four worse, which coins do in one case of sixteen", right(1000), right(1000, 1, 2, 3, 4), "p = 0.063", false},
		{"five worse", right(1000), right(1000, 1, 2, 3, 4, 5), "p = 0.031", true},
		{"other samples", right(1000), right(500), "the samples are not the same", false},
		{"a score of its own", &report.Accuracy{Metric: "accuracy"}, &report.Accuracy{Metric: "accuracy"}, "keeps no answers sample by sample", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			of := func(a *report.Accuracy) []Run {
				return []Run{{report.Run{Results: &report.Results{Model: "m", Accuracy: a}}, nil}}
			}
			m := named(t, compared(t, of(test.base), of(test.new)), "accuracy")
			if !strings.Contains(m.Method, test.want) || m.Differs() != test.differs {
				t.Errorf("%+v, want %q, differs %v", m, test.want, test.differs)
			}
		})
	}
}

// TestAccuracyByResampling: mAP, BLEU and F1 keep what they are of the same sets.
func TestAccuracyByResampling(t *testing.T) {
	score := func(value, spread float64, sets int) *report.Accuracy {
		a := &report.Accuracy{Metric: "mAP", Unit: "%", Value: value, Samples: 500, Reference: 21, Target: 20}
		for i := range sets {
			v := value + 3*math.Sin(float64(i)) + spread*math.Cos(float64(7*i)) // what differs from set to set is the same for both
			a.Resampled = binary.LittleEndian.AppendUint32(a.Resampled, math.Float32bits(float32(v)))
		}
		return a
	}
	broken := score(21, 0, 200)
	broken.Resampled = broken.Resampled[1:]
	infinite := score(21, 0, 200)
	copy(infinite.Resampled, []byte{0, 0, 0x80, 0x7f})
	part := score(20, 0, 200)
	part.Partial = true
	for _, test := range []struct {
		name      string
		base, new *report.Accuracy
		want      string
		differs   bool
	}{
		{"half a point less in all sets", score(21, 0, 200), score(20.5, 0.1, 200), "paired bootstrap: both on the same 200 sets of the 500 samples", true},
		{"half a point less on average", score(21, 0, 200), score(20.5, 1, 200), "paired bootstrap", false},
		{"the same", score(21, 0, 200), score(21, 0, 200), "paired bootstrap", false},
		{"sets of another number", score(21, 0, 200), score(20, 0, 100), "mAP keeps no answers sample by sample", false},
		{"a file that was cut", score(21, 0, 200), broken, "mAP keeps no answers sample by sample", false},
		{"no number", infinite, score(20, 0, 200), "mAP keeps no answers sample by sample", false},
		{"a part of the samples", score(21, 0, 200), part, "the samples are not the same", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			of := func(a *report.Accuracy) []Run {
				return []Run{{report.Run{Results: &report.Results{Model: "m", Accuracy: a}}, nil}}
			}
			m := named(t, compared(t, of(test.base), of(test.new)), "accuracy")
			if !strings.Contains(m.Method, test.want) || m.Differs() != test.differs || m.Decides != strings.HasPrefix(test.want, "paired") {
				t.Errorf("%+v, want %q, differs %v", m, test.want, test.differs)
			}
		})
	}
}

func TestThroughput(t *testing.T) {
	offline := func(seed uint64, rate float64, slow bool) Run {
		r := rand.New(rand.NewPCG(seed, 1))
		column := make(charts.Column, 300)
		level := 0.0
		for i := range column {
			if slow { // what lasts
				level = 0.97*level + 0.03*4*r.NormFloat64()
			}
			column[i] = rate * (1 + 0.02*r.NormFloat64() + 0.05*level)
		}
		results := &report.Results{Model: "m", Scenario: "Offline", Performance: &report.Performance{SamplesPerSecond: rate}, Metric: &report.Metric{Name: "samples", Value: rate, Unit: "samples/s"}}
		return Run{report.Run{Results: results}, &charts.Charts{Timeline: &charts.Timeline{BucketNS: 1e9, Issued: column, Completed: column, Outstanding: column}}}
	}
	m := named(t, compared(t, []Run{offline(1, 100, false)}, []Run{offline(2, 110, false)}), "samples/s")
	if !m.Differs() || m.Tone() != "good" || m.Decides || math.Abs(m.Change-0.1) > 1e-9 || !m.Interval.has(0.1) {
		t.Errorf("10 %% more: %+v", m)
	}
	m = named(t, compared(t, []Run{offline(1, 100, false)}, []Run{offline(2, 100, false)}), "metric")
	if m.Verdict() != "~" {
		t.Errorf("no more: %+v", m)
	}
	m = named(t, compared(t, []Run{offline(1, 100, true)}, []Run{offline(2, 110, false)}), "samples/s")
	if m.Interval != nil || m.Verdict() != "+10 %, not confirmed" {
		t.Errorf("parts that depend on each other: %+v", m)
	}
}

// FuzzOf compares what files may hold: it never panics, and what it finds can be written.
func FuzzOf(f *testing.F) {
	run := simulation{1, 2, 0.5, 3, 1}.run(begin)
	results, _ := json.Marshal(run.Results)
	drawn, _ := json.Marshal(run.Charts)
	f.Add(results, drawn, results, drawn)
	f.Fuzz(func(t *testing.T, r1, c1, r2, c2 []byte) {
		a, err1 := report.Parse(r1)
		b, err2 := report.Parse(r2)
		if err1 != nil || err2 != nil {
			return
		}
		x, _ := charts.Parse(c1)
		y, _ := charts.Parse(c2)
		list, _, err := Of([]Run{{report.Run{Results: a}, x}}, []Run{{report.Run{Results: b}, y}})
		if err != nil {
			return
		}
		for _, print := range []func(io.Writer, []Comparison) error{Text, Markdown, CSV} {
			if err := print(io.Discard, list); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := json.Marshal(list); err != nil {
			t.Fatal(err)
		}
	})
}

// plain is a run whose latencies are all of so many milliseconds.
func plain(folder string, minutes int, ms float64, change func(*report.Results)) Run {
	ns := int64(ms * 1e6)
	r := &report.Results{
		Created: begin.Add(time.Duration(minutes) * time.Minute), Model: "resnet50", Scenario: "SingleStream", Mode: "PerformanceOnly", Result: report.Valid, Rules: "v6.1",
		Performance: &report.Performance{Queries: 10, SamplesPerSecond: 1000 / ms, LatencyNS: &report.Latencies{Mean: ns, P50: ns, P90: ns, P95: ns, P97: ns, P99: ns, P999: ns}},
	}
	if change != nil {
		change(r)
	}
	return Run{Run: report.Run{Folder: folder, Results: r}}
}

// TestCopiesAreNoRepeats: five copies of one run each would otherwise be sure of what one run cannot tell.
func TestCopiesAreNoRepeats(t *testing.T) {
	var base, new []Run
	for i := range 5 {
		base = append(base, plain(fmt.Sprint("base", i), 0, 10, nil))
		new = append(new, plain(fmt.Sprint("new", i), 1, 12, nil))
	}
	list, left, err := Of(base, new)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if want := "base4: it is a copy of the run in base0"; len(left) != 8 || left[3] != want {
		t.Errorf("left out %q, want eight, the fourth %q", left, want)
	}
	if m := named(t, list, "p90"); m.Interval != nil || m.Decides {
		t.Errorf("one run each decides: %+v", m)
	}
}

func TestRunOnBothSides(t *testing.T) {
	known := func(r *report.Results) { r.Command = []string{"mlperf", "run"} }
	a, b, c := plain("a", 0, 10, known), plain("b", 0, 10, known), plain("c", 1, 10, known)
	list := compared(t, []Run{a}, []Run{b})
	if want := "Both sides are the same run: nothing is compared."; len(list[0].Notes) != 1 || list[0].Notes[0] != want || list[0].Commands != nil {
		t.Errorf("notes %q, commands %q, want %q alone", list[0].Notes, list[0].Commands, want)
	}
	list = compared(t, []Run{a}, []Run{b, c})
	if want := "b is on both sides: it shows no change."; len(list[0].Notes) == 0 || list[0].Notes[0] != want || list[0].Commands == nil {
		t.Errorf("notes %q, commands %q, want %q and a command", list[0].Notes, list[0].Commands, want)
	}
	list = compared(t, []Run{plain("a", 0, 10, nil)}, []Run{plain("b", 1, 10, nil)})
	if len(list[0].Notes) != 0 {
		t.Errorf("notes of two runs that are as fast: %q", list[0].Notes)
	}
	accuracy := func(r *report.Results) { r.Performance, r.Accuracy = nil, &report.Accuracy{Metric: "m", Value: 1} }
	if list, left, err := Of([]Run{plain("a", 0, 1, accuracy), plain("b", 0, 1, accuracy)}, []Run{plain("c", 0, 1, accuracy)}); err != nil || len(left) != 0 || len(list[0].Base) != 2 {
		t.Errorf("accuracy runs: %v, left %q, %v", list, left, err)
	}
}

func TestTookTurns(t *testing.T) {
	at := func(minutes ...int) (runs []Run) {
		for _, m := range minutes {
			runs = append(runs, plain(fmt.Sprint(m), m, 10+float64(m)/100, nil))
		}
		return runs
	}
	for _, c := range []struct {
		name      string
		base, new []Run
		want      bool
	}{
		{"A B A B A B", at(0, 2, 4), at(1, 3, 5), true},
		{"B A B A B A", at(1, 3, 5), at(0, 2, 4), true},
		{"A B B A A B", at(0, 3, 4), at(1, 2, 5), true},
		{"in the same second", at(0, 2), at(0, 2), true},
		{"A A B B", at(0, 1), at(2, 3), false},
		{"B B A A", at(2, 3), at(0, 1), false},
		{"A B A A B B", at(0, 2, 3), at(1, 4, 5), false},
		{"of other numbers", at(0, 2), at(1), false},
		{"one each", at(0), at(9), true},
	} {
		if got := tookTurns(c.base, c.new); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestRunsAreInTheOrderOfTime(t *testing.T) {
	list := compared(t, []Run{plain("late", 2, 10, nil), plain("early", 0, 10.1, nil)}, []Run{plain("later", 3, 10, nil), plain("soon", 1, 10.2, nil)})
	if diff := cmp.Diff([][]string{{"early", "late"}, {"soon", "later"}}, [][]string{list[0].Base, list[0].New}); diff != "" {
		t.Error(diff)
	}
	if m := named(t, list, "p50"); m.Method != "medians; an interval needs 3 runs or more of each" || m.Repeats != 2 || m.Interval != nil || math.Abs(m.New/10.1e6-1) > 1e-9 || len(list[0].Commands) != 0 {
		t.Errorf("%+v, commands %q", m, list[0].Commands)
	}
}

func TestRepeatsWithoutTurns(t *testing.T) {
	base := []Run{plain("a", 0, 10, nil), plain("b", 1, 10.1, nil), plain("b2", 2, 10.05, nil)}
	list := compared(t, base, []Run{plain("c", 8, 10, nil), plain("d", 9, 10.2, nil), plain("e", 10, 10.1, nil)})
	if !strings.Contains(strings.Join(list[0].Notes, "\n"), "The repeats did not take turns") {
		t.Errorf("notes %q", list[0].Notes)
	}
	if m := named(t, list, "p50"); m.Decides || m.Repeats != 3 || m.Needed == 0 || !strings.Contains(m.how(), fmt.Sprintf("; %d repeats would show +", m.Needed)) {
		t.Errorf("%+v: %s", m, m.how())
	}
}

// TestLatencyBounds although their sum is the same.
func TestLatencyBounds(t *testing.T) {
	bound := func(latency, first, per time.Duration) func(*report.Results) {
		return func(r *report.Results) {
			r.Test = &report.Test{TargetLatency: latency, TargetLatencyPercentile: 0.99, Common: loadgen.Common{ServerTTFTLatency: first, ServerTPOTLatency: per}}
		}
	}
	for _, c := range []struct {
		name      string
		base, new func(*report.Results)
		want      string
	}{
		{"the same", bound(0, 2e9, 2e8), bound(0, 2e9, 2e8), ""},
		{"exchanged", bound(0, 2e9, 2e8), bound(0, 2e8, 2e9), "2 s to the first token, 200 ms per token, p99"},
		{"another latency", bound(15e6, 0, 0), bound(16e6, 0, 0), "15 ms, p99"},
		{"none known", bound(15e6, 0, 0), nil, "15 ms, p99"},
	} {
		list := compared(t, []Run{plain("a", 0, 10, c.base)}, []Run{plain("b", 1, 10, c.new)})
		got := ""
		for _, d := range list[0].Unlike() {
			got += d.Base
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSidesThatAreNotUniform(t *testing.T) {
	qps := func(v string) func(*report.Results) {
		return func(r *report.Results) { r.Settings = []report.Setting{{Key: "target_qps", Value: v}} }
	}
	list := compared(t, []Run{plain("a", 0, 10, qps("5")), plain("b", 2, 10.1, qps("6"))}, []Run{plain("c", 1, 10.2, qps("5")), plain("d", 3, 10.3, qps("6"))})
	if diff := cmp.Diff([]Difference{{Key: "target_qps", Base: "5 | 6", New: "5 | 6"}}, list[0].Differences); diff != "" {
		t.Error(diff)
	}
	engine := func(v string) func(*report.Results) { return func(r *report.Results) { r.Backend.Engine = v } }
	list = compared(t, []Run{plain("a", 0, 10, engine("x")), plain("b", 2, 10.1, engine("y"))}, []Run{plain("c", 1, 10.2, engine("x"))})
	if diff := cmp.Diff([]Difference{{Key: "engine", Base: "x | y", New: "x"}}, list[0].Differences); diff != "" {
		t.Error(diff)
	}
}

func TestSystemText(t *testing.T) {
	system := map[string]any{"cpu": map[string]any{"model": "Z80", "cores": 1.0}, "kernel": nil}
	for _, c := range []struct {
		path, want string
	}{{"cpu model", "Z80"}, {"cpu cores", "1"}, {"kernel", ""}, {"cpu clock", ""}, {"cpu model name", ""}, {"memory", ""}} {
		if got := systemText(system, strings.Fields(c.path)...); got != c.want {
			t.Errorf("%s: %q, want %q", c.path, got, c.want)
		}
	}
	if got := systemText("a text", "cpu", "model"); got != "" {
		t.Errorf("of a text: %q", got)
	}
}

func TestLastSettingCounts(t *testing.T) {
	r := &report.Results{Settings: []report.Setting{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}, {Key: "b", Value: ""}}}
	for key, want := range map[string]string{"a": "2", "b": "default", "c": "default"} {
		if got := setting(r, key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// TestImpossibleNumbers: files may hold any, and what is found has to be JSON.
func TestImpossibleNumbers(t *testing.T) {
	accuracy := func(a report.Accuracy) func(*report.Results) {
		return func(r *report.Results) { a.Metric, r.Accuracy = "m", &a }
	}
	for _, c := range []struct {
		name      string
		base, new func(*report.Results)
	}{
		{"accuracies too far apart", accuracy(report.Accuracy{Value: math.MaxFloat64}), accuracy(report.Accuracy{Value: -math.MaxFloat64})},
		{"answers of no samples", accuracy(report.Accuracy{Right: []byte{255}}), accuracy(report.Accuracy{Right: []byte{1}})},
		{"rates of next to nothing", func(r *report.Results) { r.Performance.SamplesPerSecond = 5e-324 }, func(r *report.Results) { r.Performance.SamplesPerSecond = math.MaxFloat64 }},
		{"a rate of nothing", func(r *report.Results) { r.Performance.SamplesPerSecond = 0 }, nil},
		{"a negative latency", func(r *report.Results) { r.Performance.LatencyNS.P90 = -5 }, nil},
		{"no latencies", func(r *report.Results) { r.Performance.LatencyNS = nil }, nil},
		{"no performance", func(r *report.Results) { r.Performance = nil }, nil},
	} {
		for _, swapped := range []bool{false, true} {
			a, b := plain("a", 0, 10, c.base), plain("b", 1, 11, c.new)
			if swapped {
				a, b = b, a
			}
			list := compared(t, []Run{a}, []Run{b})
			if _, err := json.Marshal(list); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			for _, m := range list[0].Metrics {
				if m.Interval != nil || !units.Finite(m.Change) {
					t.Errorf("%s: %+v", c.name, m)
				}
			}
		}
	}
}

func TestErrorRatesAreBetterBelow(t *testing.T) {
	for _, c := range []struct {
		name              string
		reference, target float64
		want              string
	}{{"a score", 76, 75, "up"}, {"an error rate", 7.4, 7.5, "down"}, {"no target", 0, 0, "up"}} {
		of := func(folder string, minutes int) Run {
			return plain(folder, minutes, 10, func(r *report.Results) {
				r.Accuracy = &report.Accuracy{Metric: "m", Value: 7, Reference: c.reference, Target: c.target}
			})
		}
		if m := named(t, compared(t, []Run{of("a", 0)}, []Run{of("b", 1)}), "accuracy"); m.Better != c.want {
			t.Errorf("%s: better %s, want %s", c.name, m.Better, c.want)
		}
	}
}

// TestQuantities follows from the scenario: Offline has no latency of queries, and Server's rate is set.
func TestQuantities(t *testing.T) {
	tokens := &report.Latencies{Mean: 1, P50: 1, P90: 1, P95: 1, P97: 1, P99: 1, P999: 1}
	for _, c := range []struct {
		name   string
		change func(*report.Results)
		want   string
	}{
		{"SingleStream", nil, "mean p50 p90 p95 p97 p99 p99.9 samples/s"},
		{"Server", func(r *report.Results) {
			r.Scenario, r.Metric = "Server", &report.Metric{Name: "completed samples", Value: 5}
		}, "mean p50 p90 p95 p97 p99 p99.9 samples/s"},
		{"Offline", func(r *report.Results) {
			r.Scenario, r.Metric = "Offline", &report.Metric{Name: "samples", Value: 5, Unit: "samples/s"}
		}, "samples/s metric"},
		{"tokens", func(r *report.Results) {
			r.Scenario, r.Metric = "Server", &report.Metric{Name: "completed tokens", Value: 5, Unit: "tokens/s"}
			r.Performance.LatencyNS, r.Performance.FirstTokenNS, r.Performance.TimePerOutputTokenNS = nil, tokens, tokens
		}, "ttft mean ttft p50 ttft p90 ttft p95 ttft p97 ttft p99 ttft p99.9 tpot mean tpot p50 tpot p90 tpot p95 tpot p97 tpot p99 tpot p99.9 samples/s metric"},
	} {
		var names []string
		for _, m := range compared(t, []Run{plain("a", 0, 10, c.change)}, []Run{plain("b", 1, 10, c.change)})[0].Metrics {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	set := named(t, compared(t, []Run{plain("a", 0, 10, func(r *report.Results) { r.Scenario = "Server" })}, []Run{plain("b", 1, 5, func(r *report.Results) { r.Scenario = "Server" })}), "samples/s")
	if set.Method != "the schedule sets it" || set.Better != "" || set.Tone() != "" {
		t.Errorf("the rate of a schedule: %+v", set)
	}
}

func TestQueryLatencyComesFirst(t *testing.T) {
	queries := func(r *report.Results) {
		r.Scenario, r.Performance.QueryLatencyNS = "MultiStream", &report.Latencies{P50: 80e6}
	}
	if m := named(t, compared(t, []Run{plain("a", 0, 10, queries)}, []Run{plain("b", 1, 10, queries)}), "p50"); !near(m.Base, 80e6, 1e-9) {
		t.Errorf("p50 %g, want that of queries: 80 ms", m.Base)
	}
}

func TestCommands(t *testing.T) {
	known := &report.Results{Command: []string{"mlperf", "run"}}
	if got := inTurns(Run{Run: report.Run{Folder: "a", Results: known}}, Run{Run: report.Run{Folder: "my b", Results: known}}); len(got) != 1 || got[0] != "mlperf compare --repeat 5 a "+report.CommandLine([]string{"my b"}) {
		t.Errorf("commands %q", got)
	}
	silent, says := plain("a", 0, 10, nil), plain("b", 1, 10, func(r *report.Results) { r.Command = []string{"mlperf"} })
	if a, b := inTurns(silent, says), inTurns(says, silent); a != nil || b != nil {
		t.Errorf("a run that does not say how it was made: %q, %q", a, b)
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name                string
		m                   Metric
		verdict, span, tone string
		base, new           string
	}{
		{"slower", Metric{Unit: "ns", Base: 1e6, New: 2e6, Change: 1, Interval: &Interval{0.9, 1.1}, Better: "down"}, "+100 %", "+90 % to +110 %", "bad", "1 ms", "2 ms"},
		{"faster", Metric{Unit: "ns", Base: 2e6, New: 1e6, Change: -0.5, Interval: &Interval{-0.6, -0.4}, Better: "down", Repeats: 2}, "−50 %", "−60 % to −40 %", "good", "2 ms", "1 ms"},
		{"more", Metric{Unit: "/s", Base: 10, New: 20, Change: 1, Interval: &Interval{0.9, 1.1}, Better: "up"}, "+100 %", "+90 % to +110 %", "good", "10/s", "20/s"},
		{"less", Metric{Unit: "/s", Base: 20, New: 10, Change: -0.5, Interval: &Interval{-0.6, -0.4}, Better: "up"}, "−50 %", "−60 % to −40 %", "bad", "20/s", "10/s"},
		{"neither better nor worse", Metric{Unit: "/s", Base: 10, New: 20, Change: 1, Interval: &Interval{0.9, 1.1}}, "+100 %", "+90 % to +110 %", "", "10/s", "20/s"},
		{"noise", Metric{Unit: "/s", Base: 10, New: 10, Interval: &Interval{-0.1, 0.1}, Better: "up"}, "~", "−10 % to +10 %", "", "10/s", "10/s"},
		{"not known", Metric{Unit: "/s", Base: 10, New: 10, Better: "up"}, "none, not confirmed", "–", "", "10/s", "10/s"},
		{"points", Metric{Unit: "%", Base: 76, New: 75, Change: -1, Points: true, Interval: &Interval{-1.5, -0.5}, Better: "up"}, "−1 points", "−1.5 points to −0.5 points", "bad", "76 %", "75 %"},
	} {
		base, new := c.m.Values()
		if c.m.Verdict() != c.verdict || c.m.Range() != c.span || c.m.Tone() != c.tone || base != c.base || new != c.new {
			t.Errorf("%s: %q, %q, %q, %q, %q", c.name, c.m.Verdict(), c.m.Range(), c.m.Tone(), base, new)
		}
	}
}

func TestCSV(t *testing.T) {
	c := changed(Metric{Name: "p99", Unit: "ns", Base: 1.0 / 3, New: 2, Change: 5, Interval: &Interval{4.5, 5.5}, Method: "a, b", Repeats: 5, Decides: true, Needed: 7})
	c.Differences = []Difference{{Key: "host", Unlike: true}, {Key: "engine"}}
	var out bytes.Buffer
	if err := CSV(&out, []Comparison{c, changed(Metric{Name: "mean", Unit: "ns", Base: 1, New: 1, Method: "none"})}); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&out).ReadAll()
	want := [][]string{
		{"model", "scenario", "mode", "metric", "unit", "base", "new", "change", "lower", "upper", "differs", "decides", "repeats", "repeats_needed", "method", "unlike"},
		{"m", "Server", "PerformanceOnly", "p99", "ns", "0.3333333333333333", "2", "5", "4.5", "5.5", "true", "true", "5", "7", "a, b", "1"},
		{"m", "Server", "PerformanceOnly", "mean", "ns", "1", "1", "0", "", "", "false", "false", "0", "0", "none", "0"},
	}
	if diff := cmp.Diff(want, records); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestSameTraffic: what is compared pair by pair has to be pairs.
func TestSameTraffic(t *testing.T) {
	s := simulation{arrivals: 1, service: 2, load: 0.5, seconds: 20, slower: 1}
	other := s
	other.service = 7
	for _, c := range []struct {
		name   string
		change func(*Run)
		want   bool
	}{
		{"the same", func(*Run) {}, true},
		{"another seed", func(r *Run) {
			e := *r.Results.Test
			e.ScheduleRNGSeed, r.Results.Test = 99, &e
		}, false},
		{"another scenario", func(r *Run) { r.Results.Scenario = "SingleStream" }, false},
		{"no batches", func(r *Run) { r.Charts.Batches = nil }, false},
		{"a batch less", func(r *Run) { r.Charts.Batches = r.Charts.Batches[1:] }, false},
		{"a batch that begins elsewhere", func(r *Run) { r.Charts.Batches[3].StartNS++ }, false},
		{"a batch of other size", func(r *Run) { r.Charts.Batches[3].Queries++ }, false},
	} {
		a, b := s.run(begin), other.run(begin)
		c.change(&a)
		d := decider{base: []Run{a}, new: []Run{b}}
		if got := d.sameTraffic(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestRateParts(t *testing.T) {
	column := make(charts.Column, 101)
	for i := range column {
		column[i] = 4 + float64(i%2)
	}
	column[100] = 1e9 // a run ends somewhere in it
	parts := rateParts(&charts.Charts{Timeline: &charts.Timeline{Completed: column}})
	for i, v := range parts {
		if v != 4.5 {
			t.Errorf("part %d: %g, want 4.5", i, v)
		}
	}
	if len(parts) != rateBatches {
		t.Errorf("%d parts, want %d", len(parts), rateBatches)
	}
	if short := rateParts(&charts.Charts{Timeline: &charts.Timeline{Completed: column[:60]}}); short != nil {
		t.Errorf("parts of six buckets: %v", short)
	}
	if none := rateParts(&charts.Charts{}); none != nil {
		t.Errorf("without a timeline: %v", none)
	}
}

// TestBatchPercentiles: each percentile is compared by its own column, and the mean by the means.
func TestBatchPercentiles(t *testing.T) {
	s := simulation{arrivals: 1, service: 2, load: 0.5, seconds: 20, slower: 1}
	a, b := s.run(begin), s.run(begin.Add(time.Minute))
	for i := range b.Charts.Batches {
		b.Charts.Batches[i].MeanNS *= 2
		for k := range b.Charts.Batches[i].QuantilesNS {
			b.Charts.Batches[i].QuantilesNS[k] *= int64(3 + k)
		}
	}
	list := compared(t, []Run{a}, []Run{b})
	want := map[string]float64{"mean": 1}
	for k, p := range charts.BatchPercentiles() {
		if p <= 0.9 { // of higher ones a batch has too few queries
			want[fmt.Sprintf("p%g", 100*p)] = float64(2 + k)
		}
	}
	for name, change := range want {
		if m := named(t, list, name); !strings.Contains(m.Method, "pairs of batches") || !near(m.Change, change, 1e-9) {
			t.Errorf("%s: %+v, want %g", name, m, change)
		}
	}
}

// What is 10 % slower one way round is as much faster the other way round, and so are its bounds.
func TestSwappedSidesMirror(t *testing.T) {
	one := simulation{arrivals: 1, service: 2, load: 0.7, seconds: 20, slower: 1}
	other := simulation{arrivals: 1, service: 3, load: 0.7, seconds: 20, slower: 1.02}
	for name, sides := range map[string][2][]Run{
		"one run each":      {{one.run(begin)}, {other.run(begin.Add(time.Hour))}},
		"repeats in turns":  {series(5, 0, one, 0.01), series(5, time.Minute, other, 0.01)},
		"repeats not so":    {series(3, 0, one, 0.01), series(3, 100*time.Hour, other, 0.01)},
		"one against three": {{one.run(begin)}, series(3, time.Hour, other, 0.01)},
	} {
		there, back := compared(t, sides[0], sides[1])[0], compared(t, sides[1], sides[0])[0]
		if len(there.Metrics) != len(back.Metrics) || len(there.Metrics) == 0 {
			t.Fatalf("%s: %d metrics, and back %d", name, len(there.Metrics), len(back.Metrics))
		}
		for i, a := range there.Metrics {
			b := back.Metrics[i]
			mirrored := func(x, y float64) bool { return math.Abs((1+x)*(1+y)-1) < 1e-9 }
			if a.Name != b.Name || a.Base != b.New || a.New != b.Base || !mirrored(a.Change, b.Change) || (a.Interval == nil) != (b.Interval == nil) {
				t.Errorf("%s, %s: %+v, and back %+v", name, a.Name, a, b)
				continue
			}
			if a.Interval != nil && (!mirrored(a.Interval.Lower, b.Interval.Upper) || !mirrored(a.Interval.Upper, b.Interval.Lower) || a.Differs() != b.Differs()) {
				t.Errorf("%s, %s: %+v, and back %+v", name, a.Name, a.Interval, b.Interval)
			}
			if tone := map[string]string{"good": "bad", "bad": "good", "": ""}[a.Tone()]; b.Tone() != tone {
				t.Errorf("%s, %s is %q, and back %q", name, a.Name, a.Tone(), b.Tone())
			}
		}
	}
}

func TestHeadline(t *testing.T) {
	p90 := func(change float64, i *Interval, repeats int) []Metric {
		m := Metric{Name: "p90", Unit: "ns", Base: 10e6, New: 10e6 * (1 + change), Change: change, Interval: i, Repeats: repeats, Better: "down"}
		result := m
		result.Name = resultName
		return []Metric{{Name: "mean", Unit: "ns", Base: 1, New: 2, Change: 1}, m, result}
	}
	for _, c := range []struct {
		metrics []Metric
		want    string
	}{
		{nil, ""},
		{p90(-0.05, nil, 0), "p90 −5 %, not confirmed: 9.5 ms against 10 ms"},
		{p90(-0.05, &Interval{-0.06, -0.04}, 5), "p90 better: −5 %, 9.5 ms against 10 ms (95 % interval −6 % to −4 %, 5 pairs)"},
		{p90(0.05, &Interval{0.04, 0.06}, 0), "p90 worse: +5 %, 10.5 ms against 10 ms (95 % interval +4 % to +6 % within one run each; other runs may differ by more)"},
		{p90(0.05, &Interval{-0.04, 0.06}, 5), "no change of p90 beyond noise: 10.5 ms against 10 ms (95 % interval −4 % to +6 %, 5 pairs)"},
		{[]Metric{{Name: resultName, Unit: "/s", Base: 10, New: 20, Change: 1, Better: "up", Interval: &Interval{0.9, 1.1}, Repeats: 2}}, "result better: +100 %, 20/s against 10/s (95 % interval +90 % to +110 %, 2 pairs)"},
	} {
		if got := (&Comparison{Metrics: c.metrics}).Headline(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
