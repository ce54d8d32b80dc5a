package figures

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

func runOf(speed, accuracy float64) report.Line {
	return report.Line{
		Model: "resnet50", Scenario: "Offline", Result: report.Valid, Precision: "fp32", Device: "cpu", Batch: 8, Concurrency: 2,
		SamplesPerSecond: speed, Accuracy: &report.LineAccuracy{Metric: "top-1", Unit: "%", Value: accuracy},
	}
}

// By its definition: a run is on the front unless another one is as fast and as good, and one of the two more. Of runs that are
// the same in both there is one.
func beaten(a report.Line, lines []report.Line, less bool, value func(report.Line) float64) bool {
	for _, b := range lines {
		better := value(b) > value(a)
		if less {
			better = value(b) < value(a)
		}
		asGood := better || value(b) == value(a)
		if b.SamplesPerSecond >= a.SamplesPerSecond && asGood && (b.SamplesPerSecond > a.SamplesPerSecond || better) {
			return true
		}
	}
	return false
}

func TestTheFrontIsThatOfItsDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	type point struct{ x, y float64 }
	for range 200 {
		var lines []report.Line
		for range 2 + random.IntN(12) {
			l := runOf(float64(1+random.IntN(6)), float64(60+random.IntN(6)))
			l.JoulesPerSample = float64(1 + random.IntN(5))
			lines = append(lines, l)
		}
		for _, kind := range []struct {
			prefix string
			less   bool
			value  func(report.Line) float64
		}{
			{"front-", false, func(l report.Line) float64 { return l.Accuracy.Value }},
			{"energy-", true, func(l report.Line) float64 { return l.JoulesPerSample }},
		} {
			want := map[point]bool{}
			for _, l := range lines {
				if !beaten(l, lines, kind.less, kind.value) {
					want[point{l.SamplesPerSecond, kind.value(l)}] = true
				}
			}
			for _, f := range Trades(lines) {
				if !strings.HasPrefix(f.ID, kind.prefix) {
					continue
				}
				check(t, f)
				got := map[point]bool{}
				for i, v := range f.Series[0].Values {
					if !math.IsNaN(v) {
						got[point{f.At[i], v}] = true
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%s: the front is %v, want %v", f.ID, got, want)
				}
				if begin := fmt.Sprintf("Of %d runs, %d ", len(lines), len(want)); !strings.HasPrefix(f.Sentence, begin) {
					t.Errorf("%q, want %q…", f.Sentence, begin)
				}
			}
		}
	}
}

func TestEveryRunIsADotOfItsPrecision(t *testing.T) {
	lines := []report.Line{runOf(10, 76), runOf(40, 70), runOf(20, 75), runOf(30, 71)}
	lines[1].Precision, lines[2].Precision, lines[3].Precision = "int8", "", "int8"
	lines[1].Device, lines[1].Batch, lines[1].Concurrency = "cuda", 64, 4
	list := Trades(lines)
	if len(list) != 1 {
		t.Fatalf("%d figures", len(list))
	}
	f := list[0]
	if f.Title != "resnet50 Offline: speed against top-1" || !slices.Equal(f.At, []float64{10, 20, 30, 40}) || !f.Wide {
		t.Errorf("%q at %v", f.Title, f.At)
	}
	names := []string{"fp32, cpu, batch 8 × 2", "as the model is, cpu, batch 8 × 2", "int8, cpu, batch 8 × 2", "int8, cuda, batch 64 × 4"}
	if !slices.Equal(f.Names, names) {
		t.Errorf("runs are called %q, want %q", f.Names, names)
	}
	none := math.NaN()
	for i, want := range []Series{
		{Label: "front", Kind: Line, Color: Good, Values: Values{76, 75, 71, 70}},
		{Label: "as the model is", Kind: Dots, Color: Main, Values: Values{none, 75, none, none}},
		{Label: "fp32", Kind: Dots, Color: Second, Values: Values{76, none, none, none}},
		{Label: "int8", Kind: Dots, Color: Quiet, Values: Values{none, none, 71, 70}},
	} {
		if got := f.Series[i]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("series %d is %v, want %v", i, got, want)
		}
	}
	if want := "Of 4 runs, 4 are on the front: no other is as fast and as accurate. From slow to fast: " + strings.Join(names, ", ") + "."; f.Sentence != want {
		t.Errorf("%q, want %q", f.Sentence, want)
	}
}

func TestFiguresAreByModelScenarioAndMetric(t *testing.T) {
	var lines []report.Line
	for _, of := range []struct{ model, scenario, metric string }{
		{"b", "Offline", "top-1"}, {"a", "Server", "top-1"}, {"a", "Offline", "top-1"}, {"a", "Server", "mAP"}, {"single", "Server", "mAP"},
	} {
		for i := range 2 {
			l := runOf(float64(10+i), float64(70-i))
			l.Model, l.Scenario, l.Accuracy = of.model, of.scenario, &report.LineAccuracy{Metric: of.metric, Value: float64(70 - i)}
			if lines = append(lines, l); of.model == "single" {
				break
			}
		}
	}
	var got []string
	for _, f := range Trades(lines) {
		got = append(got, f.ID+" "+f.Title)
	}
	want := []string{
		"front-0 b Offline: speed against top-1", "front-1 a Server: speed against top-1",
		"front-2 a Offline: speed against top-1", "front-3 a Server: speed against mAP",
	}
	if !slices.Equal(got, want) {
		t.Errorf("figures %q, want %q", got, want)
	}
}

func TestWhatIsNotShownIsCounted(t *testing.T) {
	invalid, interrupted, partial, none, still := runOf(99, 99), runOf(99, 99), runOf(99, 99), runOf(99, 99), runOf(0, 99)
	invalid.Result, interrupted.Result = report.Invalid, report.Interrupted
	partial.Accuracy.Partial, none.Accuracy = true, nil
	for _, c := range []struct {
		name string
		more []report.Line
		want string // the end of the sentence
	}{
		{"all are", nil, "From slow to fast: fp32, cpu, batch 8 × 2, fp32, cpu, batch 8 × 2."},
		{"one that is INVALID", []report.Line{invalid}, " Not shown: 1 that are not VALID."},
		{"two", []report.Line{interrupted, invalid}, " Not shown: 2 that are not VALID."},
		{"those that are no part of it do not count", []report.Line{partial, none, still}, "From slow to fast: fp32, cpu, batch 8 × 2, fp32, cpu, batch 8 × 2."},
	} {
		for _, first := range []bool{true, false} { // an INVALID run before or behind the others
			lines := []report.Line{runOf(10, 76), runOf(20, 75)}
			if first {
				lines = append(slices.Clone(c.more), lines...)
			} else {
				lines = append(lines, c.more...)
			}
			list := Trades(lines)
			if len(list) != 1 || !strings.HasSuffix(list[0].Sentence, c.want) || len(list[0].At) != 2 {
				t.Errorf("%s: %+v, want …%q", c.name, list, c.want)
			}
		}
	}
	if list := Trades([]report.Line{invalid, interrupted}); len(list) != 0 {
		t.Errorf("runs of which none is VALID: %+v", list)
	}
}

func TestAFrontHasRoomAroundIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []report.Line
		x, y  [2]float64
	}{
		{"two runs", []report.Line{runOf(100, 70), runOf(200, 60)}, [2]float64{90, 210}, [2]float64{58.93, 71.07}},
		{"as good as each other", []report.Line{runOf(100, 50), runOf(200, 50)}, [2]float64{90, 210}, [2]float64{45, 55}},
		{"as fast as each other", []report.Line{runOf(100, 50), runOf(100, 60)}, [2]float64{99, 101}, [2]float64{48.94, 61.06}},
		{"nothing right", []report.Line{runOf(100, 0), runOf(200, 0)}, [2]float64{90, 210}, [2]float64{-1, 1}},
	} {
		f := Trades(c.lines)[0]
		for i, got := range [][2]float64{{f.X.From, f.X.To}, {f.Y.From, f.Y.To}} {
			want := [][2]float64{c.x, c.y}[i]
			if math.Abs(got[0]-want[0]) > 1e-9 || math.Abs(got[1]-want[1]) > 1e-9 {
				t.Errorf("%s: axis %d from %g to %g, want %g to %g", c.name, i, got[0], got[1], want[0], want[1])
			}
		}
	}
}

func TestManyPrecisionsShareFourColours(t *testing.T) {
	var lines []report.Line
	for i := range 6 {
		l := runOf(float64(i+1), 50)
		l.Precision = fmt.Sprintf("p%d", i)
		lines = append(lines, l)
	}
	var got []Color
	for _, s := range Trades(lines)[0].Series[1:] {
		got = append(got, s.Color)
	}
	if want := []Color{Main, Second, Quiet, Ink, Main, Second}; !slices.Equal(got, want) {
		t.Errorf("colours %q, want %q", got, want)
	}
}

func ExampleTrades() {
	line := func(precision string, speed, accuracy float64) report.Line {
		return report.Line{
			Model: "bert", Scenario: "Offline", Result: report.Valid, Precision: precision, Device: "cpu", Batch: 8, Concurrency: 1,
			SamplesPerSecond: speed, Accuracy: &report.LineAccuracy{Metric: "F1", Unit: "%", Value: accuracy},
		}
	}
	for _, f := range Trades([]report.Line{line("fp32", 10, 90.9), line("int8", 25, 90.1), line("fp16", 9, 90.8)}) {
		fmt.Println(f.Title)
		fmt.Println(f.Sentence)
	}
	// Output:
	// bert Offline: speed against F1
	// Of 3 runs, 2 are on the front: no other is as fast and as accurate. From slow to fast: fp32, cpu, batch 8 × 1, int8, cpu, batch 8 × 1.
}
