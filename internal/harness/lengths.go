package harness

import (
	"slices"
	"time"
)

// A waiting is one of the oldest samples that wait, and how long it is.
type waiting struct {
	task
	length int
}

// lookAhead is how many batches of the oldest samples are looked through for those that are
// as long as each other.
const lookAhead = 16

// fillByLength moves the oldest sample to a batch, and with it those that go well with it.
// Because the oldest always goes, none is overtaken by more than lookAhead batches; and none
// is overtaken any more once it has waited longer than its patience.
func (q *queue) fillByLength(batch []task, n int) []task {
	q.look()
	chosen := q.companions(min(n, len(q.near)))
	slices.Sort(chosen)
	for _, i := range chosen {
		batch = append(batch, q.near[i].task)
	}
	next := 0
	kept := q.near[:0]
	for i, w := range q.near {
		if next < len(chosen) && chosen[next] == i {
			next++
			continue
		}
		kept = append(kept, w)
	}
	q.near = kept
	q.samples -= len(chosen)
	return batch
}

// companions are the oldest sample and at most n-1 others: those that are nearest to it in length, or
// next in age if it has lost its patience. Where the costs are known, only those go with it that
// take less time with it than alone.
func (q *queue) companions(n int) []int {
	order := make([]int, len(q.near))
	for i := range order {
		order[i] = i
	}
	if q.patience == 0 || time.Since(q.near[0].added) <= q.patience {
		oldest := q.near[0].length
		away := func(i int) int { return max(q.near[i].length-oldest, oldest-q.near[i].length) }
		slices.SortStableFunc(order, func(a, b int) int { return away(a) - away(b) })
	}
	if q.costs == nil {
		return order[:n]
	}
	group := q.costs.group(q.near[order[0]].length)
	chosen := order[:1]
	for _, i := range order[1:] {
		if len(chosen) < n && group.join(q.near[i].length) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// look moves the oldest samples to where they can be compared.
func (q *queue) look() {
	for len(q.near) < lookAhead*q.maxBatch && len(q.near) < q.samples {
		s := q.spans.front()
		sample := s.query.Samples[s.next]
		q.near = append(q.near, waiting{task{s.query, sample, s.added}, q.length(sample.Index)})
		if s.next++; s.next == len(s.query.Samples) {
			q.spans.pop()
		}
	}
}
