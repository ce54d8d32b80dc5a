package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
)

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

// TestCopiesOfARunAreNoRepeats: five copies of one run each would otherwise be sure of what one run cannot tell.
func TestCopiesOfARunAreNoRepeats(t *testing.T) {
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

func TestARunOnBothSidesIsSaid(t *testing.T) {
	list := compared(t, []Run{plain("a", 0, 10, nil)}, []Run{plain("b", 0, 10, nil)})
	if want := "b is on both sides, and tells nothing of a change."; len(list[0].Notes) != 1 || list[0].Notes[0] != want {
		t.Errorf("notes %q, want %q", list[0].Notes, want)
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

func TestRepeatsTakeTurnsIfEachPairComesAfterTheLast(t *testing.T) {
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
		d := decider{base: c.base, new: c.new}
		if got := d.tookTurns(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestRunsAreComparedInTheOrderOfTheirTime(t *testing.T) {
	list := compared(t, []Run{plain("late", 2, 10, nil), plain("early", 0, 10.1, nil)}, []Run{plain("later", 3, 10, nil), plain("soon", 1, 10.2, nil)})
	if diff := cmp.Diff([][]string{{"early", "late"}, {"soon", "later"}}, [][]string{list[0].Base, list[0].New}); diff != "" {
		t.Error(diff)
	}
	if m := named(t, list, "p50"); m.Method != "t over 2 pairs of runs in turns" || m.Repeats != 2 || len(list[0].Commands) != 0 {
		t.Errorf("%+v, commands %q", m, list[0].Commands)
	}
}

func TestRepeatsThatDidNotTakeTurnsAreMarked(t *testing.T) {
	base := []Run{plain("a", 0, 10, nil), plain("b", 1, 10.1, nil)}
	list := compared(t, base, []Run{plain("c", 8, 10, nil), plain("d", 9, 10.2, nil)})
	if !strings.Contains(strings.Join(list[0].Notes, "\n"), "The repeats did not take turns") {
		t.Errorf("notes %q", list[0].Notes)
	}
	if m := named(t, list, "p50"); m.Decides || m.Repeats != 2 || m.Needed == 0 || !strings.Contains(m.how(), fmt.Sprintf("; %d would show +", m.Needed)) {
		t.Errorf("%+v: %s", m, m.how())
	}
}

// TestBoundsOfDifferentKindsAreDifferent although their sum is the same.
func TestBoundsOfDifferentKindsAreDifferent(t *testing.T) {
	bound := func(latency, first, per int64) func(*report.Results) {
		return func(r *report.Results) {
			r.Test = &report.Test{TargetLatencyNS: latency, FirstTokenLatencyNS: first, PerTokenLatencyNS: per, TargetLatencyPercentile: 0.99}
		}
	}
	for _, c := range []struct {
		name      string
		base, new func(*report.Results)
		want      string
	}{
		{"the same", bound(0, 2e9, 2e8), bound(0, 2e9, 2e8), ""},
		{"exchanged", bound(0, 2e9, 2e8), bound(0, 2e8, 2e9), "2000000000 ns to the first token, 200000000 ns per token, 0.99 of the queries"},
		{"another latency", bound(15e6, 0, 0), bound(16e6, 0, 0), "15000000 ns, 0.99 of the queries"},
		{"none known", bound(15e6, 0, 0), nil, "15000000 ns, 0.99 of the queries"},
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

func TestASideThatIsNotUniformIsADifference(t *testing.T) {
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

func TestWhatIsReadOfASystemIsWhatItSays(t *testing.T) {
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

func TestOfASettingThatIsGivenTwiceTheLastCounts(t *testing.T) {
	r := &report.Results{Settings: []report.Setting{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}, {Key: "b", Value: ""}}}
	for key, want := range map[string]string{"a": "2", "b": "default", "c": "default"} {
		if got := setting(r, key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// TestNumbersThatNobodyMeasuredAreLeftOut: files may hold any, and what is found has to be JSON.
func TestNumbersThatNobodyMeasuredAreLeftOut(t *testing.T) {
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
				if m.Interval != nil || !finite(m.Change) {
					t.Errorf("%s: %+v", c.name, m)
				}
			}
		}
	}
}

func TestAnErrorRateIsBetterBelow(t *testing.T) {
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

// TestWhichNumbersAreCompared follows from the scenario: Offline has no latency of queries, and Server's rate is set.
func TestWhichNumbersAreCompared(t *testing.T) {
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

func TestALatencyOfQueriesGoesBeforeThatOfSamples(t *testing.T) {
	queries := func(r *report.Results) {
		r.Scenario, r.Performance.QueryLatencyNS = "MultiStream", &report.Latencies{P50: 80e6}
	}
	if m := named(t, compared(t, []Run{plain("a", 0, 10, queries)}, []Run{plain("b", 1, 10, queries)}), "p50"); !near(m.Base, 80e6, 1e-9) {
		t.Errorf("p50 %g, want that of queries: 80 ms", m.Base)
	}
}

func TestACommandIsRepeatedWithoutItsFolder(t *testing.T) {
	for given, want := range map[string]string{
		"mlperf run --model m --output x":                           "mlperf run --model m --output base/$i",
		"mlperf run --output=x --force --model m":                   "mlperf run --model m --output base/$i",
		"mlperf run --output x --outputs y --output-names z --form": "mlperf run --outputs y --output-names z --form --output base/$i",
		"mlperf run --output":                                       "mlperf run --output base/$i",
	} {
		commands := inTurns(Run{Run: report.Run{Results: &report.Results{Command: strings.Fields(given)}}}, Run{Run: report.Run{Results: &report.Results{Command: []string{"other one", "$x"}}}})
		whole := "for i in 1 2 3 4 5; do\n  " + want + "\n  'other one' '$x' --output new/$i\ndone\nmlperf compare base -- new"
		if len(commands) != 1 || commands[0] != whole {
			t.Errorf("%s: %q, want %q", given, commands, whole)
		}
	}
	silent, says := plain("a", 0, 10, nil), plain("b", 1, 10, func(r *report.Results) { r.Command = []string{"mlperf"} })
	if a, b := inTurns(silent, says), inTurns(says, silent); a != nil || b != nil {
		t.Errorf("a run that does not say how it was made: %q, %q", a, b)
	}
}

// changed is a comparison with one metric.
func changed(m Metric) Comparison {
	return Comparison{Model: "m", Scenario: "Server", Mode: "PerformanceOnly", Metrics: []Metric{m}}
}

func TestWhatBecomesOfALimit(t *testing.T) {
	above, below := Limit{Metric: "p99", Above: true, Change: 0.05, text: "p99>+5%"}, Limit{Metric: "p99", Change: -0.05, text: "p99<-5%"}
	for _, c := range []struct {
		name      string
		limit     Limit
		metric    Metric
		met, open bool
		want      string
	}{
		{"wholly above", above, Metric{Name: "p99", Interval: &Interval{0.06, 0.1}, Decides: true, Method: "t"}, true, false, "+6 % to +10 %, wholly beyond (t)"},
		{"partly above", above, Metric{Name: "p99", Interval: &Interval{0.05, 0.1}, Decides: true}, false, false, "+5 % to +10 % is not wholly beyond"},
		{"wholly below", below, Metric{Name: "p99", Interval: &Interval{-0.1, -0.06}, Decides: true, Method: "t"}, true, false, "−10 % to −6 %, wholly beyond (t)"},
		{"partly below", below, Metric{Name: "p99", Interval: &Interval{-0.1, -0.05}, Decides: true}, false, false, "−10 % to −5 % is not wholly beyond"},
		{"the other way", below, Metric{Name: "p99", Interval: &Interval{0.06, 0.1}, Decides: true}, false, false, "+6 % to +10 % is not wholly beyond"},
		{"beyond, of too few runs", above, Metric{Name: "p99", Interval: &Interval{0.06, 0.1}, Method: "t over 2"}, false, true, "not decided: it takes 5 repeats each, in turns; this is t over 2"},
		{"no interval", above, Metric{Name: "p99", Method: "too short"}, false, true, "not decided: too short"},
		{"another metric", above, Metric{Name: "p90", Interval: &Interval{1, 2}, Decides: true}, false, true, "the runs have no p99"},
	} {
		o := c.limit.Check(changed(c.metric))
		if want := (Outcome{c.limit.text, "m Server, PerformanceOnly", c.met, c.open, c.want}); o != want {
			t.Errorf("%s: %+v, want %+v", c.name, o, want)
		}
		if c.limit.Of(changed(c.metric)) != (c.metric.Name == "p99") {
			t.Errorf("%s: the limit is of it: %v", c.name, c.limit.Of(changed(c.metric)))
		}
	}
}

func TestAChangeInWords(t *testing.T) {
	for _, c := range []struct {
		name                 string
		m                    Metric
		verdict, span, tone  string
		base, new            string
		withinRuns, isSlower bool
	}{
		{"slower", Metric{Unit: "ns", Base: 1e6, New: 2e6, Change: 1, Interval: &Interval{0.9, 1.1}, Better: "down"}, "+100 %", "+90 % to +110 %", "bad", "1 ms", "2 ms", true, true},
		{"faster", Metric{Unit: "ns", Base: 2e6, New: 1e6, Change: -0.5, Interval: &Interval{-0.6, -0.4}, Better: "down", Repeats: 2}, "−50 %", "−60 % to −40 %", "good", "2 ms", "1 ms", false, true},
		{"more", Metric{Unit: "/s", Base: 10, New: 20, Change: 1, Interval: &Interval{0.9, 1.1}, Better: "up"}, "+100 %", "+90 % to +110 %", "good", "10/s", "20/s", true, false},
		{"less", Metric{Unit: "/s", Base: 20, New: 10, Change: -0.5, Interval: &Interval{-0.6, -0.4}, Better: "up"}, "−50 %", "−60 % to −40 %", "bad", "20/s", "10/s", true, false},
		{"neither better nor worse", Metric{Unit: "/s", Base: 10, New: 20, Change: 1, Interval: &Interval{0.9, 1.1}}, "+100 %", "+90 % to +110 %", "", "10/s", "20/s", true, false},
		{"noise", Metric{Unit: "/s", Base: 10, New: 10, Interval: &Interval{-0.1, 0.1}, Better: "up"}, "~", "−10 % to +10 %", "", "10/s", "10/s", true, false},
		{"not known", Metric{Unit: "/s", Base: 10, New: 10, Better: "up"}, "?", "–", "", "10/s", "10/s", false, false},
		{"points", Metric{Unit: "%", Base: 76, New: 75, Change: -1, Points: true, Interval: &Interval{-1.5, -0.5}, Better: "up"}, "−1 points", "−1.5 points to −0.5 points", "bad", "76 %", "75 %", false, false},
	} {
		base, new := c.m.Values()
		if c.m.Verdict() != c.verdict || c.m.Range() != c.span || c.m.Tone() != c.tone || base != c.base || new != c.new {
			t.Errorf("%s: %q, %q, %q, %q, %q", c.name, c.m.Verdict(), c.m.Range(), c.m.Tone(), base, new)
		}
		if c.m.withinRuns() != c.withinRuns || c.m.slower() != c.isSlower {
			t.Errorf("%s: within two runs %v, a latency that differs %v", c.name, c.m.withinRuns(), c.m.slower())
		}
	}
}

// TestTheTableForProgramsIsExact: CSV has what JSON has.
func TestTheTableForProgramsIsExact(t *testing.T) {
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

func TestTextsOfSeveralComparisonsStandApart(t *testing.T) {
	c := changed(Metric{Name: "p99", Unit: "ns", Base: 1, New: 1})
	c.Base, c.New, c.Commands, c.Notes = []string{"a"}, []string{"b", "c"}, []string{"do it"}, []string{"note"}
	var text, markdown bytes.Buffer
	if err := Text(&text, []Comparison{c, c}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, []Comparison{c}); err != nil {
		t.Fatal(err)
	}
	if want := "note\nTo be sure, in turns:\ndo it\n\nm Server, PerformanceOnly: 2 runs against 1 run\n"; !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, text.String())
	}
	for _, want := range []string{"### m Server, PerformanceOnly: 2 runs against 1 run\n", "| metric | base |", "To be sure, in turns:\n```\ndo it\n```\n"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("no %q in\n%s", want, markdown.String())
		}
	}
	if strings.Contains(text.String(), "What differs") || strings.Contains(text.String(), "NOT LIKE") {
		t.Errorf("nothing differs:\n%s", text.String())
	}
	c.Differences = []Difference{{Key: "engine", Base: "x", New: "y"}}
	text.Reset()
	if err := Text(&text, []Comparison{c}); err != nil || !strings.Contains(text.String(), "\nWhat differs besides:\n") || strings.Contains(text.String(), "! engine") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestTrafficIsTheSameOnlyIfEachBatchIs: what is compared pair by pair has to be pairs.
func TestTrafficIsTheSameOnlyIfEachBatchIs(t *testing.T) {
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
			e.ScheduleSeed, r.Results.Test = 99, &e
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

func TestRatesAreComparedByPartsWithoutTheLast(t *testing.T) {
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

// TestAPercentileIsThatOfTheBatches: each percentile is compared by its own column, and the mean by the means.
func TestAPercentileIsThatOfTheBatches(t *testing.T) {
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
