package accuracy

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A frechetCase is two tables of features with what NumPy and SciPy make of them (testdata/make_images.py).
type frechetCase struct {
	Name             string
	Width            int
	A, B             []float32
	Mean, Covariance []float64 // of A
	SQRTM            *float64  `json:"sqrtm"` // as the reference computes it; nil: it finds no number
	Roots            float64   // from eigenvalues alone
}

type imagesGolden struct {
	Cases []frechetCase
	Clips []struct {
		Image, Text []float32
		Score       float64
	}
	Printed struct {
		Values   []float64
		Distance float64
		Line     string
	}
}

func statisticsOf(t *testing.T, width int, values []float32) FeatureStatistics {
	t.Helper()
	table := &FeatureTable{}
	for at := 0; at < len(values); at += width {
		if err := table.Add(values[at : at+width]); err != nil {
			t.Fatal(err)
		}
	}
	s, err := table.Statistics()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStatisticsAgreeWithNumPy(t *testing.T) {
	for _, c := range golden[imagesGolden](t, "images.json.gz").Cases {
		got := statisticsOf(t, c.Width, c.A)
		largest := 0.0
		for _, v := range c.Covariance {
			largest = max(largest, math.Abs(v))
		}
		for i, want := range append(append([]float64{}, c.Mean...), c.Covariance...) {
			if v := append(append([]float64{}, got.Mean...), got.Covariance...)[i]; math.Abs(v-want) > 1e-12*max(largest, 1) {
				t.Errorf("%s: number %d is %v, want %v", c.Name, i, v, want)
			}
		}
	}
}

// By way of singular values the distance is exact; scipy's square root is off in the eighth digit if
// the features outnumber the images.
func TestFrechetDistanceAgreesWithSciPy(t *testing.T) {
	for _, c := range golden[imagesGolden](t, "images.json.gz").Cases {
		t.Run(c.Name, func(t *testing.T) {
			a, b := statisticsOf(t, c.Width, c.A), statisticsOf(t, c.Width, c.B)
			scale := 0.0
			for i := range c.Width {
				scale += a.Covariance[i*c.Width+i] + b.Covariance[i*c.Width+i]
			}
			for _, pair := range [][2]FeatureStatistics{{a, b}, {b, a}} {
				got, err := FrechetDistance(pair[0], pair[1])
				if err != nil || math.Abs(got-c.Roots) > 1e-8*scale {
					t.Errorf("the distance is %v, %v, want %v", got, err, c.Roots)
				}
				if c.SQRTM != nil && math.Abs(got-*c.SQRTM) > 1e-6*scale {
					t.Errorf("the distance is %v, the reference's %v", got, *c.SQRTM)
				}
			}
		})
	}
}

func TestCLIPSimilarity(t *testing.T) {
	for _, c := range golden[imagesGolden](t, "images.json.gz").Clips {
		if got, err := CLIPSimilarity(c.Image, c.Text); err != nil || math.Abs(got-c.Score) > 1e-4 { // of 100; NumPy's are float32
			t.Errorf("the similarity of %d features is %v, %v, want %v", len(c.Image), got, err, c.Score)
		}
	}
}

func TestImageScore(t *testing.T) {
	want := golden[imagesGolden](t, "images.json.gz").Printed
	s, err := ImageScore(want.Values, want.Distance, Coverage{Samples: 40, Scored: 33})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{want.Line}, s.Lines); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
	if fid, ok := s.Lookup(FIDScore); !ok || fid.Value != want.Distance || !fid.LowerIsBetter {
		t.Errorf("%s is %+v", FIDScore, fid)
	}
	if _, err := ImageScore(nil, 1, Coverage{}); err == nil {
		t.Error("no image has a score")
	}
}

func TestFeatureErrors(t *testing.T) {
	unit := FeatureStatistics{Mean: []float64{0, 0}, Covariance: []float64{1, 0, 0, 1}}
	for _, c := range []struct {
		name, want string
		a, b       FeatureStatistics
	}{
		{"nothing", "a mean of 0 features", FeatureStatistics{}, unit},
		{"another size", "statistics of 2 and of 1 features", unit, FeatureStatistics{Mean: []float64{0}, Covariance: []float64{1}}},
		{"a covariance of another size", "a covariance of 3 numbers", unit, FeatureStatistics{Mean: []float64{0, 0}, Covariance: []float64{1, 0, 1}}},
		{"no number", "number 1 of the statistics is NaN", unit, FeatureStatistics{Mean: []float64{0, math.NaN()}, Covariance: unit.Covariance}},
		{"an infinite variance", "number 3 of the statistics is +Inf", FeatureStatistics{Mean: []float64{0, 0}, Covariance: []float64{1, 0, 0, math.Inf(1)}}, unit},
		{"a negative variance of the second", "negative eigenvalues", unit, FeatureStatistics{Mean: []float64{0, 0}, Covariance: []float64{1, 0, 0, -1}}},
		{"a negative variance of the first", "negative eigenvalues", FeatureStatistics{Mean: []float64{0, 0}, Covariance: []float64{1, 0, 0, -1}}, unit},
	} {
		if d, err := FrechetDistance(c.a, c.b); !testenv.Names(err, c.want) {
			t.Errorf("%s: %v, %v, want %q", c.name, d, err, c.want)
		}
	}
	zero := FeatureStatistics{Mean: []float64{3, 4}, Covariance: make([]float64, 4)}
	if d, err := FrechetDistance(unit, zero); err != nil || d != 27 {
		t.Errorf("the distance from a point is %v, %v, want 25 and two variances", d, err)
	}
	table := &FeatureTable{}
	if err := table.Add(nil); err == nil || table.Len() != 0 {
		t.Errorf("an image without features: %v, %d rows", err, table.Len())
	}
	if err := table.Add([]float32{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := table.Add([]float32{1}); !testenv.Names(err, "1 features … 2") {
		t.Errorf("a row of another size: %v", err)
	}
	if _, err := table.Statistics(); err == nil || !strings.Contains(err.Error(), "of 1 images") {
		t.Errorf("the covariance of one image: %v", err)
	}
	for _, c := range [][2][]float32{{{1}, {1, 2}}, {{}, {}}, {{0, 0}, {1, 1}}, {{1, 1}, {0, 0}}, {{float32(math.NaN())}, {1}}} {
		if v, err := CLIPSimilarity(c[0], c[1]); err == nil {
			t.Errorf("the similarity of %v and %v is %v", c[0], c[1], v)
		}
	}
}

// The real size: 2048 features of Inception-v3.
func BenchmarkFrechetDistance(b *testing.B) {
	const width, images = 2048, 3000
	table := &FeatureTable{}
	row := make([]float32, width)
	state := uint32(1)
	for range images {
		for k := range row {
			state = state*1664525 + 1013904223
			row[k] = float32(state>>8) / (1 << 24)
		}
		if err := table.Add(row); err != nil {
			b.Fatal(err)
		}
	}
	s, err := table.Statistics()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FrechetDistance(s, s); err != nil {
			b.Fatal(err)
		}
	}
}
