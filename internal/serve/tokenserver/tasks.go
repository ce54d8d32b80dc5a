package tokenserver

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// inputs are a text or several.
type inputs []string

// UnmarshalJSON implements json.Unmarshaler.
func (i *inputs) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*i = inputs{text}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(i))
}

// serveTask answers a request for embeddings or ranks, Prefill after it came. Its numbers follow from the texts.
func (s *Server) serveTask(w http.ResponseWriter, r *http.Request) {
	began, fault := clock.Now(), s.options.Fault(int(s.requests.Add(1))-1)
	if fault == Refuse {
		refuse(w, http.StatusInternalServerError, "internal error")
		return
	}
	var q struct {
		Input     inputs   `json:"input"`
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	ranks, texts := strings.HasSuffix(r.URL.Path, "/rerank"), []string(q.Input)
	if ranks {
		texts = q.Documents
	}
	if err != nil || len(texts) == 0 {
		refuse(w, http.StatusBadRequest, fmt.Sprint("no texts: ", err))
		return
	}
	type item map[string]any
	var items []item
	words := 0
	for i, text := range texts {
		words += len(strings.Fields(text))
		h := fnv.New64a()
		_, _ = io.WriteString(h, q.Query+"\x00"+text)
		if ranks {
			items = append(items, item{"index": i, "relevance_score": float64(h.Sum64()>>11) / (1 << 53)})
			continue
		}
		vector := make([]float64, 8)
		for k := range vector {
			vector[k] = float64(h.Sum64()>>(8*k)&0xff)/256 - 0.5
		}
		items = append(items, item{"object": "embedding", "index": i, "embedding": vector})
	}
	if fault == Empty {
		items = items[:len(items)-1]
	}
	a := &answer{ctx: r.Context(), began: began}
	if !a.wait(s.options.Prefill) {
		return
	}
	document := map[string]any{"object": "list", "model": "m", "data": items, "usage": map[string]int{"prompt_tokens": words, "total_tokens": words}}
	if ranks {
		document["results"] = items
		delete(document, "data")
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document) // the client may have gone
}
