package accuracy

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
)

// A clickLog is a log of as many records as wanted, made while it is read.
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

// scoreManyClicks scores a log of so many predictions, and returns how many bytes more the heap has of the system
// afterwards.
func scoreManyClicks(t testing.TB, records int) (score *ClickScore, bytes uint64) {
	t.Helper()
	const pairs = 270
	var before, after runtime.MemStats
	log := newClickLog(records, pairs)
	debug.FreeOSMemory() // of tests before
	runtime.ReadMemStats(&before)
	score, err := ScoreClicks(log, ClickOptions{Samples: records})
	if err != nil || score.Total != records*pairs {
		t.Fatalf("%+v, %v", score, err)
	}
	runtime.ReadMemStats(&after)
	held := func(m *runtime.MemStats) uint64 { return m.HeapSys - m.HeapReleased }
	return score, held(&after) - min(held(&after), held(&before))
}

// Predictions take little more than two bytes each, however many there are: the log is not kept.
func TestPredictionsTakeTwoBytesEach(t *testing.T) {
	const records = 20_000 // 5.4 million predictions
	_, bytes := scoreManyClicks(t, records)
	if each := float64(bytes) / (records * 270); each > 8 {
		t.Errorf("%.2f bytes a prediction", each)
	}
}

// BenchmarkHundredMillionClicks scores a log of a hundred million predictions, 1.6 GB of it.
func BenchmarkHundredMillionClicks(b *testing.B) {
	const records = 100_000_000 / 270
	var bytes uint64
	for b.Loop() {
		_, bytes = scoreManyClicks(b, records)
	}
	b.ReportMetric(float64(bytes)/1e6, "MB")
	b.ReportMetric(records*270*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpredictions/s")
}
