package openai

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// The sources of numbers of tokens.
const (
	countedByServer = "usage, as the server tells it"
	countedIDs      = "the token ids of the answers"
	countedLocally  = "a local tokenizer"
	countedPieces   = "the pieces of the answers, because the server does not tell and there is no tokenizer: they may have more than a token each"
)

// stats count requests and time their answers.
type stats struct {
	first, latency, perToken, between *backend.Times

	mu          sync.Mutex
	outstanding int64
	sums        backend.Generated // the counts of it
	failures    map[string]*backend.Failures
	counted     map[string]int64 // answers by the source of their number of tokens
}

func newStats() *stats {
	s := &stats{first: backend.NewTimes(), latency: backend.NewTimes(), perToken: backend.NewTimes(), between: backend.NewTimes()}
	s.reset()
	return s
}

func (s *stats) reset() {
	for _, t := range []*backend.Times{s.first, s.latency, s.perToken, s.between} {
		t.Reset()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums = backend.Generated{Most: s.outstanding, Finished: map[string]int64{}}
	s.failures, s.counted = map[string]*backend.Failures{}, map[string]int64{}
}

// begin counts a request that is outstanding until end.
func (s *stats) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outstanding++
	s.sums.Most = max(s.sums.Most, s.outstanding)
}

func (s *stats) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outstanding--
}

func (s *stats) retry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums.Retries++
}

// fail counts a failure, unless the test had ended.
func (s *stats) fail(f *failure) {
	if f.kind == kindEnded {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures[f.kind] == nil {
		s.failures[f.kind] = &backend.Failures{Kind: f.kind, First: f.err.Error()}
	}
	s.failures[f.kind].Count++
}

// answered counts an answer.
func (s *stats) answered(a *answer, took time.Duration) {
	s.latency.Add(took)
	if a.pieces > 1 && a.tokens > 1 {
		s.perToken.Add((took - a.first) / time.Duration(a.tokens-1))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums.Answers++
	s.sums.Pieces += int64(a.pieces)
	s.sums.Tokens += int64(a.tokens)
	s.sums.PromptTotal += a.promptTokens
	if a.tokenized {
		s.sums.Tokenized++
	}
	s.counted[a.counted]++
	s.sums.Finished[a.finish]++
}

func (s *stats) measured() backend.Generated {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.sums
	g.FirstToken, g.Whole, g.PerToken, g.Between = s.first.Spread(), s.latency.Spread(), s.perToken.Spread(), s.between.Spread()
	g.Finished = maps.Clone(g.Finished)
	for _, f := range s.failures {
		g.Failures = append(g.Failures, *f)
	}
	slices.SortFunc(g.Failures, func(a, b backend.Failures) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Kind, b.Kind))
	})
	sources := slices.Sorted(maps.Keys(s.counted))
	if len(sources) > 1 {
		for i, source := range sources {
			sources[i] = fmt.Sprintf("%s (%d answers)", source, s.counted[source])
		}
	}
	g.Counted = strings.Join(sources, "; ")
	return g
}
