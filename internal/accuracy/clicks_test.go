package accuracy

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAUCAgreesWithScikitLearn(t *testing.T) {
	g := golden[struct {
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
	}](t, "roc_auc.json.gz")
	compared := 0
	for _, c := range g.Cases {
		want := c.Expected.AUC
		if c.FromFloat32 != nil {
			want = c.FromFloat32.AUC
		} else if c.Weights != nil || !distinctAsFloat32(c.Scores) {
			continue // the benchmark has no weights, and its predictions are float32
		}
		compared++
		var counter aucCounter
		for i, score := range c.Scores {
			if err := counter.add(float32(score), c.Labels[i] == 1); err != nil {
				t.Fatal(err)
			}
		}
		got, err := counter.area()
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

// Close values are in one bucket: a few are sorted by comparing, many by their bytes.
func TestAUCOfCloseValues(t *testing.T) {
	for _, n := range []int{10, 1000} {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		var counter aucCounter
		var sides [2][]float32 // negatives, positives
		for i := range n {
			side := i % 2
			v := math.Float32frombits(math.Float32bits(0.5) + uint32(r.IntN(300)+20*side))
			sides[side] = append(sides[side], v)
			if err := counter.add(v, side == 1); err != nil {
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
		if got, err := counter.area(); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%d values: area %v, %v; want %v", n, got, err, want)
		}
	}
}

func TestScoreClicks(t *testing.T) {
	// A right pair with the label 1 and one with 0, of sample 0, 1, and 0 again.
	right := floats(1, 1, 0, 0)
	log := formatLog([]Record{{QSLIndex: 0, Data: right}, {QSLIndex: 1, Data: right}, {QSLIndex: 0, Data: right}})
	got := must(ScoreClicks(text(log), 3, ClickOptions{Verbose: true}))
	if diff := cmp.Diff([]string{"AUC=100.000%, accuracy=100.000%, good=4, total=4, queries=2", "found and ignored 1 query dupes"}, got.Lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if want := (Coverage{Samples: 3, Scored: 2, Repeated: 1}); got.Coverage != want {
		t.Errorf("coverage is %+v, want %+v", got.Coverage, want)
	}
	got = must(ScoreClicks(logOf(floats(1, 0)), 1, ClickOptions{Truth: labelTable{{true, false}}}))
	if v, _ := got.Lookup("accuracy"); v.Value != 100 || v.Unit != "%" {
		t.Errorf("accuracy of predictions and labels is %v", v)
	}
}

func TestScoreClicksErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	whole := func(v uint64) []byte {
		return fmt.Appendf(nil, "%s\x00\x00\x00\x00\x00\x00\x00\x00", string([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), 0, 0, 0, 0}))
	}
	for _, c := range []struct {
		name string
		data []byte
		o    ClickOptions
		want string
	}{
		{"a prediction of NaN", floats(nan, 1), ClickOptions{}, "pair 0: a prediction is NaN: must be a number"},
		{"an infinite prediction", floats(inf, 1), ClickOptions{}, "pair 0: a prediction is +Inf: must be a number"},
		{"a label of 2", floats(1, 2), ClickOptions{}, "pair 0: label is 2: must be 0 or 1"},
		{"a label of NaN", floats(1, nan), ClickOptions{}, "pair 0: label is NaN: must be 0 or 1"},
		{"a prediction without a label", floats(1), ClickOptions{}, "expected a prediction and a label"},
		{"more predictions than labels", floats(1, 0), ClickOptions{Truth: labelTable{{true}}}, "response has 2 predictions, the sample has 1 pairs"},
		{"an integer that float32 rounds", whole(1<<24 + 1), ClickOptions{DType: Int64}, "prediction is 16777217: must be one of at most 24 bits"},
	} {
		_, err := ScoreClicks(logOf(c.data), 1, c.o)
		t.Run(c.name, func(t *testing.T) { wantError(t, err, "test.json: record 0 (qsl_idx 0)", c.want) })
	}
	_, err := ScoreClicks(logOf(floats(1, 1), floats(0, 0)), 1, ClickOptions{})
	wantError(t, err, "record 1 (qsl_idx 1): the ground truth has only 1 samples")
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
			if err := counter.add(p, labels[i]); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := counter.area(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpredictions/s")
}

// A clickLog is a log that is made while it is read.
type clickLog struct {
	records [][]byte // hexadecimal responses, which are used again and again
	left    int
	n       int
	text    []byte
}

func newClickLog(records, pairs int) *clickLog {
	r := rand.New(rand.NewPCG(1, 2))
	l := &clickLog{left: records, text: []byte("[")}
	for range 64 {
		data := make([]byte, 0, 8*pairs)
		for range pairs {
			label, x := float32(0), r.NormFloat64()
			if r.IntN(30) == 0 {
				label, x = 1, x+1
			}
			for _, v := range []float32{float32(1 / (1 + math.Exp(3-x))), label} {
				bits := math.Float32bits(v)
				data = append(data, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
			}
		}
		l.records = append(l.records, []byte(hex.EncodeToString(data)))
	}
	return l
}

func (l *clickLog) Read(to []byte) (int, error) {
	for len(l.text) == 0 {
		if l.left < 0 {
			return 0, io.EOF
		}
		separator := ","
		if l.left--; l.left < 0 {
			l.text = append(l.text, "]"...)
			break
		} else if l.n == 0 {
			separator = ""
		}
		l.text = fmt.Appendf(l.text, "%s{ \"seq_id\" : %d, \"qsl_idx\" : %d, \"data\" : \"", separator, l.n, l.n)
		l.text = append(append(l.text, l.records[l.n%len(l.records)]...), "\" }\n"...)
		l.n++
	}
	n := copy(to, l.text)
	l.text = append(l.text[:0], l.text[n:]...)
	return n, nil
}

func (*clickLog) Name() string { return "log" }

// scoreManyClicks scores a log of some records and returns the growth of the heap in bytes.
func scoreManyClicks(t testing.TB, records int) uint64 {
	t.Helper()
	const pairs = 270
	var before, after runtime.MemStats
	log := newClickLog(records, pairs)
	debug.FreeOSMemory() // of tests before
	runtime.ReadMemStats(&before)
	score, err := ScoreClicks(log, records, ClickOptions{})
	if err != nil || !strings.Contains(score.Lines[0], fmt.Sprintf("total=%d,", records*pairs)) {
		t.Fatalf("%+v, %v", score, err)
	}
	runtime.ReadMemStats(&after)
	held := func(m *runtime.MemStats) uint64 { return m.HeapSys - m.HeapReleased }
	return held(&after) - min(held(&after), held(&before))
}

// Predictions take little more than two bytes each: the log is not kept.
func TestClicksTakeTwoBytesEach(t *testing.T) {
	const records = 20_000 // 5.4 million predictions
	bytes := scoreManyClicks(t, records)
	if each := float64(bytes) / (records * 270); each > 8 {
		t.Errorf("%.2f bytes a prediction", each)
	}
}

// BenchmarkHundredMillionClicks scores a log of a hundred million predictions, 1.6 GB of it.
func BenchmarkHundredMillionClicks(b *testing.B) {
	const records = 100_000_000 / 270
	var bytes uint64
	for b.Loop() {
		bytes = scoreManyClicks(b, records)
	}
	b.ReportMetric(float64(bytes)/1e6, "MB")
	b.ReportMetric(records*270*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpredictions/s")
}
