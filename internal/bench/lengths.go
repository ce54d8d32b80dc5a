package bench

import (
	"slices"
	"time"
)

// A waiting is one of the oldest samples that wait, and how long it is.
type waiting struct {
	task
	length int
	added  time.Time
}

// lookAhead is how many batches of the oldest samples are looked through for those that are
// as long as each other.
const lookAhead = 16

// fillByLength moves the oldest sample to a batch, and with it those that are about as long.
// Because the oldest always goes, none is overtaken by more than lookAhead batches; and none
// is overtaken any more once it has waited longer than its patience.
func (q *queue) fillByLength(batch []task, n int) []task {
	q.look()
	n = min(n, len(q.near))
	chosen := make([]int, len(q.near))
	for i := range chosen {
		chosen[i] = i
	}
	if q.patience == 0 || time.Since(q.near[0].added) <= q.patience {
		oldest := q.near[0].length
		away := func(i int) int { return max(q.near[i].length-oldest, oldest-q.near[i].length) }
		slices.SortStableFunc(chosen, func(a, b int) int { return away(a) - away(b) })
	}
	chosen = chosen[:n]
	slices.Sort(chosen)
	for _, i := range chosen {
		batch = append(batch, q.near[i].task)
	}
	next := 0
	kept := q.near[:0]
	for i, w := range q.near {
		if next < n && chosen[next] == i {
			next++
			continue
		}
		kept = append(kept, w)
	}
	q.near = kept
	q.samples -= n
	return batch
}

// look moves the oldest samples to where they can be compared.
func (q *queue) look() {
	for len(q.near) < lookAhead*q.maxBatch && len(q.near) < q.samples {
		s := q.spans.front()
		sample := s.query.Samples[s.next]
		q.near = append(q.near, waiting{task{s.query, sample}, q.length(sample.Index), s.added})
		if s.next++; s.next == len(s.query.Samples) {
			q.spans.pop()
		}
	}
}
