package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A scripted server answers inferences as it is told, and has nothing else.
type scripted struct {
	transport
	infers func(ctx context.Context, id string) (*Answer, error)
}

func (s scripted) infer(ctx context.Context, _ *Request, id string) (*Answer, error) {
	return s.infers(ctx, id)
}

// scriptedClient asks servers a, b, c and so on.
func scriptedClient(o Options, servers ...func(ctx context.Context, id string) (*Answer, error)) *Client {
	c := &Client{options: o}
	for i, of := range servers {
		c.servers = append(c.servers, &server{endpoint: endpoint{name: string(rune('a' + i))}, transport: scripted{infers: of}})
	}
	return c
}

// at asks a server.
func (c *Client) at(t *testing.T, i int) error {
	c.servers[i].outstanding.Add(1)
	_, err := c.ask(t.Context(), c.servers[i], &Request{})
	return err
}

func answers(_ context.Context, id string) (*Answer, error) {
	return &Answer{Head: protocol.Head{ID: id}}, nil
}

func refuses(context.Context, string) (*Answer, error) {
	return nil, protocol.Errorf(protocol.Unavailable, "full")
}

func breaks(context.Context, string) (*Answer, error) { return nil, lostError{errors.New("broken")} }

// A server that is gone is noticed before the time-out, one that takes long is not taken for it.
func TestServerThatIsGone(t *testing.T) {
	silent := func(ctx context.Context, _ string) (*Answer, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, there := range []bool{true, false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testenv.Must(t, err)
		defer l.Close()
		if !there {
			testenv.Must(t, l.Close())
		}
		synctest.Test(t, func(t *testing.T) {
			c := scriptedClient(Options{Timeout: time.Minute}, silent)
			c.servers[0].network, c.servers[0].address = "tcp", l.Addr().String()
			began := time.Now()
			err := c.at(t, 0)
			want, after := "server a … no answer within 1m0s", time.Minute
			if !there {
				want, after = "server a … no new connection", silence
			}
			if took := time.Since(began); !testenv.Tells(fmt.Sprint(err), want) || took < after || took > after+time.Second {
				t.Errorf("there %v: %v after %v, want %s after %v", there, err, took, want, after)
			}
		})
	}
}

func TestServerThatKeepsRefusingIsLeftOut(t *testing.T) {
	full := true
	c := scriptedClient(Options{Timeout: time.Minute}, func(ctx context.Context, id string) (*Answer, error) {
		if full {
			return refuses(ctx, id)
		}
		return answers(ctx, id)
	}, answers)
	for range 3 {
		for range maxRefused - 1 {
			if err := c.at(t, 0); protocol.CodeOf(err) != protocol.Unavailable {
				t.Fatal(err)
			}
		}
		full = false
		if err := c.at(t, 0); err != nil {
			t.Fatal(err)
		}
		full = true
	}
	if down := c.Down(); down != nil {
		t.Errorf("left out are %q", down)
	}
	for range maxRefused {
		_ = c.at(t, 0)
	}
	if down := c.Down(); len(down) != 1 || down[0] != "a, 61 of its 64 requests: it refused 16 requests in a row: full" {
		t.Errorf("left out are %q", down)
	}
}

func TestOnlyServerMayRefuse(t *testing.T) {
	c := scriptedClient(Options{Timeout: time.Minute}, refuses)
	for range 3 * maxRefused {
		if err := c.at(t, 0); protocol.CodeOf(err) != protocol.Unavailable || !testenv.Names(err, "server a … full") {
			t.Fatal(err)
		}
	}
	if c.Down() != nil {
		t.Errorf("left out are %q", c.Down())
	}
}

func TestErrorCountsTheSurvivors(t *testing.T) {
	wrong := func(context.Context, string) (*Answer, error) {
		return nil, protocol.Errorf(protocol.InvalidArgument, "no such input")
	}
	another := func(context.Context, string) (*Answer, error) {
		return &Answer{Head: protocol.Head{ID: "another"}}, nil
	}
	silent := func(_ context.Context, id string) (*Answer, error) { return &Answer{}, nil }
	for _, c := range []struct {
		name   string
		server func(context.Context, string) (*Answer, error)
		others int
		down   int
		want   string
	}{
		{"it is full", refuses, 2, 0, "server a … full"},
		{"it broke", breaks, 2, 1, "server a … broken"},
		{"the request is wrong", wrong, 0, 0, "server a … no such input"},
		{"its answer is that of another request", another, 2, 1, `server a … "another" … 1`},
		{"its answer does not say of what", silent, 0, 0, ""},
	} {
		asked := scriptedClient(Options{Timeout: time.Minute}, c.server, answers, answers)
		err := asked.at(t, 0)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var loss backend.Loss
		if !errors.As(err, &loss) || loss.Survivors() != c.others || !testenv.Names(err, c.want) || len(asked.Down()) != c.down {
			t.Errorf("%s: %v, down are %q, want %s and %d others", c.name, err, asked.Down(), c.want, c.others)
		}
		if n := asked.servers[0].outstanding.Load(); n != 0 {
			t.Errorf("%s: %d requests are under way", c.name, n)
		}
	}
}

func TestRetry(t *testing.T) {
	count := func(n *int, of func(context.Context, string) (*Answer, error)) func(context.Context, string) (*Answer, error) {
		return func(ctx context.Context, id string) (*Answer, error) { *n++; return of(ctx, id) }
	}
	wrong := func(context.Context, string) (*Answer, error) {
		return nil, protocol.Errorf(protocol.InvalidArgument, "no such input")
	}
	for _, c := range []struct {
		name  string
		of    []func(context.Context, string) (*Answer, error)
		retry int
		asked string // how often each
		right bool
	}{
		{"no second time", []func(context.Context, string) (*Answer, error){breaks}, 0, "[1]", false},
		{"another server", []func(context.Context, string) (*Answer, error){breaks, answers}, 1, "", true},
		{"the same, which is full", []func(context.Context, string) (*Answer, error){refuses}, 3, "[4]", false},
		{"the same, which is gone", []func(context.Context, string) (*Answer, error){breaks}, 3, "[1]", false},
		{"what is wrong stays wrong", []func(context.Context, string) (*Answer, error){wrong}, 3, "[1]", false},
		{"all are gone", []func(context.Context, string) (*Answer, error){breaks, breaks, breaks}, 5, "[1 1 1]", false},
	} {
		counts := make([]int, len(c.of))
		for i := range c.of {
			c.of[i] = count(&counts[i], c.of[i])
		}
		asked := scriptedClient(Options{Timeout: time.Minute, Retry: c.retry}, c.of...)
		_, err := asked.Infer(t.Context(), &Request{})
		if (err == nil) != c.right || c.asked != "" && fmt.Sprint(counts) != c.asked {
			t.Errorf("%s: %v, asked were %v, want %s", c.name, err, counts, c.asked)
		}
		sum := 0
		for _, n := range counts {
			sum += n
		}
		if retried := asked.Traffic().Retried; retried < int64(sum-1) || retried > int64(sum) {
			t.Errorf("%s: %d requests were sent, %d of them once more", c.name, sum, retried)
		}
	}
}

func TestAllServersAreDown(t *testing.T) {
	one := scriptedClient(Options{Timeout: time.Minute}, breaks)
	_ = one.at(t, 0)
	if _, err := one.Infer(t.Context(), &Request{}); !testenv.Names(err, "server a … broken") {
		t.Errorf("%v", err)
	}
	two := scriptedClient(Options{Timeout: time.Minute}, breaks, breaks)
	_, _ = two.at(t, 0), two.at(t, 1)
	if _, err := two.Infer(t.Context(), &Request{}); !testenv.Names(err, "server a … all 2 … broken") {
		t.Errorf("%v", err)
	}
}

func TestTimeoutIsTheServersFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func(ctx context.Context, _ string) (*Answer, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		c := scriptedClient(Options{Timeout: 3 * time.Second}, waits, answers)
		begin := time.Now()
		if err := c.at(t, 0); !testenv.Names(err, "server a … 3s") || time.Since(begin) != 3*time.Second || len(c.Down()) != 1 {
			t.Errorf("%v after %v, down are %q", err, time.Since(begin), c.Down())
		}
		c = scriptedClient(Options{Timeout: 3 * time.Second}, waits, answers)
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(enough) })
		c.servers[0].outstanding.Add(1)
		if _, err := c.ask(ctx, c.servers[0], &Request{}); err != enough || c.Down() != nil {
			t.Errorf("%v, down are %q", err, c.Down())
		}
	})
}

// The one with the fewest requests under way is asked, and of several the next one each time.
func TestServersTakeTurns(t *testing.T) {
	var mu sync.Mutex
	counts := map[int]int{}
	var of []func(context.Context, string) (*Answer, error)
	for i := range 5 {
		of = append(of, func(ctx context.Context, id string) (*Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			counts[i]++
			return answers(ctx, id)
		})
	}
	c := scriptedClient(Options{Timeout: time.Minute}, of...)
	for range 100 {
		if _, err := c.Infer(t.Context(), &Request{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range counts {
		if n != 20 {
			t.Errorf("server %d has %d of 100 requests, want 20", i, n)
		}
	}
	c.servers[2].outstanding.Store(-1) // it has less to do than all others
	for range 10 {
		n, err := c.pick(nil)
		if err != nil || n != c.servers[2] {
			t.Fatalf("asked is %v, %v", n.name, err)
		}
		n.outstanding.Store(-1)
	}
	for range 5 { // wherever the search begins
		if n, err := c.pick([]*server{c.servers[2]}); err != nil || n == c.servers[2] {
			t.Errorf("asked again is the server that was tried, %v", err)
		}
	}
}

// A queue is a server with some workers, in fake time.
type queue struct {
	transport
	workers chan struct{}
	service time.Duration
}

func (q *queue) infer(context.Context, *Request, string) (*Answer, error) {
	q.workers <- struct{}{}
	time.Sleep(q.service)
	<-q.workers
	return &Answer{}, nil
}

// Of eight servers with four workers each, one is three times slower, at 80 % of the load that they take if they are alike.
// Round robin lets its queue grow without an end.
func TestSlowServerGetsLess(t *testing.T) {
	const requests, workers, servers, service = 20000, 4, 8, 40 * time.Millisecond
	p99 := func(pick func(c *Client) (*server, error)) (latency time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			c := &Client{options: Options{Timeout: time.Hour}}
			for i := range servers {
				q := &queue{workers: make(chan struct{}, workers), service: service}
				if i == 0 {
					q.service *= 3
				}
				c.servers = append(c.servers, &server{transport: q})
			}
			r := rand.New(rand.NewPCG(1, 2))
			took := make([]time.Duration, requests)
			var all sync.WaitGroup
			for i := range requests {
				time.Sleep(time.Duration(r.ExpFloat64() * float64(service) / (0.8 * servers * workers)))
				s, err := pick(c)
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					begin := time.Now()
					if _, err := c.ask(context.Background(), s, &Request{}); err != nil {
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
	least := p99(func(c *Client) (*server, error) { return c.pick(nil) })
	turns := p99(func(c *Client) (*server, error) {
		s := c.servers[c.next.Add(1)%servers]
		s.outstanding.Add(1)
		return s, nil
	})
	if least > 6*service || turns < 10*least {
		t.Errorf("the 99th percentile is %v, in turns %v: want at most %v, and ten times that", least, turns, 6*service)
	}
}
