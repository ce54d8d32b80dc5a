package client

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// scanned is how many servers are compared before drawing two of them is cheaper.
const scanned = 64

// pick chooses the server with the fewest requests under way, and counts one more for it. Those
// in tried are taken only if there is no other.
func (c *Client) pick(tried []*node) (*node, error) {
	var best *node
	for _, n := range c.candidates() {
		if n.down.Load() != nil {
			continue
		}
		if best == nil || better(n, best, tried) {
			best = n
		}
	}
	if best == nil {
		if best = c.anyUp(); best == nil {
			return nil, c.allDown()
		}
	}
	best.outstanding.Add(1)
	return best, nil
}

func better(n, best *node, tried []*node) bool {
	if a, b := slices.Contains(tried, n), slices.Contains(tried, best); a != b {
		return b
	}
	return n.outstanding.Load() < best.outstanding.Load()
}

// candidates are the servers to compare, beginning with another one each time.
func (c *Client) candidates() []*node {
	n := len(c.nodes)
	if n > scanned {
		return []*node{c.nodes[rand.IntN(n)], c.nodes[rand.IntN(n)]}
	}
	if n == 1 {
		return c.nodes
	}
	var list [scanned]*node
	start := int(c.next.Add(1) % uint64(n))
	k := copy(list[:], c.nodes[start:])
	copy(list[k:], c.nodes[:start])
	return list[:n]
}

func (c *Client) anyUp() *node {
	for _, n := range c.nodes {
		if n.down.Load() == nil {
			return n
		}
	}
	return nil
}

func (c *Client) allDown() error {
	n := c.nodes[0]
	err := *n.down.Load()
	if len(c.nodes) == 1 {
		return &serverError{Endpoint: n.name, Err: fmt.Errorf("it is left out since it failed: %w", err)}
	}
	return &serverError{Endpoint: n.name, Err: fmt.Errorf("it is left out since it failed, and so are all %d servers: %w", len(c.nodes), err)}
}
