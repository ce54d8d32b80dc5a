package figures

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// columns are a timeline of these rates, in buckets of a second.
func columns(issued, completed []float64) *charts.Charts {
	return &charts.Charts{Timeline: &charts.Timeline{BucketNS: 1e9, Issued: issued, Completed: completed, Outstanding: make(charts.Column, len(issued))}}
}

func repeated(v float64, n int) charts.Column { return slices.Repeat(charts.Column{v}, n) }

func TestRatesAreOfEnoughSamples(t *testing.T) {
	for _, c := range []struct {
		name    string
		buckets int
		rate    float64 // samples in a bucket
		points  int     // of the figure
		width   string
	}{
		{"many in each bucket", 20, 500, 20, "1 s"},
		{"just enough", 20, 150, 20, "1 s"},
		{"one too few", 20, 149, 10, "2 s"},
		{"a third", 40, 50, 13, "3 s"},
		{"so few that ten points are left", 100, 1, 10, "10 s"},
		{"less than ten buckets", 9, 1, 9, "1 s"},
	} {
		rates := repeated(c.rate, c.buckets)
		f := of(t, &report.Results{Scenario: "Server"}, columns(rates, rates))["throughput"]
		if len(f.At) != c.points || !strings.HasSuffix(f.Sentence, "in intervals of "+c.width+".") {
			t.Errorf("%s: %d points, want %d of %s: %s", c.name, len(f.At), c.points, c.width, f.Sentence)
		}
		for _, s := range f.Series {
			if slices.ContainsFunc(s.Values, func(v float64) bool { return v != c.rate }) {
				t.Errorf("%s: %s is %v a second, want %g", c.name, s.Label, s.Values, c.rate)
			}
		}
	}
}

// The rate of a point is what its buckets have, by their time; a shorter rest at the end is none.
func TestRatesAreSumsByTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		c := make(charts.Column, random.IntN(30))
		for i := range c {
			c[i] = float64(random.IntN(100))
		}
		step, seconds := 1+random.IntN(5), 0.25+random.Float64()
		got := perSecond(c, step, seconds)
		if len(got) != len(c)/step {
			t.Fatalf("%d buckets by %d are %d points", len(c), step, len(got))
		}
		for i, v := range got {
			want := 0.0
			for k := range step {
				want += c[i*step+k]
			}
			if math.Abs(v-want/seconds) > 1e-9 {
				t.Errorf("point %d of %v by %d is %g, want %g in %g s", i, c, step, v, want, seconds)
			}
		}
	}
}

func TestTheSentenceAboutThroughputIsAboutWhatWasAnswered(t *testing.T) {
	for _, c := range []struct {
		name, scenario, want string
		target               float64
		issued, completed    charts.Column
		top                  float64 // of the axis
	}{
		{"a target that nothing came near", "Server", "600 samples were answered, 200/s on average, target 900/s; between 190/s and 210/s in intervals of 1 s.", 900,
			charts.Column{190, 210, 200}, charts.Column{190, 210, 200}, 900 * 1.15},
		{"bursts that were due", "Server", "600 samples were answered, 200/s on average, target 100/s; between 190/s and 210/s in intervals of 1 s.", 100,
			charts.Column{500, 50, 50}, charts.Column{190, 210, 200}, 500 * 1.15},
		{"no target", "Server", "600 samples were answered, 200/s on average; between 190/s and 210/s in intervals of 1 s.", 0,
			charts.Column{190, 210, 200}, charts.Column{190, 210, 200}, 210 * 1.15},
		{"in Offline all is due at once, and its target no line", "Offline", "600 samples were answered, 200/s on average; between 190/s and 210/s in intervals of 1 s.", 900,
			charts.Column{600, 0, 0}, charts.Column{190, 210, 200}, 210 * 1.15},
		{"nothing was answered", "SingleStream", "0 samples were answered, 0/s on average; between 0/s and 0/s in intervals of 1 s.", 0,
			charts.Column{1, 0, 0}, charts.Column{0, 0, 0}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := of(t, &report.Results{Scenario: c.scenario, Test: &report.Test{TargetQPS: c.target}}, columns(c.issued, c.completed))["throughput"]
			if f.Sentence != c.want {
				t.Errorf("%q, want %q", f.Sentence, c.want)
			}
			if math.Abs(f.Y.To-c.top) > 1e-9 || f.Y.From != 0 || f.X.To != 3 {
				t.Errorf("axes %+v and %+v, want one to %g", f.X, f.Y, c.top)
			}
			if lines := c.scenario == "Server" && c.target > 0; (len(f.Marks) == 1) != lines || lines && (f.Marks[0].Value != c.target || f.Marks[0].Axis != "y" || !f.Marks[0].Dashed) {
				t.Errorf("marks %+v", f.Marks)
			}
			if f.Wide != (c.scenario != "Server") { // beside it is the queue, but in Offline, where this is what matters, and in SingleStream
				t.Errorf("as wide as the page: %v", f.Wide)
			}
		})
	}
}

func TestWhatIsDueIsDrawnWhereItComesByItself(t *testing.T) {
	for scenario, want := range map[string][]string{
		"Server": {"due", "answered"}, "Offline": {"answered"}, "SingleStream": {"answered"}, "MultiStream": {"answered"},
	} {
		rates := repeated(200, 3)
		var labels []string
		for _, s := range of(t, &report.Results{Scenario: scenario}, columns(rates, rates))["throughput"].Series {
			labels = append(labels, s.Label)
		}
		if !slices.Equal(labels, want) {
			t.Errorf("%s: series %q, want %q", scenario, labels, want)
		}
	}
}

func TestTheQueueNamesItsWorstInstant(t *testing.T) {
	c := columns(repeated(1, 4), repeated(1, 4))
	c.Timeline.Outstanding = charts.Column{1, 2, 1500, 3}
	for _, test := range []struct {
		instances, batch int
		want             string
	}{
		{0, 8, "At most 1,500 samples waited or were being answered at a time, after 2.5 s."},
		{1, 1, "At most 1,500 samples waited or were being answered at a time, after 2.5 s, with 1 worker and batches of up to 1."},
		{3, 32, "At most 1,500 samples waited or were being answered at a time, after 2.5 s, with 3 workers and batches of up to 32."},
	} {
		r := &report.Results{Scenario: "MultiStream"}
		r.Backend.Instances, r.Backend.MaxBatch = test.instances, test.batch
		f := of(t, r, c)["queue"]
		if f.Sentence != test.want || f.Series[0].Kind != Steps || math.Abs(f.Y.To-1725) > 1e-9 {
			t.Errorf("%q on %+v as %s, want %q", f.Sentence, f.Y, f.Series[0].Kind, test.want)
		}
	}
	if f, ok := of(t, &report.Results{Scenario: "SingleStream"}, c)["queue"]; ok {
		t.Errorf("one query at a time has a queue: %+v", f)
	}
	c.Timeline.Outstanding = charts.Column{0, 1, 0, 0}
	if f := of(t, &report.Results{Scenario: "Server"}, c)["queue"]; math.Abs(f.Y.To-4.6) > 1e-9 {
		t.Errorf("a queue of one is drawn as high as the figure: to %g", f.Y.To)
	}
}

func TestDelaysHaveTheirMarkAndRoom(t *testing.T) {
	delay := func(edit func(r *report.Results, c *charts.Charts)) Figure {
		r, c := server()
		edit(r, c)
		return of(t, r, c)["delay"]
	}
	for _, test := range []struct {
		name  string
		edit  func(r *report.Results, c *charts.Charts)
		marks int
		top   float64
	}{
		{"what is allowed is more than the worst", func(*report.Results, *charts.Charts) {}, 1, 15e6},
		{"the worst is more than what is allowed", func(r *report.Results, _ *charts.Charts) { r.Constraints[0].Required.Value = 50 }, 1, 3 * 4000},
		{"nothing is said of it", func(r *report.Results, _ *charts.Charts) { r.Constraints = nil }, 0, 3 * 4000},
		{"another constraint is", func(r *report.Results, _ *charts.Charts) { r.Constraints[0].ID = "duration" }, 0, 3 * 4000},
		{"it has another unit", func(r *report.Results, _ *charts.Charts) { r.Constraints[0].Required.Unit = "queries" }, 0, 3 * 4000},
		{"all of it is next to nothing", func(r *report.Results, c *charts.Charts) { r.Constraints, c.IssueDelay = nil, histogramOf(3, 4) }, 0, 300},
	} {
		f := delay(test.edit)
		if len(f.Marks) != test.marks || math.Abs(f.Y.To-test.top) > 0.02*test.top || f.Y.From != 8 || !f.Y.Log || !f.Wide {
			t.Errorf("%s: marks %+v on an axis %+v, want %d and up to %g", test.name, f.Marks, f.Y, test.marks, test.top)
		}
	}
	for name, edit := range map[string]func(c *charts.Charts){
		"no timeline": func(c *charts.Charts) { c.Timeline = nil }, "no medians": func(c *charts.Charts) { c.Timeline.DelayP50 = nil },
		"no worst": func(c *charts.Charts) { c.Timeline.DelayMax = nil }, "no histogram": func(c *charts.Charts) { c.IssueDelay = nil },
	} {
		if f := delay(func(_ *report.Results, c *charts.Charts) { edit(c) }); f.ID != "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A logarithm needs something; what is not known is not 10 ns for that.
func TestSmallDelaysAreLifted(t *testing.T) {
	got := atLeast(10, charts.Column{0, -3, 9.99, 10, 11, math.NaN()})
	if want := []float64{10, 10, 10, 10, 11}; !slices.Equal(got[:5], want) || !math.IsNaN(got[5]) {
		t.Errorf("%v, want %v and what is not known", got, want)
	}
}

func TestBatchSizesAreShares(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var sizes []charts.Size
		batches, samples, full := 0.0, 0.0, 0.0
		most := 2 + random.IntN(10)
		for size := 1; size <= most; size++ {
			n := random.IntN(50)
			if size == most {
				n++
			}
			sizes = append(sizes, charts.Size{Samples: size, Batches: uint64(n)})
			batches, samples = batches+float64(n), samples+float64(n*size)
			if size == most {
				full = float64(n)
			}
		}
		r := &report.Results{}
		r.Backend.MaxBatch = most
		f := of(t, r, &charts.Charts{BatchSizes: sizes})["batches"]
		for i, v := range f.Series[0].Values {
			if want := 100 * float64(sizes[i].Batches) / batches; math.Abs(v-want) > 1e-9 || f.At[i] != float64(sizes[i].Samples) {
				t.Fatalf("batches of %g are %g %%, want %g", f.At[i], v, want)
			}
		}
		want := fmt.Sprintf("The model ran %s with %s on average; %s of the batches were full (%d).",
			units.Count(batches, "time"), units.Count(samples/batches, "sample"), units.Percent(full/batches), most)
		if f.Sentence != want || f.X.From != 0.4 || f.X.To != float64(most)+0.6 {
			t.Errorf("%q from %g to %g, want %q", f.Sentence, f.X.From, f.X.To, want)
		}
	}
}

func TestBatchesAreDrawnIfThereIsAChoice(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []charts.Size
		batch int
		want  string // the sentence; empty: no figure
	}{
		{"one at a time", []charts.Size{{Samples: 1, Batches: 500}}, 1, ""},
		{"always four", []charts.Size{{Samples: 4, Batches: 500}}, 4, "The model ran 500 times with 4 samples on average; 100 % of the batches were full (4)."},
		{"more than the most", []charts.Size{{Samples: 1, Batches: 1}, {Samples: 8, Batches: 1}}, 4, "The model ran 2 times with 4.5 samples on average; 50 % of the batches were full (4)."},
		{"nobody knows of the most", []charts.Size{{Samples: 1, Batches: 1}, {Samples: 8, Batches: 1}}, 0, "The model ran 2 times with 4.5 samples on average."},
		{"sizes that did not come about", []charts.Size{{Samples: 1, Batches: 0}, {Samples: 2, Batches: 0}}, 2, ""},
		{"nothing", nil, 2, ""},
	} {
		r := &report.Results{}
		r.Backend.MaxBatch = c.batch
		if f := of(t, r, &charts.Charts{BatchSizes: c.sizes})["batches"]; f.Sentence != c.want {
			t.Errorf("%s: %q, want %q", c.name, f.Sentence, c.want)
		}
	}
}

func TestTheAllowedDelayIsThatOfTheGenerator(t *testing.T) {
	quantity := func(v float64, unit string) loadgen.Constraint {
		return loadgen.Constraint{ID: loadgen.ConstraintGenerator, Required: loadgen.Quantity{Value: v, Unit: unit}}
	}
	x := run{r: &report.Results{Constraints: []report.Constraint{{Constraint: quantity(3, "%")}, {Constraint: quantity(7, "ns")}, {Constraint: quantity(9, "ns")}}}}
	if ns, ok := x.allowedDelay(); !ok || ns != 7 {
		t.Errorf("%g, %v, want the first in nanoseconds", ns, ok)
	}
	x.r.Constraints = x.r.Constraints[:1]
	if ns, ok := x.allowedDelay(); ok || ns != 0 {
		t.Errorf("%g, %v, want none", ns, ok)
	}
}
