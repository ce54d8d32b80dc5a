package openai

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// stats are what is measured of requests.
type stats struct {
	first, whole, per, between *backend.Times

	answers, retries, pieces, tokens, prompts, cut atomic.Int64
	active, most                                   atomic.Int64

	mu       sync.Mutex
	failures map[string]*backend.Failures
	counted  map[string]int64
	finished map[string]int64
}

func newStats() *stats {
	s := &stats{first: backend.NewTimes(), whole: backend.NewTimes(), per: backend.NewTimes(), between: backend.NewTimes()}
	s.reset()
	return s
}

func (s *stats) reset() {
	for _, h := range []*backend.Times{s.first, s.whole, s.per, s.between} {
		h.Reset()
	}
	for _, n := range []*atomic.Int64{&s.answers, &s.retries, &s.pieces, &s.tokens, &s.prompts, &s.cut} {
		n.Store(0)
	}
	s.most.Store(s.active.Load())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures, s.counted, s.finished = map[string]*backend.Failures{}, map[string]int64{}, map[string]int64{}
}

// begin counts a request that is under way from now on.
func (s *stats) begin() {
	n := s.active.Add(1)
	for {
		most := s.most.Load()
		if n <= most || s.most.CompareAndSwap(most, n) {
			return
		}
	}
}

// mostNames is how many kinds of failures, and reasons to end, are told apart: servers choose them.
const mostNames = 32

// others stands for those beyond.
const others = "others"

func (s *stats) fail(f *failure) {
	if f.kind == kindEnded {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := f.kind
	if s.failures[kind] == nil && len(s.failures) >= mostNames {
		kind = others
	}
	if s.failures[kind] == nil {
		s.failures[kind] = &backend.Failures{Kind: kind, First: f.err.Error()}
	}
	s.failures[kind].Count++
}

// answered adds an answer.
func (s *stats) answered(c *call, whole time.Duration) {
	s.answers.Add(1)
	s.pieces.Add(int64(c.pieces))
	s.tokens.Add(int64(c.tokens))
	s.prompts.Add(int64(max(0, c.promptTokens)))
	if c.cut {
		s.cut.Add(1)
	}
	s.whole.Add(whole)
	if c.pieces > 1 && c.tokens > 1 {
		s.per.Add((whole - c.begun) / time.Duration(c.tokens-1))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted[c.counted]++
	finish := c.finish
	if _, known := s.finished[finish]; !known && len(s.finished) >= mostNames {
		finish = others
	}
	s.finished[finish]++
}

func (s *stats) measured() backend.Generated {
	g := backend.Generated{
		Answers: s.answers.Load(), Retries: s.retries.Load(), Pieces: s.pieces.Load(), Tokens: s.tokens.Load(),
		PromptTotal: s.prompts.Load(), Most: s.most.Load(), Tokenized: s.cut.Load(),
		FirstToken: s.first.Spread(), Whole: s.whole.Spread(), PerToken: s.per.Spread(), Between: s.between.Spread(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.failures {
		g.Failures = append(g.Failures, *f)
	}
	slices.SortFunc(g.Failures, func(a, b backend.Failures) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Kind, b.Kind))
	})
	g.Counted, g.Finished = sources(s.counted), maps.Clone(s.finished)
	return g
}

// sources says where numbers of tokens come from.
func sources(counted map[string]int64) string {
	names := slices.Sorted(maps.Keys(counted))
	if len(names) == 1 {
		return names[0]
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s (%d answers)", name, counted[name]))
	}
	return strings.Join(parts, "; ")
}
