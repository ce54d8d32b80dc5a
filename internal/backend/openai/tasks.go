package openai

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// The routes whose answers are not texts. They come whole.
const (
	Embeddings = "embeddings"
	Rerank     = "rerank"
)

// IsTask reports whether the answers of a route are not texts.
func IsTask(route string) bool { return route == Embeddings || route == Rerank || route == Videos }

// probeTask asks the first server for two vectors or scores. The notes say what it refused. A video takes too long for that.
func (s *session) probeTask(ctx context.Context) (notes []string, err error) {
	if s.config.Route == Videos {
		return nil, nil
	}
	ask := func() error {
		return s.Generate(ctx, &backend.Prompt{Text: "Hello", Inputs: []string{"Hello", "world"}}, discard{})
	}
	err = ask()
	if f := (*failure)(nil); s.config.Route == Rerank && errors.As(err, &f) && slices.Contains(refusals, f.status) {
		s.dialect.tei = true
		if ask() == nil {
			return []string{"the server refused a request (" + f.Error() + "): documents are sent to /rerank, as Text Embeddings Inference takes them"}, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.servers.list[0].url, err)
	}
	return nil, nil
}

// taskURL is where requests for vectors or scores go.
func (s *session) taskURL(root string) string {
	if s.dialect.tei {
		root = strings.TrimSuffix(root, "/v1")
	}
	return root + "/" + s.config.Route
}

// taskBody writes the request for vectors of inputs, or for the scores of documents.
func (s *session) taskBody(p *backend.Prompt) ([]byte, error) {
	if s.config.Route == Videos {
		return s.videoBody(p)
	}
	r := struct {
		Model     string         `json:"model"`
		Input     []string       `json:"input,omitzero"`
		Encoding  string         `json:"encoding_format,omitzero"`
		Query     string         `json:"query,omitzero"`
		Documents []string       `json:"documents,omitzero"`
		Texts     []string       `json:"texts,omitzero"` // TEI's name for documents
		Extras    map[string]any `json:",embed"`
	}{Model: s.model, Extras: s.servers.extras.body}
	switch {
	case s.config.Route == Embeddings:
		r.Input = p.Inputs
		if _, own := r.Extras["encoding_format"]; !own {
			r.Encoding = "float"
		}
	case s.dialect.tei:
		r.Query, r.Texts = p.Text, p.Inputs
	default:
		r.Query, r.Documents = p.Text, p.Inputs
	}
	return json.Marshal(r, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// takeTask takes an answer that has a vector for each input, or a score for each document: each once.
func (a *answer) takeTask(data []byte) *failure {
	if a.session.config.Route == Videos {
		return a.takeVideo(data)
	}
	var all struct {
		event
		Data    []embedding `json:"data"`
		Results []rank      `json:"results"`
	}
	read := func() error { return json.Unmarshal(data, &all) }
	if a.session.config.Route == Rerank && jsontext.Value(data).Kind() == '[' { // TEI
		read = func() error { return json.Unmarshal(data, &all.Results) }
	}
	if err := read(); err != nil {
		return a.malformed(err, data)
	}
	if len(all.Error) > 0 || len(all.Data)+len(all.Results) == 0 {
		if fault := all.fault(data); fault != "" {
			return failf(kindError, "%s", a.session.quote(fault))
		}
	}
	a.promptTokens = min(max(all.Usage.PromptTokens, 0), math.MaxInt32)
	if a.session.config.Route == Rerank {
		return a.takeRanks(all.Results)
	}
	return a.takeEmbeddings(all.Data)
}

// An embedding is the vector of an input: numbers, or the base64 of float32 numbers, least significant bytes first.
type embedding struct {
	Index     int            `json:"index"`
	Embedding jsontext.Value `json:"embedding"`
}

// numbers is the length of the vector, and whether a number is not 0.
func (e embedding) numbers() (n int, some bool, err error) {
	if e.Embedding.Kind() != '"' {
		var list []float64
		err = json.Unmarshal(e.Embedding, &list)
		return len(list), slices.ContainsFunc(list, func(v float64) bool { return v != 0 }), err
	}
	var bytes []byte // of base64
	if err = json.Unmarshal(e.Embedding, &bytes); err == nil && len(bytes)%4 != 0 {
		err = fmt.Errorf("%d bytes are no float32 numbers", len(bytes))
	}
	for i := 0; i+4 <= len(bytes); i += 4 {
		v := math.Float32frombits(binary.LittleEndian.Uint32(bytes[i:]))
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return 0, false, fmt.Errorf("number %d is %v", i/4, v)
		}
		some = some || v != 0
	}
	return len(bytes) / 4, some, err
}

// A rank is the score of a document. TEI calls it score.
type rank struct {
	Index int      `json:"index"`
	Score *float64 `json:"relevance_score"`
	TEI   *float64 `json:"score"`
}

// An item is a hash of what was sent, and one of what came back for it.
type item struct{ sent, got uint64 }

func (a *answer) takeEmbeddings(list []embedding) *failure {
	came := make(seen, len(a.prompt.Inputs))
	for _, e := range list {
		if f := came.take(e.Index); f != nil {
			return f
		}
		n, some, err := e.numbers()
		switch size := int64(n); {
		case err != nil:
			return a.malformed(err, e.Embedding)
		case !some:
			return failf(kindItems, "the embedding of input %d is empty, or all of it is 0", e.Index)
		case !a.session.dimensions.CompareAndSwap(0, size) && a.session.dimensions.Load() != size:
			return failf(kindItems, "the embedding of input %d has %d numbers, others have %d", e.Index, size, a.session.dimensions.Load())
		}
		seed := a.session.stats.seed
		a.items = append(a.items, item{maphash.String(seed, a.prompt.Inputs[e.Index]), maphash.Bytes(seed, e.Embedding)})
		a.text = append(a.text, e.Embedding...)
	}
	return came.all(len(list))
}

func (a *answer) takeRanks(list []rank) *failure {
	came, differ := make(seen, len(a.prompt.Inputs)), false
	for _, r := range list {
		if f := came.take(r.Index); f != nil {
			return f
		}
		score := cmp.Or(r.Score, r.TEI)
		if score == nil {
			return failf(kindItems, "document %d has no relevance_score", r.Index)
		}
		differ = differ || *score != *cmp.Or(list[0].Score, list[0].TEI)
		a.text = fmt.Appendf(a.text, "%d:%v ", r.Index, *score)
	}
	one := item{sent: a.request}
	if differ || len(list) == 1 { // one score for all ranks nothing: it is the same answer, whatever it is
		one.got = maphash.Bytes(a.session.stats.seed, a.text)
	}
	a.items = append(a.items, one)
	return came.all(len(list))
}

// seen are the items of an answer that came, of those that were sent.
type seen []bool

// take takes the item of an index, which comes once.
func (s seen) take(i int) *failure {
	if i < 0 || i >= len(s) || s[i] {
		return failf(kindItems, "the answer has item %d twice, or more than the %d that were sent", i, len(s))
	}
	s[i] = true
	return nil
}

// all reports the items that are missing, if n came.
func (s seen) all(n int) *failure {
	if n < len(s) {
		return failf(kindItems, "the answer has %d of the %d items that were sent", n, len(s))
	}
	return nil
}

// readTask reads an answer that has no text, counts it and hands it over.
func (a *answer) readTask(r *timedReader) *failure {
	most := int64(maxWhole)
	if a.session.config.Route == Videos {
		most = maxVideoAnswer
	}
	data, f := readAll(r, most)
	if f == nil {
		f = a.takeTask(data)
	}
	if f != nil {
		return f
	}
	took := clock.Since(a.sent)
	a.end()
	a.sink.Done(backend.Answer{Text: a.text})
	a.session.stats.answered(a, took)
	return nil
}
