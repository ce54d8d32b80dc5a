package tune

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func TestTheObjectiveIsWhatTheRulesCompareSystemsBy(t *testing.T) {
	for _, c := range []struct {
		scenario   loadgen.Scenario
		percentile float64
		want       Objective
	}{
		{loadgen.SingleStream, 0.9, Objective{"90th percentile latency", "ms", true}},
		{loadgen.SingleStream, 0.999, Objective{"99.9th percentile latency", "ms", true}},
		{loadgen.MultiStream, 0.99, Objective{"99th percentile query latency", "ms", true}},
		{loadgen.Server, 0.99, Objective{"queries within the bound", "queries/s", false}},
		{loadgen.Offline, 0.99, Objective{"samples", "samples/s", false}},
	} {
		s := settingsOf(c.scenario)
		s.SingleStreamTargetLatencyPercentile, s.MultiStreamTargetLatencyPercentile = c.percentile, c.percentile
		if got := objectiveOf(s); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.scenario, got, c.want)
		}
	}
}

// Values that count nothing come last, whichever way is better.
func TestValuesAreInOneOrder(t *testing.T) {
	for least, want := range map[bool][]float64{
		false: {1e300, 7, 2, 1e-300, 0}, true: {1e-300, 2, 7, 1e300, 0},
	} {
		o := Objective{Least: least}
		got := slices.Clone(want)
		slices.Reverse(got)
		slices.SortStableFunc(got, o.Compare)
		if !slices.Equal(got, want) {
			t.Errorf("least %t: %v, want %v", least, got, want)
		}
		for _, nothing := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			if o.Compare(nothing, 1) <= 0 || o.Compare(1, nothing) >= 0 || o.Compare(nothing, 0) != 0 {
				t.Errorf("least %t: %g is not worse than 1 and like 0", least, nothing)
			}
		}
	}
}

// Every field of the header that is not measured keeps two searches apart, by its name in the file.
func TestEveryFieldOfTheHeaderKeepsSearchesApart(t *testing.T) {
	kind := reflect.TypeFor[Header]()
	for i := range kind.NumField() {
		f := kind.Field(i)
		if f.Anonymous {
			continue
		}
		other := header
		v := reflect.ValueOf(&other).Elem().Field(i)
		switch f.Name {
		case "ModelFiles":
			v.Set(reflect.ValueOf([]string{"b.onnx, 9 bytes"}))
		case "Base":
			v.Set(reflect.ValueOf(Point{Instances: 99}))
		default:
			switch v.Kind() {
			case reflect.String:
				v.SetString("another")
			case reflect.Float64:
				v.SetFloat(0.5)
			default:
				v.SetInt(77)
			}
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want := []string{name}
		if f.Name == "Bound" || f.Name == "Base" {
			want = nil // found by measuring
		}
		if got := header.differences(other); !slices.Equal(got, want) {
			t.Errorf("with another %s, %q differ, want %q", f.Name, got, want)
		}
		if got := other.differences(header); !slices.Equal(got, want) {
			t.Errorf("the other way round, with another %s, %q differ, want %q", f.Name, got, want)
		}
	}
	other := header
	other.Device, other.Machine.Cores, other.Fingerprint = "cuda", 99, "of other settings"
	if got := header.differences(other); !slices.Equal(got, []string{"device", "machine"}) {
		t.Errorf("%q differ: what can be said in words makes the fingerprint no matter", got)
	}
}

func TestTheWinnerBecomesAProfile(t *testing.T) {
	base, fast := Point{Instances: 2, Threads: 1, MaxBatch: 1}, Point{Variant: "int8", Instances: 4, Threads: 2, MaxBatch: 8, MaxDelay: 1500 * time.Microsecond}
	out := &Outcome{
		Search: Search{Scenario: loadgen.Server, Points: []Point{base, fast, {Instances: 9}}, Objective: Objective{"queries within the bound", "queries/s", false}},
		Done: []Measurement{
			{Point: base, Stage: 0, Value: 100}, {Point: fast, Stage: 0, Value: 200}, {Point: Point{Instances: 77}, Stage: 0, Value: 5},
			{Point: fast, Stage: 1, Value: 190}, {Point: base, Stage: 1, Value: 90},
		},
	}
	out.Winner, out.Found = out.Best(out.Done)
	p := out.Profile(subject)
	want := profile.Profile{
		Schema: profile.Schema, Subject: subject, Instances: 4, Threads: 2, MaxBatch: 8, MaxDelay: "1.5ms",
		Objective: profile.Objective{Name: "queries within the bound", Unit: "queries/s"}, Value: 190, Default: 90, Points: 2,
	}
	if *p != want {
		t.Errorf("got  %+v\nwant %+v", *p, want)
	}
	out.Done = out.Done[:4] // the base was not measured beside it
	out.Winner = out.Done[3]
	if p := out.Profile(subject); p.Default != 0 || p.Value != 190 {
		t.Errorf("without the base in the same stage: %+v", p)
	}
}

func TestAProfileNamesTheFileOfItsVariant(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name            string
		q               Request
		variant         string
		path, precision string
	}{
		{"the built-in model", Request{}, "", "", ""},
		{"one file", Request{ModelFiles: []string{"a.onnx"}}, "", filepath.Join(here, "a.onnx"), ""},
		{"one of several", Request{ModelFiles: []string{"a.onnx", "small=b.onnx"}}, "small", filepath.Join(here, "b.onnx"), ""},
		{"a precision of the built-in model", Request{Precisions: []string{"fp32", "int8"}}, "int8", "", "int8"},
		{"a precision of a file", Request{Precisions: []string{"fp32", "int8"}, ModelFiles: []string{"x=a.onnx"}}, "fp32", filepath.Join(here, "a.onnx"), "fp32"},
	} {
		p := &profile.Profile{}
		(&finding{Request: c.q}).complete(p, c.variant)
		if p.ModelPath != c.path || p.Precision != c.precision {
			t.Errorf("%s: file %q in %q, want %q in %q", c.name, p.ModelPath, p.Precision, c.path, c.precision)
		}
	}
}

func TestPointsAreSaidInWords(t *testing.T) {
	for want, p := range map[string]Point{
		"1 × 2 threads, batch 3":                    {Instances: 1, Threads: 2, MaxBatch: 3},
		"4 × 1 threads, batch 16, delay 1.5ms":      {Instances: 4, Threads: 1, MaxBatch: 16, MaxDelay: 1500 * time.Microsecond},
		"int8, 1 × 1 threads, batch 1, delay 250µs": {Variant: "int8", Instances: 1, Threads: 1, MaxBatch: 1, MaxDelay: 250 * time.Microsecond},
	} {
		if got := p.String(); got != want {
			t.Errorf("%+v is %q, want %q", p, got, want)
		}
	}
}

func TestAnOutcomeIsConcludedWhenItIsOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profiles", "p.json")
	won := func(finished bool) *Found {
		point := Point{Instances: 1, Threads: 1, MaxBatch: 1}
		done := []Measurement{{Point: point, Value: 5}}
		return &Found{Path: path, Outcome: &Outcome{Search: Search{Points: []Point{point}}, Done: done, Winner: done[0], Found: true, Finished: finished}}
	}
	f := &finding{}
	f.Bench.Program = "mlperf test"
	if interrupted := won(false); f.conclude(interrupted, subject) != nil || interrupted.Profile == nil {
		t.Errorf("interrupted: %+v", interrupted)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an interrupted search wrote its profile: %v", err)
	}
	if err := f.conclude(won(true), subject); err != nil {
		t.Fatal(err)
	}
	if p, err := profile.Read(path); err != nil || p.Value != 5 || p.Program != "mlperf test" || time.Since(p.Created) > time.Minute {
		t.Errorf("the profile is %+v, %v", p, err)
	}
	nothing := &Found{Path: path, Outcome: &Outcome{Finished: true}}
	var none *NoneError
	if err := f.conclude(nothing, subject); !errors.As(err, &none) || nothing.Profile != nil {
		t.Errorf("nothing was found: %v", err)
	}
	nothing.Finished = false
	if err := f.conclude(nothing, subject); err != nil {
		t.Errorf("nothing was found yet: %v", err)
	}
}
