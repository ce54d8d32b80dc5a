package clienttest

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestPacedClient(t *testing.T) {
	t.Parallel() // it waits for the clock
	s := httptest.NewServer(tokenserver.New(tokenserver.Options{}))
	defer s.Close()
	test := PacedTest{URL: s.URL, QPS: 300, Tokens: 3, Duration: 50 * time.Millisecond}
	if r, err := test.Run(t.Context()); err != nil || r.Queries < 1 || r.Most < 1 || r.Latency99NS <= 0 || r.Sent99NS <= 0 || r.LateP99NS < r.LateP50NS {
		t.Errorf("%+v, %v", r, err)
	}
	test.QPS = -1
	if r, err := test.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "must not be negative") {
		t.Errorf("a negative rate: %+v, %v", r, err)
	}
}

func TestPacedTestFails(t *testing.T) {
	times := &report.Latencies{}
	good := report.Results{
		Performance: &report.Performance{LatencyNS: times, IssueDelayNS: times},
		Generation:  &report.Generation{LatencyFromSendNS: times, Failures: []report.GenerationFailures{{Count: 1, First: "status 500"}}},
	}
	if r, err := pacedResult(&good); !testenv.Names(err, "self-test … status 500") {
		t.Errorf("with a failure: %+v, %v", r, err)
	}
	if r, err := pacedResult(&report.Results{Performance: good.Performance}); !testenv.Names(err, "self-test … no result") {
		t.Errorf("without answers: %+v, %v", r, err)
	}
}
