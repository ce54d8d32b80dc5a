package speech

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestRecordingsFromElsewhereAreWrittenDownByTheirRowsAlone(t *testing.T) {
	const samples = 16000
	rows := audio.Rows(samples)
	script := make([]int, rows)
	script[0], script[5] = 2, 1
	_, sessions, ports := fakes(map[int][]int{rows: script})
	w, err := rnnt().Open(workload.Setup{DatasetDir: recordings(t, samples, 2*samples), Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	row, err := w.Exchange.Complete([]tensor.Shape{{samples}})
	if err != nil || len(w.Exchange.Inputs) != len(row) {
		t.Fatalf("the row is %v, %v", row, err)
	}
	for _, index := range []int{0, 1} { // of the data set: the second one is longer than what is sent
		store, err := workload.NewStore(1, func(int) []workload.Slot { return row })
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		p, err := w.NewPredictor(sessions, 1)
		if err != nil {
			t.Fatal(err)
		}
		r := replies{}
		if err := p.Use(store); err != nil {
			t.Fatal(err)
		}
		if err := p.Predict(t.Context(), []workload.Item{{Index: index}}, r); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if want := "abc."; r[0] != want {
			t.Errorf("written down as sample %d is %q, want %q", index, r[0], want)
		}
	}
	for n, right := range map[int64]bool{audio.MinSamples - 1: false, audio.MinSamples: true, 15 * audio.Rate: true, 15*audio.Rate + 1: false, 1 << 40: false} {
		if _, err := w.Exchange.Complete([]tensor.Shape{{n}}); (err == nil) != right {
			t.Errorf("a recording of %d samples: %v", n, err)
		}
	}
}
