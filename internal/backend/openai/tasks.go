package openai

import (
	"fmt"
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// The routes whose answers are not texts. They come whole.
const (
	Embeddings = "embeddings"
	Rerank     = "rerank"
)

// IsTask reports whether the answers of a route are not texts.
func IsTask(route string) bool { return route == Embeddings || route == Rerank }

// taskBody writes the request for vectors of inputs, or for the scores of documents.
func (s *session) taskBody(p *backend.Prompt) ([]byte, error) {
	r := struct {
		Model     string         `json:"model"`
		Input     []string       `json:"input,omitzero"`
		Encoding  string         `json:"encoding_format,omitzero"`
		Query     string         `json:"query,omitzero"`
		Documents []string       `json:"documents,omitzero"`
		Extras    map[string]any `json:",embed"`
	}{Model: s.model, Extras: s.servers.extras.body}
	if s.config.Route == Embeddings {
		r.Input = p.Inputs
		if _, own := r.Extras["encoding_format"]; !own {
			r.Encoding = "float"
		}
	} else {
		r.Query, r.Documents = p.Text, p.Inputs
	}
	return json.Marshal(r, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// takeTask takes an answer that has a vector for each input, or a score for each document: each once.
func (a *answer) takeTask(data []byte) *failure {
	var all struct {
		event
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float64 `json:"embedding"`
		} `json:"data"`
		Results []struct {
			Index int      `json:"index"`
			Score *float64 `json:"relevance_score"`
		} `json:"results"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return a.malformed(err, data)
	}
	want, vectors := len(a.prompt.Inputs), a.session.config.Route == Embeddings
	if len(all.Error) > 0 || len(all.Data)+len(all.Results) == 0 {
		if fault := all.fault(data); fault != "" {
			return failf(kindError, "%s", a.session.quote(fault))
		}
	}
	seen := make([]bool, want)
	take := func(i int) *failure {
		if i < 0 || i >= want || seen[i] {
			return failf(kindItems, "the answer has item %d twice, or more than the %d that were sent", i, want)
		}
		seen[i] = true
		return nil
	}
	got := 0
	for _, item := range all.Data {
		if !vectors {
			break
		}
		if f := take(item.Index); f != nil {
			return f
		}
		sum := 0.0
		for _, v := range item.Embedding {
			sum += math.Abs(v)
		}
		switch size := int64(len(item.Embedding)); {
		case sum == 0:
			return failf(kindItems, "the embedding of input %d is empty, or all of it is 0", item.Index)
		case !a.session.dimensions.CompareAndSwap(0, size) && a.session.dimensions.Load() != size:
			return failf(kindItems, "the embedding of input %d has %d numbers, others have %d", item.Index, size, a.session.dimensions.Load())
		}
		a.text = fmt.Appendf(a.text, "%v", item.Embedding)
		got++
	}
	for _, item := range all.Results {
		if vectors {
			break
		}
		if f := take(item.Index); f != nil {
			return f
		}
		if item.Score == nil {
			return failf(kindItems, "document %d has no relevance_score", item.Index)
		}
		a.text = fmt.Appendf(a.text, "%d:%v ", item.Index, *item.Score)
		got++
	}
	if got != want {
		return failf(kindItems, "the answer has %d of the %d items that were sent", got, want)
	}
	a.promptTokens = max(all.Usage.PromptTokens, 0)
	return nil
}

// readTask reads an answer that has no text, counts it and hands it over.
func (a *answer) readTask(r *timedReader) *failure {
	data, f := readAll(r)
	if f == nil {
		f = a.takeTask(data)
	}
	if f != nil {
		return f
	}
	took := time.Since(a.sent)
	a.end()
	a.sink.Done(backend.Answer{Text: a.text})
	a.session.stats.answered(a, took)
	return nil
}
