package decode

import "github.com/mlperf-go/mlperf/internal/models/workload"

// OfBatch is a source of the items of a batch and no others: a Puller serves it to implement
// Predict.
func OfBatch(items []workload.Item, reply workload.Reply) workload.Source {
	return &batchSource{reply, items}
}

type batchSource struct {
	workload.Reply
	left []workload.Item
}

// Worked implements workload.Watching.
func (c *batchSource) Worked() {
	if to, ok := c.Reply.(workload.Watching); ok {
		to.Worked()
	}
}

// Admit implements workload.Source.
func (c *batchSource) Admit(items []workload.Item, n int, _ bool) ([]workload.Item, bool) {
	n = min(n, len(c.left))
	items = append(items, c.left[:n]...)
	c.left = c.left[n:]
	return items, len(c.left) > 0
}
