package accuracy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// logs/dlrmv3 has 60 requests of 96 candidates, one with equal labels and one with equal predictions, and what accuracy.py printed of them
// (torchrec's metrics, torch 1.13).
const goldenRecommendations = "testdata/logs/dlrmv3/"

func scoreRecommendations(records ...Recommendation) (*Score, error) {
	var log strings.Builder
	for i, r := range records {
		fmt.Fprintf(&log, `,{"seq_id":%d,"qsl_idx":%d,"data":"%X"}`, i, i, r.Append(nil))
	}
	return ScoreRequests(Named("log", strings.NewReader("["+strings.TrimPrefix(log.String(), ",")+"]")), 100)
}

func TestScoreRequests(t *testing.T) {
	log := string(testenv.Read(t, goldenRecommendations+"log_a.json.gz"))
	want := strings.Split(strings.TrimSpace(string(testenv.Read(t, goldenRecommendations+"score_a.txt"))), "\n")
	score, err := ScoreRequests(Named("log", strings.NewReader(log)), 60)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, score.Lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if score.Coverage != (Coverage{Samples: 60, Scored: 60}) || len(score.Warnings) > 0 {
		t.Errorf("%+v, warnings %q", score.Coverage, score.Warnings)
	}
	if v := score.Values[0]; !v.LowerIsBetter || len(v.Resampled) != resamples || math.Abs(mean(v.Resampled)-v.Value) > 0.02 {
		t.Errorf("entropy %v, of %d sets of requests %v on average", v.Value, len(v.Resampled), mean(v.Resampled))
	}

	twice, err := ScoreRequests(Named("log", strings.NewReader(strings.TrimSuffix(strings.TrimSpace(log), "]")+","+strings.TrimPrefix(log, "["))), 60)
	if err != nil || twice.Coverage != (Coverage{Samples: 60, Scored: 60, Repeated: 60}) || math.Abs(twice.Values[0].Value-score.Values[0].Value) > 1e-12 || len(twice.Warnings) != 1 {
		t.Errorf("with each request twice: %+v, %v", twice, err)
	}
}

func TestBadRecommendations(t *testing.T) {
	good := Recommendation{Predictions: []float32{0.25, 0.75}, Labels: []float32{0, 1}, Weights: []float32{1, 1}}
	for name, c := range map[string]struct {
		record Recommendation
		want   string
	}{
		"without labels":                 {Recommendation{Predictions: []float32{0.25, 0.75}}, "record 1 (qsl_idx 1): "},
		"a prediction that is no number": {Recommendation{Predictions: []float32{0.25, float32(math.NaN())}, Labels: good.Labels, Weights: good.Weights}, "record 1 (qsl_idx 1): prediction 1 is NaN"},
		"a label between":                {Recommendation{Predictions: good.Predictions, Labels: []float32{0, 0.5}, Weights: good.Weights}, "record 1 (qsl_idx 1): label 1 is 0.5, which must be 0 or 1"},
	} {
		if _, err := scoreRecommendations(good, c.record); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := scoreRecommendations(); err == nil || !strings.Contains(err.Error(), "no record") {
		t.Errorf("an empty log: %v", err)
	}
	score, err := scoreRecommendations(good)
	if want := -math.Log2(0.75); err != nil || math.Abs(score.Values[0].Value-want) > 1e-12 || score.Values[1].Value != 1 || math.Abs(score.Values[2].Value-1) > 1e-8 {
		t.Errorf("one request scores %+v, %v, want %v, 1 and 1", score.Values, err, want)
	}
}

// A response of a run of performance ends with the predictions, one of accuracy with their number.
func TestRecommendationsAreReadAsTheyAreWritten(t *testing.T) {
	for _, r := range []Recommendation{
		{Time: 3, Query: 17, Predictions: []float32{0.5, 0.25}},
		{Time: 9, Query: 349822, Predictions: []float32{0.5}, Labels: []float32{1}, Weights: []float32{1}},
	} {
		got, err := ParseRecommendation(r.Append(nil), r.Labels != nil)
		if diff := cmp.Diff(r, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// Sums are as near as parts of parts can be, in whichever order.
func TestTorchSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		n := i
		if n > 300 {
			n = r.IntN(20_000)
		}
		v, exact := make([]float64, n), 0.0
		for i := range v {
			v[i] = float64(r.IntN(1<<20)) / (1 << 30) // of which all sums are exact
			exact += v[i]
		}
		if got := torchSum(v); got != exact {
			t.Fatalf("%d numbers add up to %v, want %v", n, got, exact)
		}
	}
}

func TestLog2(t *testing.T) {
	for x, want := range map[float64]float64{1: 0, 2: 1, 0.5: -1, 1e-12: -39.86313713864835, 0.9234653057819302: -0.11487033413074128, 0.6972942780568987: -0.5201604518583868} {
		if got := log2(x); got != want {
			t.Errorf("log2(%v) = %v, want %v", x, got, want)
		}
	}
}

func FuzzRecommendation(f *testing.F) {
	f.Add(Recommendation{Time: 1, Query: 2, Predictions: []float32{0.5}, Labels: []float32{1}, Weights: []float32{1}}.Append(nil), true)
	f.Add(Recommendation{Time: 1, Query: 2, Predictions: []float32{0.5}}.Append(nil), false)
	f.Fuzz(func(t *testing.T, data []byte, labelled bool) {
		r, err := ParseRecommendation(data, labelled)
		if err != nil {
			return
		}
		if labelled && (len(r.Labels) != len(r.Predictions) || len(r.Weights) != len(r.Predictions)) {
			t.Errorf("%d predictions, %d labels and %d weights", len(r.Predictions), len(r.Labels), len(r.Weights))
		}
		again, err := ParseRecommendation(r.Append(nil), labelled)
		same := func(a, b []float32) bool {
			return slices.EqualFunc(a, b, func(x, y float32) bool { return x == y || x != x && y != y })
		}
		if labelled && len(r.Labels) == 0 {
			return // which is written without labels
		}
		if err != nil || !same(r.Predictions, again.Predictions) || r.Time != again.Time && r.Time < 1<<24 {
			t.Errorf("%v is read as %v, %v", r, again, err)
		}
	})
}
