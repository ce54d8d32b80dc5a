package accuracy

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestAreaIsScikitLearns(t *testing.T) {
	golden := decodeTestdata[struct {
		Cases []struct {
			Name     string
			Labels   []int
			Scores   []float64
			Weights  []float64
			Expected struct {
				AUC   float64 `json:"roc_auc"`
				Error string
			}
			FromFloat32 *struct {
				AUC float64 `json:"roc_auc"`
			} `json:"expected_from_float32_scores"`
		}
	}](t, "roc_auc.json")
	compared := 0
	for _, c := range golden.Cases {
		want := c.Expected.AUC
		if c.FromFloat32 != nil {
			want = c.FromFloat32.AUC
		} else if c.Weights != nil || !distinctAsFloat32(c.Scores) {
			continue // the benchmark has no weights, and its predictions are float32
		}
		compared++
		var counter aucCounter
		for i, score := range c.Scores {
			if err := counter.Add(float32(score), c.Labels[i] == 1); err != nil {
				t.Fatal(err)
			}
		}
		got, err := counter.Area()
		if c.Expected.Error != "" {
			if err == nil {
				t.Errorf("%s: area %v, want an error", c.Name, got)
			}
		} else if math.Abs(got-want) > 1e-12 || err != nil {
			t.Errorf("%s: area %.15f, %v; want %.15f", c.Name, got, err, want)
		}
	}
	if compared < 20 {
		t.Errorf("only %d cases were compared", compared)
	}
}

// distinctAsFloat32 reports whether scores that differ do so after rounding too.
func distinctAsFloat32(scores []float64) bool {
	wide, narrow := map[float64]bool{}, map[float32]bool{}
	for _, score := range scores {
		wide[score], narrow[float32(score)] = true, true
	}
	return len(wide) == len(narrow)
}

// Few distinct predictions, many of them, of both signs: what a definition by pairs says.
func TestAreaIsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var counter aucCounter
	type sample struct {
		p        float32
		positive bool
	}
	var samples []sample
	for range 3000 {
		s := sample{float32(r.IntN(50)-25) / 16, r.IntN(3) == 0}
		if r.IntN(9) == 0 {
			s.p = float32(r.NormFloat64())
		}
		if s.p == 0 && r.IntN(2) == 0 {
			s.p = float32(math.Copysign(0, -1))
		}
		samples = append(samples, s)
		if err := counter.Add(s.p, s.positive); err != nil {
			t.Fatal(err)
		}
	}
	pairs, ordered := 0.0, 0.0
	for _, a := range samples {
		for _, b := range samples {
			if !a.positive || b.positive {
				continue
			}
			pairs++
			switch {
			case a.p > b.p:
				ordered++
			case a.p == b.p:
				ordered += 0.5
			}
		}
	}
	if got, err := counter.Area(); err != nil || math.Abs(got-ordered/pairs) > 1e-12 {
		t.Errorf("area %v, %v; want %v", got, err, ordered/pairs)
	}
	if err := counter.Add(float32(math.NaN()), true); err == nil {
		t.Error("took NaN")
	}
}

func BenchmarkAUC(b *testing.B) {
	const n = 10_000_000
	r := rand.New(rand.NewPCG(1, 2))
	predictions, labels := make([]float32, n), make([]bool, n)
	for i := range predictions {
		x := r.NormFloat64()
		if labels[i] = r.IntN(30) == 0; labels[i] {
			x++
		}
		predictions[i] = float32(1 / (1 + math.Exp(3-x)))
	}
	b.ReportAllocs()
	for b.Loop() {
		var counter aucCounter
		for i, p := range predictions {
			if err := counter.Add(p, labels[i]); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := counter.Area(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpredictions/s")
}

// dayLabels are the labels of day_23, in runs as a trace has them.
type dayLabels struct {
	ends   []int
	labels []bool
}

func (d *dayLabels) Len() int { return len(d.ends) }

func (d *dayLabels) Labels(i int) ([]bool, error) {
	first := 0
	if i > 0 {
		first = d.ends[i-1]
	}
	return d.labels[first:d.ends[i]], nil
}

func readDay(t *testing.T) *dayLabels {
	t.Helper()
	d, n := &dayLabels{}, 0
	for line := range strings.Lines(string(readTestdata(t, "logs/dlrm/dlrm_trace_of_aggregated_samples.txt"))) {
		count, err := strconv.Atoi(strings.TrimSpace(strings.Split(line, ", ")[2]))
		if err != nil {
			t.Fatal(err)
		}
		n += count
		d.ends = append(d.ends, n)
	}
	for line := range strings.Lines(string(readTestdata(t, "logs/dlrm/day_23"))) {
		d.labels = append(d.labels, line[0] == '1')
	}
	return d
}

func TestScoreClicksAgreesWithTheOfficialScript(t *testing.T) {
	score := func(run goldenRun, log Input) (*ClickScore, error) {
		o := ClickOptions{}
		if _, ok := run.option("day-23-file"); ok {
			o.Truth = readDay(t)
		}
		return ScoreClicks(log, o)
	}
	eachRun(t, "dlrm", score, func(t *testing.T, want goldenRun, got *ClickScore) {
		if got.Text() != want.Printed+"\n" || math.Abs(got.Values[0].Value/100-want.AUC) > 1e-12 || got.Good != want.Good || got.Total != want.Total {
			t.Errorf("printed %q, AUC %v, want %q, %v", got.Text(), got.Values[0].Value, want.Printed, want.AUC)
		}
	})
}

func TestPairsThatAreNoneNameTheRecord(t *testing.T) {
	const nan, one = "0000C07F", "0000803F"
	for _, test := range []struct{ name, data, want string }{
		{"a prediction that is NaN", nan + one, "pair 0: a prediction is NaN, want a number"},
		{"a label that is none", one + "00000040", "pair 0: label is 2, want 0 or 1"},
		{"a prediction without an end", "0000807F" + one, "pair 0: a prediction is +Inf, want a number"},
		{"a label that is NaN", one + nan, "pair 0: label is NaN, want 0 or 1"},
		{"a prediction without a label", one, "want a prediction and a label"},
	} {
		_, err := ScoreClicks(Named("log", strings.NewReader(`[{"seq_id":0,"qsl_idx":0,"data":"`+test.data+`"}]`)), ClickOptions{})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "log: record 0 (qsl_idx 0)") {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

// Whole predictions are compared in the precision of others, which does not tell these from their neighbours.
func TestWholePredictionsThatWouldBeRoundedAreRefused(t *testing.T) {
	const one, zero = "0100000000000000", "0000000000000000"
	for data, want := range map[string]string{
		"0000000100000000" + zero + one + one: "",
		"0100000100000000" + zero + one + one: "prediction is 16777217, want one of at most 24 bits",
		"fffffffeffffffff" + zero + one + one: "prediction is -16777217, want one of at most 24 bits",
	} {
		_, err := ScoreClicks(Named("log", strings.NewReader(`[{"seq_id":0,"qsl_idx":0,"data":"`+data+`"}]`)), ClickOptions{DType: Int64})
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", data, err, want)
		}
	}
}

// Values that lie close together are counted where they are many, and sorted where they are few: both find all pairs.
func TestTheAreaOfCloseValuesIsThatOfAllPairs(t *testing.T) {
	for _, n := range []int{10, mostSorted, mostSorted + 1, 3 * mostSorted} {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		var counter aucCounter
		var sides [2][]float32 // negatives, positives
		for i := range n {
			side := i % 2
			v := math.Float32frombits(math.Float32bits(0.5) + uint32(r.IntN(300)+20*side))
			sides[side] = append(sides[side], v)
			if err := counter.Add(v, side == 1); err != nil {
				t.Fatal(err)
			}
		}
		var inOrder float64
		for _, p := range sides[1] {
			for _, q := range sides[0] {
				if p > q {
					inOrder++
				} else if p == q {
					inOrder += 0.5
				}
			}
		}
		want := inOrder / float64(len(sides[0])*len(sides[1]))
		if got, err := counter.Area(); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%d values: area %v, %v; want %v", n, got, err, want)
		}
	}
}
