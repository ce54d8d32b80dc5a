package oipserver

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// counters count requests by how they ended.
type counters struct {
	ok   atomic.Uint64
	fail [protocol.TimedOut + 1]atomic.Uint64
}

func (c *counters) answered() { c.ok.Add(1) }

func (c *counters) failed(code protocol.Code) { c.fail[code].Add(1) }

// writeMetrics answers Prometheus.
func (s *Server) writeMetrics(w http.ResponseWriter, _ *http.Request) error {
	var b strings.Builder
	metric := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	metric("mlperf_serve_requests_total", "counter", "Requests by the HTTP status of their end.")
	fmt.Fprintf(&b, "mlperf_serve_requests_total{status=\"200\"} %d\n", s.requests.ok.Load())
	for code := protocol.Internal; code <= protocol.TimedOut; code++ {
		fmt.Fprintf(&b, "mlperf_serve_requests_total{status=\"%d\"} %d\n", code.HTTP(), s.requests.fail[code].Load())
	}
	metric("mlperf_serve_ready", "gauge", "1 if requests are taken.")
	ready := 0
	if s.ready() {
		ready = 1
	}
	fmt.Fprintf(&b, "mlperf_serve_ready %d\n", ready)
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`) // as Prometheus wants labels
	for _, m := range []struct {
		name, help string
		value      func(protocol.ModelStatistics) any
	}{
		{"mlperf_serve_inferences_total", "Samples that were answered.", func(s protocol.ModelStatistics) any { return s.InferenceCount }},
		{"mlperf_serve_executions_total", "Runs of the model.", func(s protocol.ModelStatistics) any { return s.ExecutionCount }},
		{"mlperf_serve_queue_seconds_total", "Time that samples waited.",
			func(s protocol.ModelStatistics) any { return float64(s.InferenceStats.Queue.NS) / 1e9 }},
		{"mlperf_serve_compute_seconds_total", "Time that samples were computed.",
			func(s protocol.ModelStatistics) any { return float64(s.InferenceStats.ComputeInfer.NS) / 1e9 }},
	} {
		metric(m.name, "counter", m.help)
		for _, name := range slices.Sorted(maps.Keys(s.models)) {
			fmt.Fprintf(&b, "%s{model=\"%s\"} %v\n", m.name, quote.Replace(name), m.value(s.models[name].Statistics()))
		}
	}
	return writeText(w, "text/plain; version=0.0.4", []byte(b.String()))
}
