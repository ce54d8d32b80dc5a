package client

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// A queueNode is a server with some workers, in fake time.
type queueNode struct {
	transport
	workers chan struct{}
	service time.Duration
}

func (q *queueNode) infer(context.Context, *Request, string) (*Answer, error) {
	q.workers <- struct{}{}
	time.Sleep(q.service)
	<-q.workers
	return &Answer{Head: protocol.Head{}}, nil
}

// p99 is the 99th percentile of the latency with 8 servers of 4 workers, of which one is three
// times slower, at 80 % of the load that all take together if they were alike.
func p99(t *testing.T, choose func(c *Client, r *rand.Rand) func() (*node, error)) (latency time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		const requests = 20000
		c := &Client{options: Options{Timeout: time.Hour}}
		for _, service := range services() {
			c.nodes = append(c.nodes, &node{transport: &queueNode{workers: make(chan struct{}, slowWorkers), service: service}})
		}
		r := rand.New(rand.NewPCG(1, 2))
		pick := choose(c, r)
		took := make([]time.Duration, requests)
		var all sync.WaitGroup
		for i := range requests {
			time.Sleep(time.Duration(r.ExpFloat64() * float64(slowService) / (0.8 * slowServers * slowWorkers)))
			n, err := pick()
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				begin := time.Now()
				if _, err := c.ask(context.Background(), n, &Request{}); err != nil {
					t.Error(err)
				}
				took[i] = time.Since(begin)
			})
		}
		all.Wait()
		slices.Sort(took)
		latency = took[requests*99/100]
	})
	return latency
}

// ofTheClient is what leastOutstanding found.
var ofTheClient time.Duration

// leastOutstanding is p99 of the client's own choice, which is simulated once.
func leastOutstanding(t *testing.T) time.Duration {
	if ofTheClient == 0 {
		ofTheClient = p99(t, func(c *Client, _ *rand.Rand) func() (*node, error) {
			return func() (*node, error) { return c.pick(nil) }
		})
	}
	return ofTheClient
}

// The sums of the facts: round robin lets the slow server's queue grow without an end; the
// fewest outstanding requests keep the 99th percentile near 3 times that of equal servers.
func TestASlowServerGetsLess(t *testing.T) {
	least := leastOutstanding(t)
	// An ideal chooser that sees all queues at once, and draws among equals.
	ideal := p99(t, func(c *Client, r *rand.Rand) func() (*node, error) {
		return func() (*node, error) {
			order := r.Perm(len(c.nodes))
			best := c.nodes[order[0]]
			for _, i := range order {
				if c.nodes[i].outstanding.Load() < best.outstanding.Load() {
					best = c.nodes[i]
				}
			}
			best.outstanding.Add(1)
			return best, nil
		}
	})
	rotating := p99(t, func(c *Client, _ *rand.Rand) func() (*node, error) {
		k := 0
		return func() (*node, error) {
			k++
			n := c.nodes[k%len(c.nodes)]
			n.outstanding.Add(1)
			return n, nil
		}
	})
	if float64(least) > 1.2*float64(ideal) || least > 6*slowService {
		t.Errorf("the 99th percentile is %v, an ideal chooser's is %v", least, ideal)
	}
	if rotating < 10*least {
		t.Errorf("round robin has %v, which is not much worse than %v: is the load too low to tell?", rotating, least)
	}
}

func TestOfManyServersTheBetterOfTwoIsTaken(t *testing.T) {
	c := &Client{}
	for range 200 {
		c.nodes = append(c.nodes, &node{})
	}
	down := error(lost{context.Canceled})
	for _, n := range c.nodes[:150] {
		n.down.Store(&down)
	}
	for range 1000 {
		n, err := c.pick(nil)
		if err != nil || n.down.Load() != nil {
			t.Fatalf("picked %v, %v", n, err)
		}
	}
	for _, n := range c.nodes {
		n.down.Store(&down)
	}
	if _, err := c.pick(nil); err == nil {
		t.Error("a server was picked, and all are down")
	}
}
