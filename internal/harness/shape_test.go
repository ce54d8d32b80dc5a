package harness

import (
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func TestWhatIsLeftOpenFollowsFromTheScenarioAndTheCores(t *testing.T) {
	const single, multi, server, offline = loadgen.SingleStream, loadgen.MultiStream, loadgen.Server, loadgen.Offline
	for _, test := range []struct {
		name       string
		shapeInput shapeInput
		want       shape
	}{
		{"one query at a time has all cores", shapeInput{scenario: single, cores: 8}, shape{1, 8, 1}},
		{"a MultiStream query is a batch", shapeInput{scenario: multi, cores: 8, samplesPerQuery: 6}, shape{1, 8, 6}},
		{"a worker for each core", shapeInput{scenario: offline, cores: 8}, shape{8, 1, 4}},
		{"one by one where queries come one by one", shapeInput{scenario: server, cores: 8}, shape{8, 1, 1}},
		{"samples of different lengths that gain by it go together", shapeInput{scenario: server, cores: 8, long: true}, shape{8, 1, 4}},
		{"a single core", shapeInput{scenario: server, cores: 1}, shape{1, 1, 1}},
		{"threads leave fewer workers", shapeInput{scenario: server, cores: 8, asked: shape{0, 3, 0}}, shape{2, 3, 4}},
		{"more threads than cores", shapeInput{scenario: offline, cores: 2, asked: shape{0, 8, 0}}, shape{1, 8, 4}},
		{"workers share the cores", shapeInput{scenario: server, cores: 8, asked: shape{3, 0, 0}}, shape{3, 2, 4}},
		{"more workers than cores", shapeInput{scenario: offline, cores: 2, asked: shape{5, 0, 0}}, shape{5, 1, 4}},
		{"everything is asked for", shapeInput{scenario: single, cores: 8, asked: shape{2, 3, 7}}, shape{2, 3, 7}},
		{"a fixed batch is filled", shapeInput{scenario: offline, cores: 2, fixed: 8}, shape{2, 1, 8}},
		{"a fixed batch is filled in Server, too", shapeInput{scenario: server, cores: 2, fixed: 8}, shape{2, 1, 8}},
		{"a fixed batch of one", shapeInput{scenario: offline, cores: 2, fixed: 1}, shape{2, 1, 1}},
		{"a decoder has as many slots as it likes", shapeInput{scenario: server, cores: 2, slots: 8}, shape{2, 1, 8}},
		{"a decoder has one slot where one query runs at a time", shapeInput{scenario: single, cores: 2, slots: 8}, shape{1, 2, 1}},
		{"a decoder has the slots that are asked for", shapeInput{scenario: offline, cores: 2, asked: shape{0, 0, 3}, slots: 8}, shape{2, 1, 3}},
		{"a fixed batch, less is asked for", shapeInput{scenario: offline, cores: 2, asked: shape{0, 0, 2}, fixed: 8}, shape{2, 1, 2}},
	} {
		if got := test.shapeInput.shape(); got != test.want {
			t.Errorf("%s: %+v is %+v, want %+v", test.name, test.shapeInput, got, test.want)
		}
	}
}

func TestOneWorkerHasAllCoresWhereThatMayKeepTheBound(t *testing.T) {
	const ms = time.Millisecond
	server := shapeInput{scenario: loadgen.Server, cores: 4}
	asked := func(s shape) shapeInput { w := server; w.asked = s; return w }
	for _, test := range []struct {
		name           string
		shapeInput     shapeInput
		latency, bound time.Duration
		want           shape
		worth          bool
	}{
		{"room for two", server, 5 * ms, 10 * ms, shape{1, 4, 4}, false},
		{"no room for two", server, 6 * ms, 10 * ms, shape{1, 4, 4}, true},
		{"just in reach", server, 40 * ms, 10 * ms, shape{1, 4, 4}, true},
		{"out of reach", server, 41 * ms, 10 * ms, shape{1, 4, 4}, false},
		{"a batch is asked for", asked(shape{0, 0, 2}), 6 * ms, 10 * ms, shape{1, 4, 2}, true},
		{"workers are asked for", asked(shape{4, 0, 0}), 6 * ms, 10 * ms, shape{1, 4, 4}, false},
		{"threads are asked for", asked(shape{0, 1, 0}), 6 * ms, 10 * ms, shape{1, 4, 4}, false},
		{"one core", shapeInput{scenario: loadgen.Server, cores: 1}, 6 * ms, 10 * ms, shape{1, 1, 1}, false},
		{"another scenario", shapeInput{scenario: loadgen.Offline, cores: 4}, 6 * ms, 10 * ms, shape{1, 4, 4}, false},
	} {
		if got, worth := test.shapeInput.widened(test.latency, test.bound); got != test.want || worth != test.worth {
			t.Errorf("%s: %+v, %v, want %+v, %v", test.name, got, worth, test.want, test.worth)
		}
	}
}

// Answers of decoders take long: one is enough to warm up with.
func TestDecodersWarmUpWithOneAnswer(t *testing.T) {
	for _, scenario := range loadgen.Scenarios() {
		w := shapeInput{scenario: scenario, cores: 2, samplesPerQuery: 4, slots: 8}
		if got := w.sizes(8); len(got) != 1 || got[0] != 1 {
			t.Errorf("%v: sizes %v, want 1", scenario, got)
		}
	}
}
