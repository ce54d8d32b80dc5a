package harness

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

func TestAModelFasterThanTheClockIsCalibratedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.SingleStream, loadgen.AccuracyOnly)
		cfg.Engine = engine(t, simulated.Config{})
		r := newRun(cfg)
		defer r.close()
		if err := r.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.warmUp(t.Context()); err != nil || r.warm.latency < 1 {
			t.Errorf("latency %v, error %v", r.warm.latency, err)
		}
	})
}

func TestSamplesToMeasureWithAreOfAllSizes(t *testing.T) {
	w := (&toySequences{samples: 70}).workload() // 10 of each length from 1 to 7
	sum := 0
	for i, index := range typical(w, 7) {
		length := w.Length(index)
		if sum += length; i == 0 && length != 4 {
			t.Errorf("the first sample is of length %d, want one in the middle", length)
		}
	}
	if sum < 26 || sum > 30 {
		t.Errorf("seven samples have %d numbers in all, want about 28", sum)
	}
	if got := typical(w, 1000); len(got) != 70 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 70 {
		t.Errorf("of all samples there are %d", len(got))
	}
	if got := typical(newNumbers(100).workload(), 3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("of samples of the same size %v are taken", got)
	}
}

// What a device compiles for each size of a batch it compiles before the test.
func TestEveryWorkerIsWarmedUpWithEverySize(t *testing.T) {
	for _, test := range []struct {
		name       string
		shapeInput shapeInput
		size       int
		want       []int
	}{
		{"Server", shapeInput{scenario: loadgen.Server}, 3, []int{3, 2, 1}},
		{"Offline", shapeInput{scenario: loadgen.Offline}, 4, []int{4}},
		{"SingleStream", shapeInput{scenario: loadgen.SingleStream}, 4, []int{1}},
		{"MultiStream", shapeInput{scenario: loadgen.MultiStream, samplesPerQuery: 8}, 3, []int{3, 2}},
		{"MultiStream in one batch", shapeInput{scenario: loadgen.MultiStream, samplesPerQuery: 8}, 16, []int{8}},
		{"a fixed batch", shapeInput{scenario: loadgen.Server, fixed: 8}, 8, []int{8}},
	} {
		if got := test.shapeInput.sizes(test.size); !slices.Equal(got, test.want) {
			t.Errorf("%s in batches of %d: %v, want %v", test.name, test.size, got, test.want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.MaxBatch = 3
		r := newRun(cfg)
		defer r.close()
		if err := r.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for i, p := range r.model.predictors {
			r.model.predictors[i].Predictor = sizesOf{p.Predictor, &sizes}
		}
		if err := r.tryModel(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []int{3, 2, 1, 3, 2, 1}; !slices.Equal(sizes[:min(6, len(sizes))], want) {
			t.Errorf("batches of %v, want two workers with %v", sizes, want)
		}
	})
}

// sizesOf keeps the sizes of the batches of a predictor.
type sizesOf struct {
	workload.Predictor
	sizes *[]int
}

func (s sizesOf) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	*s.sizes = append(*s.sizes, len(items))
	return s.Predictor.Predict(ctx, items, reply)
}
