package compare

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/testenv"
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
	p.Effective = loadgen.EffectiveSettings{Scenario: loadgen.Server, Mode: loadgen.PerformanceOnly, TargetQPS: rate, TargetLatency: time.Second, TargetLatencyPercentile: 0.99, SamplesPerQuery: 1, ScheduleRNGSeed: s.arrivals}
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
	t.Fatalf("there is no %s in %+v", name, list[0].Metrics)
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

func TestTheMethodFollowsFromWhatThereIs(t *testing.T) {
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
		{"no charts", []Run{short.run(begin)}, []Run{bare}, "no charts.json: repeats would tell", false, false},
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
	if o := limit.Check(list[0]); o.Met || !strings.Contains(o.Reason, "it takes 5 repeats each, in turns") {
		t.Errorf("%+v", o)
	}
	list = compared(t, series(5, 0, fast, 0.01), series(5, time.Minute, slow, 0.01))
	if o := limit.Check(list[0]); !o.Met || !strings.Contains(o.Reason, "wholly beyond (t over 5 pairs of runs in turns)") {
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

func TestWhatDiffersIsSaidFirst(t *testing.T) {
	s := simulation{1, 2, 0.5, 20, 1}
	a, b := s.run(begin), s.run(begin)
	b.Results.Host, b.Results.Rules, b.Results.Caveats = "cloud", "v5.1", []string{"a quick run"}
	b.Results.Input.Precision, b.Results.Settings = "int8", []report.Setting{{Key: "target_qps", Value: "50 /s"}}
	list := compared(t, []Run{a}, []Run{b})
	var unlike []string
	for _, d := range list[0].Unlike() {
		unlike = append(unlike, d.Key)
	}
	if strings.Join(unlike, ",") != "host,rules,marks" {
		t.Errorf("unlike %v", unlike)
	}
	var out bytes.Buffer
	if err := Text(&out, list); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	last := 0
	for _, want := range []string{"NOT LIKE WITH LIKE", "! host", "cloud", "! marks", "precision", "int8", "target_qps", "default", "50 /s", "METRIC", "p90", "To be sure, in turns", "mlperf run --output base/$i"} {
		at := strings.Index(text[last:], want)
		if at < 0 {
			t.Fatalf("there is no %q after %q", want, text[:last])
		}
		last += at
	}
	if len(compared(t, []Run{a}, []Run{s.run(begin)})[0].Differences) != 0 {
		t.Error("equal runs differ")
	}
}

func TestWhatWasCalibratedIsNoDifference(t *testing.T) {
	s := simulation{1, 2, 0.5, 20, 1}
	for _, c := range []struct {
		key, origin string
		want        int
	}{
		{"target_latency", "calibration", 0}, {"target_latency", "user.conf", 1}, {"target_qps", "calibration", 1},
	} {
		a, b := s.run(begin), s.run(begin)
		a.Results.Settings = []report.Setting{{Key: c.key, Value: "10.5", Origin: c.origin}}
		b.Results.Settings = []report.Setting{{Key: c.key, Value: "11.25", Origin: c.origin}}
		if got := compared(t, []Run{a}, []Run{b})[0].Differences; len(got) != c.want {
			t.Errorf("%s by %s: %v, want %d differences", c.key, c.origin, got, c.want)
		}
	}
}

func TestRunsWithoutAPartnerAreNamed(t *testing.T) {
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

func TestAccuracyIsComparedSampleBySample(t *testing.T) {
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
		{"a score of its own", &report.Accuracy{Metric: "accuracy"}, &report.Accuracy{Metric: "accuracy"}, "no answers sample by sample are kept", false},
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

// TestScoresOfOtherKindsAreComparedOverSetsOfSamples: mAP, BLEU and F1 keep what they are of the same sets.
func TestScoresOfOtherKindsAreComparedOverSetsOfSamples(t *testing.T) {
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
		{"sets of another number", score(21, 0, 200), score(20, 0, 100), "no answers sample by sample are kept of mAP", false},
		{"a file that was cut", score(21, 0, 200), broken, "no answers sample by sample are kept of mAP", false},
		{"no number", infinite, score(20, 0, 200), "no answers sample by sample are kept of mAP", false},
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

func TestThroughputNeedsPartsThatDoNotDependOnEachOther(t *testing.T) {
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
	if m.Interval != nil || m.Verdict() != "?" {
		t.Errorf("parts that depend on each other: %+v", m)
	}
}

func TestLimits(t *testing.T) {
	for text, want := range map[string]Limit{
		"p99>+5%": {Metric: "p99", Above: true, Change: 0.05}, "samples/s < -3 %": {Metric: "samples/s", Change: -0.03},
		"accuracy<−0.5%": {Metric: "accuracy", Change: -0.5}, "ttft p99>10%": {Metric: "ttft p99", Above: true, Change: 0.1},
	} {
		got, err := ParseLimit(text)
		if got.text = ""; err != nil || got != want {
			t.Errorf("ParseLimit(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "want a metric", "p99": "want a metric", ">5%": "want a metric", "p99>5": "want a signed number of percent", "p99>five%": "want a signed number",
		"p98>5%": `unknown metric "p98", want one of samples/s, metric, accuracy, mean, p50`, "p99>NaN%": "want a signed number", "p99>1e999%": "want a signed number",
	} {
		if _, err := ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseLimit(%q): %v, want an error with %q", text, err, want)
		}
	}
}

func TestNeededRepeatsShowTheChange(t *testing.T) {
	for _, test := range []struct {
		d, s float64
		want int
	}{{0.02, 0.01, 4}, {0.01, 0.02, 18}, {0, 0.01, 0}, {1e-9, 1, 0}} {
		if got := needed(test.d, test.s); got != test.want {
			t.Errorf("needed(%g, %g) = %d, want %d", test.d, test.s, got, test.want)
		}
	}
}

func TestEveryFormatHasTheMetrics(t *testing.T) {
	s := simulation{1, 2, 0.5, 20, 1}
	list := compared(t, []Run{s.run(begin)}, []Run{s.run(begin)})
	for name, print := range map[string]func(io.Writer, []Comparison) error{"text": Text, "markdown": Markdown, "csv": CSV} {
		var out bytes.Buffer
		if err := print(&out, list); err != nil || !strings.Contains(out.String(), "p99") {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
	text, err := json.Marshal(list)
	var again []Comparison
	if err != nil || json.Unmarshal(text, &again) != nil || again[0].Metrics[0].Name != "mean" {
		t.Errorf("json: %v %s", err, text)
	}
}

// FuzzParseLimit never panics, and what it accepts is accepted again.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"p99>+5%", "accuracy<-0.5%", "samples/s<1e300%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLimit(text)
		if err != nil {
			return
		}
		if again, err := ParseLimit(l.String()); err != nil || again != l {
			t.Fatalf("%q: %+v, then %+v, %v", text, l, again, err)
		}
	})
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
