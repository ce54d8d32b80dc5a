package harness

import (
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Measure is a number that the load generator is judged by.
type Measure struct {
	Name  string
	Test  SelfTest // in a process of its own, so that memory is that of one test
	Busy  bool     // while all cores compute
	Of    func(*SelfTestResult) float64
	Unit  string
	Least bool // less is better
}

// Median is the number that counts of a test that was made several times.
func (m Measure) Median(results []*SelfTestResult) float64 {
	var values []float64
	for _, r := range results {
		values = append(values, m.Of(r))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// Measures are what the load generator is judged by: how much it issues, how late it is, what a query takes
// of memory, and how long the logs take. Several are of the same test.
func Measures() []Measure {
	stream := SelfTest{Scenario: loadgen.SingleStream, TargetQPS: 1e6, Duration: 2 * time.Second, Responses: 1}
	kept := SelfTest{Scenario: loadgen.Offline, TargetQPS: 2e6, Duration: time.Second, Responses: 256, Accuracy: true}
	list := []Measure{
		{Name: "SingleStream, queries per second", Test: stream, Of: (*SelfTestResult).issued, Unit: "/s"},
		{Name: "SingleStream, peak memory per query", Test: stream, Of: (*SelfTestResult).memory, Unit: "B", Least: true},
		{Name: "SingleStream, until the logs of a million queries are written", Test: stream, Of: (*SelfTestResult).logging, Unit: "s", Least: true},
		{Name: "Server at 1,000 QPS, latency p50", Test: serverTest(1e3), Of: (*SelfTestResult).p50, Unit: "ns", Least: true},
		{Name: "Server at 1,000 QPS, latency p99", Test: serverTest(1e3), Of: (*SelfTestResult).p99, Unit: "ns", Least: true},
		{Name: "Server at 10,000 QPS, latency p50", Test: serverTest(1e4), Of: (*SelfTestResult).p50, Unit: "ns", Least: true},
		{Name: "Server at 10,000 QPS, latency p99", Test: serverTest(1e4), Of: (*SelfTestResult).p99, Unit: "ns", Least: true},
		{Name: "Server at 400,000 QPS, mean latency", Test: serverTest(4e5), Of: (*SelfTestResult).mean, Unit: "ns", Least: true},
		{Name: "Server at 400,000 QPS, peak memory per query", Test: serverTest(4e5), Of: (*SelfTestResult).memory, Unit: "B", Least: true},
		{Name: "Offline, 256 responses in a call: until the last call", Test: offlineTest(256), Of: (*SelfTestResult).issued, Unit: "/s"},
		{Name: "Offline, 256 responses in a call: until the logs are written", Test: offlineTest(256), Of: (*SelfTestResult).inAll, Unit: "/s"},
		{Name: "Offline, all responses in a call: until the call", Test: offlineTest(-1), Of: (*SelfTestResult).issued, Unit: "/s"},
		{Name: "Offline, all responses in a call: until the logs are written", Test: offlineTest(-1), Of: (*SelfTestResult).inAll, Unit: "/s"},
		{Name: "Offline, 256 responses in a call: peak memory per sample", Test: offlineTest(256), Of: (*SelfTestResult).memory, Unit: "B", Least: true},
		{Name: "accuracy mode, responses of 4 bytes, until they are written", Test: kept, Of: (*SelfTestResult).inAll, Unit: "/s"},
	}
	for _, qps := range []float64{500, 1e3, 2e3, 4e3, 6e3, 1e4, 2e4, 5e4} {
		test := serverTest(qps)
		test.Duration = time.Second
		name := fmt.Sprintf("Server at %.0f QPS while all cores compute, latency p99", qps)
		list = append(list, Measure{Name: name, Test: test, Busy: true, Of: (*SelfTestResult).p99, Unit: "ns", Least: true})
	}
	return list
}

func serverTest(qps float64) SelfTest {
	return SelfTest{Scenario: loadgen.Server, TargetQPS: qps, Duration: 2 * time.Second, Responses: 1}
}

func offlineTest(responses int) SelfTest {
	return SelfTest{Scenario: loadgen.Offline, TargetQPS: 11e6, Duration: time.Second, Responses: responses}
}

// What is taken of a result.

func (r *SelfTestResult) issued() float64 { return r.IssuedQPS }
func (r *SelfTestResult) mean() float64   { return float64(r.LatencyMeanNS) }
func (r *SelfTestResult) p50() float64    { return float64(r.LatencyP50NS) }
func (r *SelfTestResult) p99() float64    { return float64(r.LatencyP99NS) }
func (r *SelfTestResult) memory() float64 { return float64(r.PeakRSSBytes) / float64(r.Queries) }

// inAll is the rate with the time until the logs are written.
func (r *SelfTestResult) inAll() float64 {
	return float64(r.Queries) / time.Duration(r.DurationNS+r.PostRunNS).Seconds()
}

// logging is the time, in seconds, that the logs of a million queries take.
func (r *SelfTestResult) logging() float64 {
	return float64(r.PostRunNS) / float64(r.Queries) * 1e6 / 1e9
}
