package charts

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Of a column four digits are kept, of any number, and what is nothing stays so.
func TestColumnsKeepFourDigitsOfAnyNumber(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 7))
	for range 200 {
		column := make(Column, rnd.IntN(20))
		for i := range column {
			switch rnd.IntN(6) {
			case 0:
				column[i] = math.NaN()
			case 1:
				column[i] = float64(rnd.IntN(10000))
			default:
				column[i] = math.Pow(10, rnd.Float64()*40-20) * (1 + rnd.Float64())
			}
		}
		data, err := json.Marshal(column)
		if err != nil {
			t.Fatal(err)
		}
		var back Column
		if err := json.Unmarshal(data, &back); err != nil || len(back) != len(column) {
			t.Fatalf("%s: %v, %v", data, back, err)
		}
		for i, v := range column {
			if math.IsNaN(v) != math.IsNaN(back[i]) || math.Abs(back[i]-v) > 0.0005*math.Abs(v)*(1+1e-9) {
				t.Errorf("%v becomes %v", v, back[i])
			}
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(data) {
			t.Errorf("%s becomes %s, %v", data, again, err)
		}
		value, at := back.Max()
		for i, v := range back {
			if v > value || at >= 0 && v == value && i < at {
				t.Errorf("the largest of %s is %v at %d", data, value, at)
			}
		}
	}
}

// Batches are consecutive parts of nearly the same size, and have all queries.
func TestBatchesHaveAllQueriesOnce(t *testing.T) {
	for _, n := range []int{batches, batches + 1, 2*batches - 1, 12345} {
		s := source(loadgen.Server, queue(uint64(n), n, 100))
		c := s.Charts()
		total, least, most := uint64(0), uint64(math.MaxUint64), uint64(0)
		for i, b := range c.Batches {
			total, least, most = total+b.Queries, min(least, b.Queries), max(most, b.Queries)
			if i > 0 && b.StartNS <= c.Batches[i-1].StartNS || len(b.QuantilesNS) != len(BatchPercentiles()) || !slices.IsSorted(b.QuantilesNS) {
				t.Errorf("%d queries: batch %d is %+v", n, i, b)
			}
		}
		if len(c.Batches) != batches || total != uint64(n) || most-least > 1 {
			t.Errorf("%d queries: %d batches of %d to %d with %d in all", n, len(c.Batches), least, most, total)
		}
	}
	if c := source(loadgen.Server, queue(1, batches-1, 100)); c.Charts() != nil && c.Charts().Batches != nil {
		t.Errorf("fewer queries than batches have %d", len(c.Charts().Batches))
	}
}

// A run's percentile lies in its own interval, and those of it are in order.
func TestPercentilesLieInTheirIntervals(t *testing.T) {
	for seed := range uint64(5) {
		c := source(loadgen.Server, queue(seed, 20000, 200)).Charts()
		if !slices.IsSortedFunc(c.Percentiles, func(a, b Percentile) int { return int(math.Copysign(1, a.Percentile-b.Percentile)) }) {
			t.Errorf("percentiles are not in order: %+v", c.Percentiles)
		}
		for _, p := range c.Percentiles {
			slack := p.ValueNS / 100 // of what is counted in buckets
			if p.LowerNS > 0 && (p.LowerNS > p.ValueNS+slack || p.UpperNS < p.ValueNS-slack) || p.Effective > 20000 || p.Effective < 0 {
				t.Errorf("%+v is not in its interval", p)
			}
		}
	}
}

func TestChartsThatCannotBeAreRefused(t *testing.T) {
	good, err := json.Marshal(source(loadgen.Server, queue(3, 2000, 100)).Charts())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"schema":"`, `"schema":"x`, "schema is "}, {`"quantiles_ns":[`, `"quantiles_ns":[1,`, "batch 1 has "}, {`"bucket_ns":`, `"bucket_ns":-`, "timeline: "},
		{`"issued_samples":[`, `"issued_samples":[1,`, "timeline: "}, {`{`, `[`, "invalid character"},
	} {
		text := strings.Replace(string(good), c.old, c.new, 1)
		if text == string(good) {
			t.Fatalf("there is no %s in %.300s", c.old, good)
		}
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %s: %v, want %q", c.new, err, c.want)
		}
	}
}
