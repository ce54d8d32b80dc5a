package loadgen

import (
	"math"
	"time"
)

// An intervalClock ticks at fixed intervals (loadgen/issue_query_controller.cc at v1.0,
// QueryScheduler for MultiStream).
type intervalClock struct {
	pacer Pacer // nil: there are no intervals
	qps   float64
	tick  uint64
}

// next returns the first tick that is not over yet, and how many intervals it is after the
// one before: more than 1 says that intervals were skipped.
func (c *intervalClock) next(now int64) (at int64, passed uint32) {
	before := c.tick
	if due := uint64(seconds(time.Duration(now)) * c.qps); due > c.tick {
		c.tick = due - 1 // one tick early at most, whatever the rounding
	}
	for {
		c.tick++
		if at = nanoseconds(float64(c.tick) / c.qps); at >= now {
			return at, uint32(min(c.tick-before, math.MaxUint32))
		}
	}
}
