package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

const (
	// headroomFrom is the lowest rate at which the generator itself is tried out before a
	// run: every machine that runs a model keeps up with lower ones.
	headroomFrom = 5000.0
	headroomTime = 200 * time.Millisecond
	// headroom is how many times the target the generator should be able to issue. Above
	// its limit a backlog grows, and the median query is late by more than tooLate.
	headroom = 2
	tooLate  = time.Millisecond
)

// checkHeadroom warns if the Server target is more than half of what the generator can
// issue on this machine.
func (r *run) checkHeadroom(ctx context.Context) error {
	target := r.settings.ServerTargetQPS
	if r.settings.Scenario != loadgen.Server || r.settings.Mode == loadgen.AccuracyOnly || target < headroomFrom {
		return nil
	}
	alone, err := SelfTest{
		Scenario: loadgen.Server, TargetQPS: headroom * target, Duration: headroomTime, NewPacer: r.cfg.NewPacer,
	}.Run(ctx)
	if err != nil {
		return err
	}
	if late := time.Duration(alone.IssueDelayP50NS); late > tooLate {
		r.warnings.add(fmt.Errorf("the target of %.4g queries/s is more than half of what the generator can issue on this machine "+
			"(at twice the target, the median query is %v late): its own delays will count as latency", target, late))
	}
	return nil
}
