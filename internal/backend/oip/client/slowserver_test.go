package client

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A sleeper is a model of a server with some workers, each of which takes its time, and how much that was.
type sleeper struct {
	*sink
	workers     chan struct{}
	service     time.Duration
	slept, runs atomic.Int64 // ns
}

// took is how long a request really occupied a worker, on average: sleeping takes longer than was asked for.
func (s *sleeper) took() time.Duration { return time.Duration(s.slept.Load() / max(1, s.runs.Load())) }

func (s *sleeper) Begin(h *protocol.Head) (oipserver.Job, error) {
	j, err := s.sink.Begin(h)
	return &sleeping{j.(*sinkJob), s}, err
}

type sleeping struct {
	*sinkJob
	model *sleeper
}

func (j *sleeping) Run(ctx context.Context) ([]protocol.Spec, []tensor.Tensor, error) {
	j.model.workers <- struct{}{}
	began := time.Now()
	time.Sleep(j.model.service)
	j.model.slept.Add(int64(time.Since(began)))
	j.model.runs.Add(1)
	<-j.model.workers
	return j.sinkJob.Run(ctx)
}

const (
	slowServers, slowWorkers = 8, 4
	// About what ResNet-50 takes on a core or two: with less, it is seen how client and servers share the
	// processors of one machine, not which servers were chosen.
	slowService = 40 * time.Millisecond
	atOnce      = 512 // requests; what comes beyond waits, which its latency has in it
)

// services are how long a request takes at each server: one is three times slower.
func services() (list []time.Duration) {
	for range slowServers {
		list = append(list, slowService)
	}
	list[0] *= 3
	return list
}

// arrivals are when requests come, at 80 % of what the servers could do if they were alike.
func arrivals(n int) (list []time.Duration) {
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Duration(0)
	for range n {
		at += time.Duration(r.ExpFloat64() * float64(slowService) / (0.8 * slowServers * slowWorkers))
		list = append(list, at)
	}
	return list
}

// simulatedLatencies are those of requests each of which goes to the server with the fewest under way. A server
// answers them in their order, each in the time that it takes for one.
func simulatedLatencies(arrivals, service []time.Duration) (took []time.Duration) {
	ends := make([][]time.Duration, slowServers) // of requests under way, the earliest first
	for i, at := range arrivals {
		for k := range ends {
			ends[k] = slices.DeleteFunc(ends[k], func(end time.Duration) bool { return end <= at })
		}
		best := i % slowServers // where the search begins rotates
		for k := range ends {
			if n := (k + i) % slowServers; len(ends[n]) < len(ends[best]) {
				best = n
			}
		}
		begin := at
		if list := ends[best]; len(list) >= slowWorkers {
			begin = list[len(list)-slowWorkers]
		}
		end := begin + service[best]
		ends[best] = append(ends[best], end)
		slices.Sort(ends[best])
		took = append(took, end-at)
	}
	return took
}

func percentile99(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)*99/100]
}

func TestTheSimulationOfServersIsThatOfTheClientsChoice(t *testing.T) {
	least := leastOutstanding(t)
	if got := percentile99(simulatedLatencies(arrivals(20000), services())); got < least*8/10 || got > least*12/10 {
		t.Errorf("the 99th percentile is %v by arithmetic, and %v in fake time", got, least)
	}
}

// BenchmarkSlowServer measures eight servers over HTTP, one of which is three times slower, beside a
// simulation of the same requests at servers that take as long as these really took. The ratio of the two 99th percentiles should be at most 1.2.
func BenchmarkSlowServer(b *testing.B) {
	var urls []string
	var models []*sleeper
	for _, service := range services() {
		m := &sleeper{sink: newSink(1024), workers: make(chan struct{}, slowWorkers), service: service}
		models = append(models, m)
		s := oipserver.New(oipserver.Config{Models: []oipserver.Model{m}})
		l := listen(b, "tcp")
		go func() { _ = s.ServeHTTP(l) }()
		urls = append(urls, "http://"+l.Addr().String())
	}
	c, err := New(b.Context(), Options{Endpoints: urls, Concurrency: atOnce})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		list := arrivals(10000)
		took := make([]time.Duration, len(list))
		var all sync.WaitGroup
		room := make(chan struct{}, atOnce)
		start := time.Now().Add(10 * time.Millisecond)
		for i, at := range list {
			time.Sleep(time.Until(start.Add(at)))
			room <- struct{}{}
			all.Go(func() {
				defer func() { <-room }()
				if err := inferOnce(c); err != nil {
					b.Error(err)
				}
				took[i] = time.Since(start.Add(at))
			})
		}
		all.Wait()
		var service []time.Duration
		for _, m := range models {
			service = append(service, m.took())
		}
		real, ideal := percentile99(took), percentile99(simulatedLatencies(list, service))
		b.ReportMetric(float64(service[1])/1e6, "service-ms")
		b.ReportMetric(float64(real)/1e6, "p99-ms")
		b.ReportMetric(float64(ideal)/1e6, "simulated-p99-ms")
		b.ReportMetric(float64(real)/float64(ideal), "ratio(≤1.2)")
	}
}

// inferOnce sends a small tensor to whichever server the client chooses.
func inferOnce(c *Client) error {
	in, out := tensor.New(tensor.Uint8, 1, 1024), tensor.New(tensor.Uint8, 1, answerBytes)
	_, err := c.Infer(context.Background(), &Request{Model: "m", Specs: []protocol.Spec{{Name: "x", Type: in.Type, Shape: in.Shape}}, Tensors: []tensor.Tensor{in},
		Accept: func(*protocol.Head) (protocol.Place, error) {
			return func(int, protocol.Spec) (tensor.Tensor, error) { return out, nil }, nil
		}})
	return err
}
