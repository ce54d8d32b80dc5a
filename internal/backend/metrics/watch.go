package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// Config says where metrics are.
type Config struct {
	URLs []string
	TLS  credentials.TLS
	// Dial connects instead of the network; for tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Of is the address at which a server of texts usually has its metrics.
func Of(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return ""
	}
	for _, route := range []string{"/chat/completions", "/completions", "/embeddings", "/rerank", "/v1"} {
		u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), route)
	}
	u.User, u.RawQuery = nil, ""
	return u.JoinPath("metrics").String()
}

const (
	every    = time.Second
	patience = 900 * time.Millisecond // for an answer: a late one is none
	maxText  = 8 << 20
)

// A Watcher asks for metrics until it is closed.
type Watcher struct {
	client  *http.Client
	sources []*source
	stop    context.CancelFunc
	running sync.WaitGroup
}

// A source is an address.
type source struct {
	url, name string

	mu    sync.Mutex
	at    time.Time
	found map[string]family
}

// errNothing is the error of an address without anything that is shown.
var errNothing = errors.New("it has no metrics that are known here")

// Watch asks each address once, and then each second until the Watcher is closed. Addresses without metrics are left out, with
// what they answered as an error. A nil Watcher has no gauges.
func Watch(ctx context.Context, c Config) (*Watcher, error) {
	tls, err := c.TLS.Client()
	if err != nil {
		return nil, err
	}
	w := &Watcher{client: &http.Client{
		Transport:     &http.Transport{TLSClientConfig: tls, DialContext: c.Dial, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	known := map[string]bool{}
	for _, f := range figures {
		for _, name := range slices.Concat(f.names, f.of) {
			known[name] = true
		}
	}
	var errs []error
	for _, address := range c.URLs {
		u, err := url.Parse(address)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s := &source{url: address, name: u.Host}
		if err := w.ask(ctx, s, known); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", u.Redacted(), err))
			continue
		}
		if len(s.found) == 0 {
			errs = append(errs, fmt.Errorf("%s: %w", u.Redacted(), errNothing))
			continue
		}
		w.sources = append(w.sources, s)
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, s := range w.sources {
		w.running.Go(func() {
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
					_ = w.ask(ctx, s, known) // the reading before gets too old then
				}
			}
		})
	}
	return w, errors.Join(errs...)
}

// Close ends asking.
func (w *Watcher) Close() {
	if w == nil {
		return
	}
	w.stop()
	w.running.Wait()
	w.client.CloseIdleConnections()
}

// ask reads the metrics of an address.
func (w *Watcher) ask(ctx context.Context, s *source, known map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	found, err := parse(io.LimitReader(response.Body, maxText), known)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.found = clock.Now(), found
	return nil
}

// Gauges read the figures that the servers have: of each server, if there are several.
func (w *Watcher) Gauges() (list []machine.Gauge) {
	if w == nil {
		return nil
	}
	for _, s := range w.sources {
		for _, f := range figures {
			name, of := s.has(f.names), s.has(f.of)
			if name == "" || f.kind == share && of == "" {
				continue
			}
			label := f.name
			if len(w.sources) > 1 {
				label += ", " + s.name
			}
			list = append(list, machine.Gauge{Name: label, Unit: f.unit, Server: s.name, Running: f.running, Read: s.reader(f.kind, name, of)})
		}
	}
	return list
}

// has is the first of the names that the server has; empty: none.
func (s *source) has(names []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if _, ok := s.found[name]; ok {
			return name
		}
	}
	return ""
}

// reader reads a figure; NaN: the server has not told it for some time.
func (s *source) reader(k kind, name, of string) func() float64 {
	var last, whole family
	var before time.Time
	return func() float64 {
		s.mu.Lock()
		f, all, at := s.found[name], s.found[of], s.at
		s.mu.Unlock()
		const old = 3 * every
		if f.count == 0 || clock.Since(at) > old {
			return math.NaN()
		}
		switch k {
		case level:
			return f.sum
		case mean:
			return f.sum / float64(f.count)
		case percent:
			return 100 * f.sum / float64(f.count)
		}
		grown, ofAll, passed, first := f.sum-last.sum, all.sum-whole.sum, at.Sub(before).Seconds(), before.IsZero()
		if first || passed > 0 {
			last, whole, before = f, all, at
		}
		switch {
		case first, passed <= 0, grown < 0: // a server that was restarted counts anew
			return math.NaN()
		case k == growth:
			return grown / passed
		case ofAll <= 0:
			return math.NaN()
		}
		return 100 * grown / ofAll
	}
}
