package progress

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A testState is the state of a running test.
type testState struct {
	loadgen.Progress
	now time.Time
}

// target is the number of samples per second that the test asks for: in Server the target, in Offline the expected rate; 0: none.
func (s testState) target() float64 {
	t := s.Test
	if t == nil || s.Accuracy || t.Scenario == loadgen.SingleStream || t.Scenario == loadgen.MultiStream && !t.FixedInterval {
		return 0
	}
	if t.Scenario == loadgen.Offline {
		return t.TargetQPS
	}
	return t.TargetQPS * float64(max(1, t.SamplesPerQuery))
}

// queue is the number of samples that wait for their answers. In Offline that is all the rest, and not shown.
func (s testState) queue() uint64 {
	if s.Test == nil || s.Test.Scenario == loadgen.Offline {
		return 0
	}
	return s.Waiting()
}

// share is the part of the test that is over.
func (s testState) share() float64 {
	left := s.Left()
	if left <= 0 {
		return 1
	}
	return s.Elapsed.Seconds() / (s.Elapsed + left).Seconds()
}

// line is the state in one line.
func (s testState) line() string {
	text := fmt.Sprintf("%s of %s, %s", units.Number(float64(s.Completed)), units.Count(s.Samples, "sample"), units.Text(s.Rate(), "/s"))
	if s.Accuracy {
		text = fmt.Sprintf("accuracy, set %d of %d: %s", s.Set, s.Sets, text)
	} else if target := s.target(); target > 0 {
		text += " of " + units.Number(target)
	}
	bound, percentile := s.Bound()
	switch {
	case bound > 0 && s.RecentTarget > 0:
		text += fmt.Sprintf(", %s %s of %s", units.Percentile(percentile), units.Duration(s.RecentTarget), units.Duration(bound))
	case s.RecentP99 > 0:
		text += fmt.Sprintf(", p50 %s, p99 %s", units.Duration(s.RecentP50), units.Duration(s.RecentP99))
	}
	switch queue := s.queue(); {
	case queue > 0 && s.AllIssued:
		text += fmt.Sprintf(", all queries are issued, waiting for %s", units.Count(queue, "answer"))
	case queue > 0:
		text += ", queue " + units.Number(float64(queue))
	}
	if verdict, why := s.Outlook(); verdict == "INVALID" {
		text += ", on course for INVALID: " + why
	}
	if left := s.Left(); left > 0 && (s.PlannedDuration > 0 || !s.Accuracy) {
		text += ", " + untilEnd(left)
	}
	return text
}

// untilEnd is how long something still takes, in whole seconds. A test that takes longer than expected has no such time.
func untilEnd(left time.Duration) string {
	if left < time.Second {
		return "less than 1 s left"
	}
	return units.Duration(left.Round(time.Second)) + " left"
}

// testNumbers are the state as JSON.
type testNumbers struct {
	ElapsedNS int64   `json:"elapsed_ns"`
	PlannedNS int64   `json:"planned_ns,omitempty"`
	LeftNS    int64   `json:"left_ns"`
	Issued    uint64  `json:"issued_queries"`
	Planned   uint64  `json:"planned_queries"`
	Completed uint64  `json:"completed_samples"`
	Queue     uint64  `json:"queue_samples"`
	Rate      float64 `json:"samples_per_second"`
	Target    float64 `json:"target_samples_per_second,omitempty"`
	P50NS     int64   `json:"p50_ns,omitempty"` // of recent queries
	P90NS     int64   `json:"p90_ns,omitempty"`
	P99NS     int64   `json:"p99_ns,omitempty"`
	BoundNS   int64   `json:"bound_ns,omitempty"`
	Within    float64 `json:"within_bound,omitempty"` // of recent queries
	Required  float64 `json:"within_required,omitempty"`
	Outlook   string  `json:"outlook,omitempty"`
	Because   string  `json:"because,omitempty"`
}

func (s testState) numbers() *testNumbers {
	bound, percentile := s.Bound()
	outlook, reason := s.Outlook()
	return &testNumbers{
		ElapsedNS: int64(s.Elapsed), PlannedNS: int64(s.PlannedDuration), LeftNS: int64(s.Left()),
		Issued: s.Issued, Planned: s.Planned, Completed: s.Completed, Queue: s.queue(), Rate: s.Rate(), Target: s.target(),
		P50NS: int64(s.RecentP50), P90NS: int64(s.RecentP90), P99NS: int64(s.RecentP99),
		BoundNS: int64(bound), Within: s.RecentWithin, Required: percentile, Outlook: outlook, Because: reason,
	}
}
