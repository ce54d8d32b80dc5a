package progress

import (
	"fmt"
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A glance is a look at a running test, and what follows from it.
type glance struct {
	loadgen.Progress
	now time.Time
}

// rate is how many samples per second were answered so far.
func (g glance) rate() float64 {
	if g.Elapsed <= 0 {
		return 0
	}
	return float64(g.Completed) / g.Elapsed.Seconds()
}

// target is how many samples per second there should be: in Server what is asked for, in
// Offline what is expected; 0: the SUT decides, or it does not matter.
func (g glance) target() float64 {
	if g.Test == nil || g.Accuracy || g.Test.Scenario == loadgen.SingleStream || g.Test.Scenario == loadgen.MultiStream && !g.Test.FixedInterval {
		return 0
	}
	if g.Test.Scenario == loadgen.Offline {
		return g.Test.TargetQPS
	}
	return g.Test.TargetQPS * float64(max(1, g.Test.SamplesPerQuery))
}

// bound is the latency that queries may take, and the share of them that must keep it; 0: none.
func (g glance) bound() (time.Duration, float64) {
	if g.Test == nil || g.Accuracy || g.Test.UseTokenLatencies || g.Test.TargetLatency <= 0 {
		return 0, 0
	}
	return g.Test.TargetLatency, g.Test.TargetLatencyPercentile
}

// queue is how many samples were issued and are not answered yet. In Offline that is the rest.
func (g glance) queue() uint64 {
	if g.Planned == 0 || g.Test == nil || g.Test.Scenario == loadgen.Offline {
		return 0
	}
	issued := g.Issued * (g.Samples / g.Planned)
	if issued < g.Completed {
		return 0
	}
	return issued - g.Completed
}

// needed is how many queries early stopping will ask for if latencies stay as they are; 0: it does not apply, or no number would do.
func (g glance) needed() uint64 {
	t := g.Test
	if t == nil || g.Accuracy || t.WithoutEarlyStopping || t.FixedInterval || t.UseTokenLatencies || !(t.TargetLatencyPercentile > 0 && t.TargetLatencyPercentile < 1) {
		return 0
	}
	switch {
	case t.Scenario == loadgen.SingleStream, t.Scenario == loadgen.MultiStream:
		return loadgen.NeededQueries(1, t.TargetLatencyPercentile)
	case t.Scenario == loadgen.Server && g.RecentWithin > t.TargetLatencyPercentile:
		return loadgen.NeededQueries(uint64((1-g.RecentWithin)*float64(g.Issued)), t.TargetLatencyPercentile)
	}
	return 0
}

// share is how much of the test is over.
func (g glance) share() float64 {
	left := g.left()
	if left <= 0 {
		return 1
	}
	return g.Elapsed.Seconds() / (g.Elapsed + left).Seconds()
}

// left is how long the test still takes: its planned time, its queries, and those that early
// stopping asks for.
func (g glance) left() time.Duration {
	left := g.PlannedDuration - g.Elapsed
	if g.Test != nil && g.Test.Scenario == loadgen.Offline && g.Samples > g.Completed && g.Completed > 0 {
		left = max(left, seconds(float64(g.Samples-g.Completed)/g.rate()))
	}
	wanted := g.Planned
	if t := g.Test; t != nil && !g.Accuracy && !t.FixedInterval && (t.Scenario == loadgen.SingleStream || t.Scenario == loadgen.MultiStream) {
		wanted = t.MinQueryCount // where one query follows the other, those that are planned follow from the time
	}
	if wanted = max(wanted, g.needed()); wanted > g.Issued && g.Issued > 0 {
		left = max(left, seconds(float64(wanted-g.Issued)*g.Elapsed.Seconds()/float64(g.Issued)))
	}
	return min(max(left, 0), math.MaxInt64-max(g.Elapsed, 0)) // both together are a time, too
}

// seconds is a time, up to the longest there is.
func seconds(s float64) time.Duration {
	if s >= math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(s * 1e9)
}

// The outlooks.
const (
	outlookValid   = "VALID"
	outlookInvalid = "INVALID"
)

// outlook is what the verdict will be if the test goes on as it does now, and why; empty: that
// cannot be told.
func (g glance) outlook() (verdict, because string) {
	bound, percentile := g.bound()
	if bound == 0 || g.RecentTarget == 0 {
		return "", ""
	}
	if g.RecentTarget > bound {
		return outlookInvalid, fmt.Sprintf("%s is %.2g × the bound", percentileName(percentile), g.RecentTarget.Seconds()/bound.Seconds())
	}
	return outlookValid, ""
}

func percentileName(share float64) string { return fmt.Sprintf("p%.4g", 100*share) }

// line is a glance in one line, of stable words.
func (g glance) line() string {
	text := fmt.Sprintf("%d of %d samples, %.4g/s", g.Completed, g.Samples, g.rate())
	if g.Accuracy {
		text = fmt.Sprintf("accuracy, set %d of %d: %s", g.Set, g.Sets, text)
	} else if target := g.target(); target > 0 {
		text += fmt.Sprintf(" of %.4g", target)
	}
	bound, percentile := g.bound()
	judged := bound > 0 && g.RecentTarget > 0
	if g.RecentP99 > 0 {
		text += fmt.Sprintf(", p50 %v", loadgen.Round(g.RecentP50))
		if !judged || percentileName(percentile) != "p99" {
			text += fmt.Sprintf(", p99 %v", loadgen.Round(g.RecentP99))
		}
	}
	if judged {
		text += fmt.Sprintf(", %s %v of %v", percentileName(percentile), loadgen.Round(g.RecentTarget), bound)
	}
	if queue := g.queue(); queue > 0 {
		text += fmt.Sprintf(", queue %d", queue)
	}
	if verdict, why := g.outlook(); verdict == outlookInvalid {
		text += ", on course for " + verdict + ": " + why
	}
	if g.PlannedDuration > 0 || g.needed() > g.Issued {
		text += fmt.Sprintf(", %v left", g.left().Round(time.Second))
	}
	return text
}

// numbers is a glance as data.
type numbers struct {
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

func (g glance) numbers() *numbers {
	bound, percentile := g.bound()
	outlook, because := g.outlook()
	return &numbers{
		ElapsedNS: int64(g.Elapsed), PlannedNS: int64(g.PlannedDuration), LeftNS: int64(g.left()),
		Issued: g.Issued, Planned: g.Planned, Completed: g.Completed, Queue: g.queue(), Rate: g.rate(), Target: g.target(),
		P50NS: int64(g.RecentP50), P90NS: int64(g.RecentP90), P99NS: int64(g.RecentP99),
		BoundNS: int64(bound), Within: g.RecentWithin, Required: percentile, Outlook: outlook, Because: because,
	}
}
