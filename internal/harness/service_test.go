package harness

import (
	"errors"
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A caller that gets no answer would wait for ever.
func TestServiceAnswersFailedSamplesWithTheError(t *testing.T) {
	n := newNumbers(1)
	broken := errors.New("the device is gone")
	n.predict = func(int64) error { return broken }
	answers := make(chan error, 1)
	s, err := OpenService(t.Context(), configOf(t, n, loadgen.Offline, loadgen.PerformanceOnly), func(_ int, _ []byte, _ int, err error) { answers <- err })
	testenv.Must(t, err)
	store, err := workload.NewStore(1, s.Workload().Row)
	testenv.Must(t, err)
	testenv.Must(t, s.Start(store))
	s.Submit(0)
	if err := <-answers; !errors.Is(err, broken) {
		t.Errorf("the sample is answered with %v, want %v", err, broken)
	}
	testenv.Must(t, s.Close())
}
