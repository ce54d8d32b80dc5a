package progress

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

const ms = time.Millisecond

// states are tests that run, by name; change has a test of its own to change.
func states(name string, change func(s *testState)) testState {
	s := map[string]testState{
		"late": {Progress: loadgen.Progress{ // beyond its bound
			Set: 1, Sets: 1, Elapsed: 72 * time.Second, PlannedDuration: 10 * time.Minute, Issued: 9760, Planned: 77520, Completed: 9758, Samples: 77520,
			RecentP50: 11200 * time.Microsecond, RecentP90: 22800 * time.Microsecond, RecentP99: 47200 * time.Microsecond, RecentTarget: 47200 * time.Microsecond, RecentWithin: 0.938,
			Test: &loadgen.EffectiveSettings{Scenario: loadgen.Server, TargetQPS: 129.2, TargetLatency: 27 * ms, TargetLatencyPercentile: 0.99, SamplesPerQuery: 1, Common: loadgen.Common{MinQueryCount: 100}},
		}},
		"stream": {Progress: loadgen.Progress{
			Elapsed: 3 * time.Second, PlannedDuration: 10 * time.Second, Issued: 30, Planned: 100, Completed: 30, Samples: 100, RecentP50: 99 * ms, RecentP90: 110 * ms, RecentP99: 120 * ms, RecentTarget: 110 * ms,
			Test: &loadgen.EffectiveSettings{Scenario: loadgen.SingleStream, TargetLatencyPercentile: 0.9, SamplesPerQuery: 1, Common: loadgen.Common{MinQueryCount: 64}},
		}},
		"offline": {Progress: loadgen.Progress{
			Elapsed: 20 * time.Second, Issued: 1, Planned: 1, Completed: 600, Samples: 24576,
			Test: &loadgen.EffectiveSettings{Scenario: loadgen.Offline, TargetQPS: 40, SamplesPerQuery: 24576},
		}},
		"accuracy": {Progress: loadgen.Progress{
			Accuracy: true, Set: 2, Sets: 49, Elapsed: 20 * time.Second, Issued: 300, Planned: 1024, Completed: 299, Samples: 1024, RecentP99: 30 * ms,
			Test: &loadgen.EffectiveSettings{Scenario: loadgen.Server, TargetQPS: 1, TargetLatency: ms, TargetLatencyPercentile: 0.99, SamplesPerQuery: 1},
		}},
		"nothing": {},
	}[name]
	if change != nil {
		change(&s)
	}
	return s
}

func good(s *testState) { s.RecentP99, s.RecentTarget, s.RecentWithin = 21*ms, 21*ms, 0.998 }

func TestLine(t *testing.T) {
	for _, c := range []struct {
		state  string
		change func(s *testState)
		want   string
	}{
		{"late", nil, "9,758 of 77,520 samples, 135.5/s of 129.2, p99 47.2 ms of 27 ms, queue 2, on course for INVALID: p99 is 1.7 × the bound, 8 min 48 s left"},
		{"late", good, "9,758 of 77,520 samples, 135.5/s of 129.2, p99 21 ms of 27 ms, queue 2, 8 min 48 s left"},
		{"late", func(s *testState) { s.RecentP50, s.RecentP99, s.RecentTarget, s.Completed = 0, 0, 0, 0 }, "0 of 77,520 samples, 0/s of 129.2, queue 9,760, 8 min 48 s left"},
		{"late", func(s *testState) { s.AllIssued, s.Planned, s.Samples, s.Completed = true, 9760, 9760, 2440; good(s) },
			"2,440 of 9,760 samples, 33.89/s of 129.2, p99 21 ms of 27 ms, all queries are issued, waiting for 7,320 answers, 3 min 36 s left"},
		{"late", func(s *testState) {
			s.AllIssued, s.DropIn, s.Planned, s.Samples, s.Completed = true, 8*time.Second, 9760, 9760, 2440
			good(s)
		},
			"2,440 of 9,760 samples, 33.89/s of 129.2, p99 21 ms of 27 ms, all queries are issued, waiting for 7,320 answers, 8 s left"},
		{"stream", nil, "30 of 100 samples, 10/s, p50 99 ms, p99 120 ms, 7 s left"},
		{"stream", func(s *testState) { s.PlannedDuration, s.Elapsed, s.Issued, s.Completed = 0, 630*time.Second, 63, 63 },
			"63 of 100 samples, 0.1/s, p50 99 ms, p99 120 ms, 10 s left"},
		{"stream", func(s *testState) { s.PlannedDuration, s.Elapsed, s.Issued, s.Completed = 0, 640*time.Second, 64, 64 }, "64 of 100 samples, 0.1/s, p50 99 ms, p99 120 ms"},
		{"stream", func(s *testState) { s.PlannedDuration, s.Test.MinQueryCount = 5*time.Second, 1 },
			"30 of 100 samples, 10/s, p50 99 ms, p99 120 ms, on course for INVALID: early stopping needs 64 queries, the test will have 50, 2 s left"},
		{"stream", func(s *testState) { s.Test.MaxQueryCount = 40 },
			"30 of 100 samples, 10/s, p50 99 ms, p99 120 ms, on course for INVALID: early stopping needs 64 queries, the test will have 40, 7 s left"},
		{"late", func(s *testState) { s.Test.MaxQueryCount = 11000; good(s); s.RecentWithin = 0.991 },
			"9,758 of 77,520 samples, 135.5/s of 129.2, p99 21 ms of 27 ms, queue 2, on course for INVALID: early stopping needs 11,116 queries, the test will have 11,000, 8 min 48 s left"},
		{"late", func(s *testState) { s.Planned, s.Samples = 10000, 10000; good(s); s.RecentWithin = 0.991 },
			"9,758 of 10,000 samples, 135.5/s of 129.2, p99 21 ms of 27 ms, queue 2, on course for INVALID: early stopping needs 11,116 queries, the test will have 10,000, 8 min 48 s left"},
		{"offline", nil, "600 of 24,576 samples, 30/s of 40, 13 min 19 s left"},
		{"accuracy", nil, "accuracy, set 2 of 49: 299 of 1,024 samples, 14.95/s, p50 0 s, p99 30 ms, queue 1"},
		{"nothing", nil, "0 of 0 samples, 0/s"},
	} {
		if got := states(c.state, c.change).line(); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.state, got, c.want)
		}
	}
}

func TestLeft(t *testing.T) {
	for _, c := range []struct {
		state  string
		change func(s *testState)
		want   time.Duration
	}{
		{"late", nil, 528 * time.Second},
		{"stream", nil, 7 * time.Second},
		{"stream", func(s *testState) { s.Issued, s.Completed = 3, 3 }, 61 * time.Second}, // 61 queries of 1 s to min_query_count
		{"stream", func(s *testState) { s.Test.MinQueryCount, s.Issued = 1, 3 }, 7 * time.Second},
		{"offline", nil, 799200 * ms},
		{"accuracy", nil, 48267 * ms},
		{"nothing", nil, 0},
	} {
		if got := states(c.state, c.change).Left(); got.Round(time.Second) != c.want.Round(time.Second) {
			t.Errorf("%s: %v left, want %v", c.state, got, c.want)
		}
	}
}

func TestNeeded(t *testing.T) {
	for want, change := range map[uint64]func(s *testState){
		loadgen.NeededQueries(0, 0.99): func(s *testState) { s.RecentWithin = 1 },
		loadgen.NeededQueries(5, 0.99): func(s *testState) { s.RecentWithin, s.Issued = 0.995, 1000 },
		0:                              func(s *testState) { s.RecentWithin = 0.99 },
		662:                            func(s *testState) { s.Test.Scenario = loadgen.MultiStream },
	} {
		if got := states("late", change).Needed(); got != want {
			t.Errorf("%d queries, want %d", got, want)
		}
	}
}

// States that no test should have are shown all the same.
func TestStrangeStates(t *testing.T) {
	for name, change := range map[string]func(s *testState){
		"no test":                   func(s *testState) { s.Test = nil },
		"no time":                   func(s *testState) { s.Elapsed = 0 },
		"more answers than queries": func(s *testState) { s.Completed = 1 << 63 },
		"nothing planned":           func(s *testState) { s.Planned, s.Samples, s.PlannedDuration = 0, 0, 0 },
		"almost endless":            func(s *testState) { s.Test.Scenario, s.Completed, s.Samples = loadgen.Offline, 1, math.MaxUint64 },
		"endless":                   func(s *testState) { s.PlannedDuration, s.Elapsed = math.MaxInt64, 1000*time.Hour },
		"NaN":                       func(s *testState) { s.RecentWithin, s.Test.TargetLatencyPercentile = math.NaN(), math.NaN() },
	} {
		s := states("late", change)
		left, share, text := s.Left(), s.share(), s.line()
		if left < 0 || s.Elapsed+left < 0 || !(share >= 0 && share <= 1) || strings.ContainsAny(text, "-\n") {
			t.Errorf("%s: %v left, share %g, %q", name, left, share, text)
		}
	}
}

func TestPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := New(&out, Auto)
		d.About("a test")
		d.Phase("data")
		time.Sleep(4 * time.Second) // too short for a line
		d.Phase("model")
		time.Sleep(11500 * ms)
		d.Phase("loading")
		for i := range 12 {
			time.Sleep(time.Second)
			d.Loading(i, 12)
		}
		time.Sleep(7 * time.Second)
		d.Phase("traffic")
		for range 7 {
			time.Sleep(time.Second)
			d.Traffic(states("offline", nil).Progress)
		}
		d.Note("a note")
		d.Done()
		d.Done()
		time.Sleep(time.Minute)
		want := "model: 5 s so far\nmodel: 10 s so far\nloading: 4 of 12 samples\nloading: 9 of 12 samples\nloading: 18 s so far\ntraffic: 600 of 24,576 samples, 30/s of 40, 13 min 19 s left\na note\n"
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}

func TestNoneHasNotes(t *testing.T) {
	var out strings.Builder
	d := New(&out, None)
	d.Phase("loading")
	d.Loading(3, 10)
	d.Traffic(states("late", nil).Progress)
	d.Note("a note")
	d.Done()
	if out.String() != "a note\n" {
		t.Errorf("got %q", out.String())
	}
}

// JSON has counts and traffic once a second, and the end of a count.
func TestJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := New(&out, JSON)
		d.About("mobilenet Server")
		d.Phase("data")
		for i := range 21 {
			d.Items(i, 20)
			time.Sleep(100 * ms)
		}
		d.Bytes(7, 0)
		d.Note("a note")
		d.Phase("traffic")
		for range 3 {
			d.Traffic(states("late", nil).Progress)
			time.Sleep(500 * ms)
		}
		d.Done()
		var got []string
		for line := range strings.Lines(out.String()) {
			var o struct {
				Schema, Test, Event, Phase, Outlook string
				Done, Of                            int64
				Left                                int64 `json:"left_ns"`
			}
			if err := json.Unmarshal([]byte(line), &o); err != nil || o.Schema != schema || o.Test != "mobilenet Server" {
				t.Errorf("%q: %v", line, err)
			}
			got = append(got, strings.TrimSpace(fmt.Sprint(o.Event, " ", o.Phase, " ", o.Done, " ", o.Of, " ", time.Duration(o.Left), " ", o.Outlook)))
		}
		want := []string{
			"phase data 0 0 0s", "count data 0 20 0s", "count data 10 20 0s", "count data 20 20 0s", "note data 0 0 0s",
			"phase traffic 0 0 0s", "traffic traffic 0 0 8m48s INVALID", "traffic traffic 0 0 8m48s INVALID",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDoesNotSteerTerminal(t *testing.T) {
	const hostile = "fast\x1b[2J\r\u009b1A"
	for _, style := range []Style{Plain, None, Auto} {
		var out strings.Builder
		d := New(&out, style)
		if style == Auto {
			d.view = &terminal{out: &out, width: func() int { return 80 }}
		}
		d.About(hostile)
		d.Phase(hostile)
		d.Note(hostile)
		d.Done()
		if text := out.String(); strings.ContainsAny(text, "\x1b\u009b\r") || !strings.Contains(text, `fast\x1b[2J\x0d\x9b1A`) {
			t.Errorf("%s: %q", style, text)
		}
	}
}

func TestConcurrentCalls(t *testing.T) {
	for _, style := range []Style{Plain, JSON} {
		var out strings.Builder
		d := New(&out, style)
		d.Phase("all at once")
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				d.Loading(i, 8)
				d.Bytes(int64(i), 8)
				d.Traffic(states("late", nil).Progress)
				d.Note("note")
			})
		}
		all.Wait()
		d.Done()
		if n := strings.Count(out.String(), "note\"") + strings.Count(out.String(), "note\n"); n < 8 {
			t.Errorf("%s: %d notes of 8:\n%s", style, n, out.String())
		}
	}
}

// onTerminal runs f with a display on a terminal of 80 columns, and returns the output.
func onTerminal(t *testing.T, f func(d *Display, out *buffer)) string {
	t.Helper()
	var out buffer
	synctest.Test(t, func(t *testing.T) {
		d := New(&out, None)
		d.mu.Lock()
		d.view = &terminal{out: &out, width: func() int { return 80 }}
		d.mu.Unlock()
		f(d, &out)
		d.Done()
	})
	return out.String()
}

// A buffer is written by one goroutine while another reads it.
type buffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *buffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, text...)
	return len(text), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// pass lets time pass, and the ticks in it.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestTerminalBar(t *testing.T) {
	text := onTerminal(t, func(d *Display, out *buffer) {
		d.Phase("data")
		if out.String() != "" {
			t.Errorf("a phase without a count shows %q", out)
		}
		d.Items(3, 10)
		pass(time.Second)
		d.Items(5, 10)
		d.Note("a note")
	})
	for _, want := range []string{"data: 3 of 10", "30%", "data: 5 of 10", "50%"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown: %q", want, text)
		}
	}
	bars, rest, _ := strings.Cut(text, "a note\n")
	if before := bars[strings.LastIndex(bars, "\r")+1:]; before != "" || strings.Contains(rest, "\n") {
		t.Errorf("the bar is not removed before the note, or stays: %q", text)
	}
}

func TestTerminalShowsSilentPhase(t *testing.T) {
	onTerminal(t, func(d *Display, out *buffer) {
		d.Phase("model")
		pass(silence - 500*ms)
		if out.String() != "" {
			t.Errorf("after less than %v: %q", silence, out)
		}
		pass(2 * time.Second)
		if !strings.Contains(out.String(), "model: 3 s so far") {
			t.Errorf("after more than %v: %q", silence, out)
		}
		d.Items(1, 10)
		before := len(out.String())
		pass(10 * time.Second)
		if added := out.String()[before:]; strings.Contains(added, "so far") {
			t.Errorf("a bar that counts gives way to %q", added)
		}
	})
}

// A running test has one line on a terminal, no wider than that, and its last state stays.
func TestTerminalTraffic(t *testing.T) {
	text := onTerminal(t, func(d *Display, _ *buffer) {
		d.About("mobilenet Server")
		d.Phase("traffic")
		for range 5 {
			d.Traffic(states("late", nil).Progress)
			pass(600 * ms)
		}
	})
	bars, last, ok := strings.Cut(text, "mobilenet Server: traffic: "+states("late", nil).line()+"\n")
	if !ok || last != "" || strings.Count(bars, "12%") != 3 || !strings.Contains(bars, "9,758 of 77,520") || strings.Contains(bars, "\n") {
		t.Errorf("got %q", text)
	}
	for bar := range strings.SplitSeq(bars, "\r") {
		if utf8.RuneCountInString(bar) > 80 {
			t.Errorf("%q is wider than the terminal", bar)
		}
	}
}
