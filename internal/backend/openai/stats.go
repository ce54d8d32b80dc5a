package openai

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
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
	// Answers that are counted again after the test, of those whose tokens the server tells: each had the same chance.
	told    int64
	sampled []sampledAnswer
	random  *rand.Rand
	last    map[uint64]uint64 // hash of the last answer by the hash of its request
	seed    maphash.Seed
}

// A sampledAnswer is an answer, and its number of tokens as the server tells it. It has a text or token ids.
type sampledAnswer struct {
	text   []byte
	ids    []int32
	tokens int64
	calls  int64 // of tools
}

// mostSampled is the number of sampled answers.
const mostSampled = 64

func newStats() *stats {
	s := &stats{seed: maphash.MakeSeed(), first: backend.NewTimes(), latency: backend.NewTimes(), perToken: backend.NewTimes(),
		between: backend.NewTimes()}
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
	s.failures, s.counted, s.last = map[string]*backend.Failures{}, map[string]int64{}, map[uint64]uint64{}
	s.told, s.sampled, s.random = 0, nil, rand.New(rand.NewPCG(1, 2))
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

func (s *stats) resent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums.Resent++
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

// givenUp counts an answer that was given up after some pieces.
func (s *stats) givenUp(pieces int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums.Cancelled++
	s.sums.CancelledPieces += int64(pieces)
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
	const mostInPiece = 16 // servers gather up to 10 (stream_interval of vLLM)
	if a.pieces > 0 && a.tokens > mostInPiece*a.pieces {
		s.sums.Gathered.Answers++
		s.sums.Gathered.Pieces += int64(a.pieces)
		s.sums.Gathered.Tokens += int64(a.tokens)
	}
	s.sums.PromptTotal += a.promptTokens
	s.sums.Inputs += int64(len(a.prompt.Inputs))
	if a.prompt.Video != nil {
		s.sums.Videos++
	}
	s.sums.Cached += min(a.cached, a.promptTokens)
	if a.tokenized {
		s.sums.Tokenized++
	}
	s.counted[a.counted]++
	s.sums.Finished[a.finish]++
	var ids []int32 // of the server
	if !a.tokenized {
		ids = a.ids
	}
	content := a.text
	if len(content) == 0 {
		content = fmt.Append(nil, ids)
	}
	for _, i := range a.items {
		s.last[i.sent] = i.got
	}
	if a.items == nil {
		s.last[a.request] = maphash.Bytes(s.seed, content)
	}
	if c := &s.sums.Check; a.usage > 0 && len(ids) > 0 {
		c.WithIDs++
		c.Usage += a.usage
		c.IDs += int64(len(ids))
	}
	told := max(a.usage, int64(len(ids)))
	if told == 0 || a.session.texts.Tokenize == nil {
		return
	}
	s.told++
	if at := s.random.Int64N(s.told); len(s.sampled) < mostSampled || at < mostSampled {
		one := sampledAnswer{text: bytes.Clone(a.text), tokens: told, calls: a.namedCalls()}
		if len(one.text) == 0 {
			one.ids = slices.Clone(ids)
		}
		if len(s.sampled) < mostSampled {
			s.sampled = append(s.sampled, one)
		} else {
			s.sampled[at] = one
		}
	}
}

// count counts the tokens of the sampled answers with the tokenizer.
func (s *session) count(c *backend.TokenCheck) {
	s.stats.mu.Lock()
	sampled := slices.Clone(s.stats.sampled)
	s.stats.mu.Unlock()
	calls := int64(0)
	for _, a := range sampled {
		text := a.text
		if len(a.ids) > 0 {
			decoded, err := s.texts.Detokenize(a.ids)
			if err != nil {
				c.Unknown = err.Error()
				continue
			}
			text = []byte(decoded)
		}
		ids, err := s.texts.Tokenize(text)
		if err != nil {
			c.Unknown = err.Error()
			continue
		}
		c.Answers++
		calls += a.calls
		c.Told += a.tokens
		c.Counted += int64(len(ids))
	}
	// Now and then a model says a word in other tokens than those that the tokenizer makes of it, or in bytes: one token in
	// twenty may be of this kind. The tokenizer makes the same tokens of its own text again. On average answers have fewer
	// hidden tokens than one may have.
	c.Allowed = c.Counted/20 + c.Answers*s.mostHidden()/2 + calls*mostAroundCall
}

func (s *stats) measured() backend.Generated {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.sums
	g.FirstToken, g.Whole, g.PerToken, g.Between = s.first.Spread(), s.latency.Spread(), s.perToken.Spread(), s.between.Spread()
	g.Finished = maps.Clone(g.Finished)
	answers := slices.Sorted(maps.Values(s.last))
	g.Prompts, g.Distinct = int64(len(answers)), int64(len(slices.Compact(answers)))
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
