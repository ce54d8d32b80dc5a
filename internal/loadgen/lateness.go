package loadgen

import (
	"math"
	"time"
)

// A lateness is how much later than scheduled a query was issued, in 32 bits: whole
// nanoseconds below 2.1 s, and from there on units of 4.1 µs, up to 2.4 hours.
type lateness uint32

const (
	coarse      = 1 << 31 // marks the larger unit
	coarseShift = 12
)

func latenessOf(ns int64) lateness {
	switch {
	case ns < 0:
		return 0
	case ns < coarse:
		return lateness(ns)
	}
	return lateness(coarse | min(uint64(ns)>>coarseShift, coarse-1))
}

func (l lateness) ns() int64 {
	if l < coarse {
		return int64(l)
	}
	return int64(l-coarse) << coarseShift
}

func (l lateness) duration() time.Duration { return time.Duration(l.ns()) }

// A blame tells the delay of an issue thread from that of the SUT, which delays later
// queries if it stays inside IssueQuery when they are due. It follows what a generator
// without any delay would do with the same SUT: such a generator issues a query at its
// scheduled instant, or when IssueQuery has returned. What is later than that is the
// generator's own. Instants are nanoseconds since the start of the phase.
type blame struct {
	ideal  int64 // when the ideal generator issued the last query; then, when it was free again
	issued int64 // when this one issued it
}

func newBlame() blame { return blame{ideal: math.MinInt64, issued: math.MinInt64} }

// returned says that IssueQuery has returned.
func (b *blame) returned(now int64) {
	if b.issued != math.MinInt64 {
		b.ideal += now - b.issued
	}
}

// issue says that a query is issued now, and returns how late that is by the generator's
// own fault.
func (b *blame) issue(scheduled, now int64) lateness {
	b.ideal, b.issued = max(b.ideal, scheduled), now
	return b.own(scheduled)
}

// own is the generator's own part of the lateness of a query that is issued with the last.
func (b *blame) own(scheduled int64) lateness {
	return latenessOf(b.issued - max(b.ideal, scheduled))
}
