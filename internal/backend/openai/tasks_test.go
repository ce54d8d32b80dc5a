package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
)

func TestEmbeddingsAndRanks(t *testing.T) {
	for _, route := range []string{Embeddings, Rerank} {
		synctest.Test(t, func(t *testing.T) {
			g, _ := openTokens(t, tokenserver.Options{Prefill: 30 * time.Millisecond}, func(c *setup) { c.Route, c.Stream = route, false })
			r, err := ask(t, g, backend.Prompt{Text: "q", Inputs: []string{"a b", "c", "d"}})
			if err != nil || r.doneAt != 30*time.Millisecond || r.firsts != 0 || r.dones != 1 {
				t.Errorf("%s: %+v, %v", route, r, err)
			}
			if m := g.Measured(); m.Inputs != 3 || m.PromptTotal != 4 || m.Answers != 1 || m.Tokens != 0 || m.Whole.Max != 30*time.Millisecond || g.Info().Facts["route"] != route {
				t.Errorf("%s: %+v", route, m)
			}
		})
	}
}

// TEI has its own route for ranks, and its own names.
func TestRanksOfTEI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var q struct {
				Query string
				Texts []string
			}
			body, _ := io.ReadAll(r.Body)
			switch err := json.Unmarshal(body, &q); {
			case r.URL.Path != "/rerank":
				http.NotFound(w, r)
			case err != nil || q.Query == "" || q.Texts == nil:
				http.Error(w, "Failed to deserialize the JSON body into the target type: missing field `texts`", http.StatusUnprocessableEntity)
			default:
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `[{"index":1,"score":0.99},{"index":0,"score":0.01}]`)
			}
		}))
		s.Route, s.Stream = Rerank, false
		g, notes, err := open(t, s)
		if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "Text Embeddings Inference") {
			t.Fatal(notes, err)
		}
		if r, err := ask(t, g, backend.Prompt{Text: "q", Inputs: []string{"a", "b"}}); err != nil || r.text != "1:0.99 0:0.01 " {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// An answer counts if it has one item for each that was sent.
func TestWrongEmbeddingsAndRanks(t *testing.T) {
	const one, two = `{"index":0,"embedding":[1,0.5]}`, `{"index":1,"embedding":[0,-3e-9]}`
	for name, c := range map[string]struct{ route, answer, want string }{
		"both":                     {Embeddings, `{"data":[` + one + `,` + two + `]}`, ""},
		"in another order":         {Embeddings, `{"data":[` + two + `,` + one + `],"error":null}`, ""},
		"one is missing":           {Embeddings, `{"data":[` + two + `]}`, "other items than were sent: the answer has 1 of the 2 items"},
		"one twice":                {Embeddings, `{"data":[` + one + `,` + one + `]}`, "other items than were sent: the answer has item 0 twice"},
		"one more":                 {Embeddings, `{"data":[` + one + `,` + two + `,{"index":2,"embedding":[1,1]}]}`, "item 2 twice, or more than the 2"},
		"an index below 0":         {Embeddings, `{"data":[` + one + `,{"index":-1,"embedding":[1,1]}]}`, "item -1 twice"},
		"an empty one":             {Embeddings, `{"data":[` + one + `,{"index":1,"embedding":[]}]}`, "the embedding of input 1 is empty"},
		"zeros":                    {Embeddings, `{"data":[` + one + `,{"index":1,"embedding":[0,0]}]}`, "the embedding of input 1 is empty, or all of it is 0"},
		"a shorter one":            {Embeddings, `{"data":[` + one + `,{"index":1,"embedding":[1]}]}`, "the embedding of input 1 has 1 numbers, others have 2"},
		"base64":                   {Embeddings, `{"data":[{"index":0,"embedding":"AAAAPwAAgL4="},{"index":1,"embedding":"AACAPwAAAAA="}]}`, ""},
		"base64 and numbers":       {Embeddings, `{"data":[` + one + `,{"index":1,"embedding":"AACAPwAAAAA="}]}`, ""},
		"a shorter one in base64":  {Embeddings, `{"data":[` + one + `,{"index":1,"embedding":"AACAPw=="}]}`, "the embedding of input 1 has 1 numbers, others have 2"},
		"zeros in base64":          {Embeddings, `{"data":[{"index":0,"embedding":"AAAAAAAAAAA="}]}`, "the embedding of input 0 is empty, or all of it is 0"},
		"no number in base64":      {Embeddings, `{"data":[{"index":0,"embedding":"AADAfwAAgD8="}]}`, "malformed event: number 0 is NaN"},
		"half a number in base64":  {Embeddings, `{"data":[{"index":0,"embedding":"AAAA"}]}`, "malformed event: 3 bytes are no float32 numbers"},
		"what is no base64":        {Embeddings, `{"data":[{"index":0,"embedding":"*"}]}`, "malformed event"},
		"ranks instead":            {Embeddings, `{"results":[{"index":0,"relevance_score":1}]}`, "the answer has 0 of the 2 items"},
		"an error":                 {Embeddings, `{"error":{"message":"out of memory"}}`, "error in the stream: out of memory"},
		"nothing":                  {Embeddings, `{}`, "error in the stream: {}"},
		"no JSON":                  {Embeddings, `{"data":`, "malformed event"},
		"scores":                   {Rerank, `{"results":[{"index":1,"relevance_score":0.5},{"index":0,"relevance_score":0}]}`, ""},
		"TEI's list":               {Rerank, `[{"index":1,"score":0.5},{"index":0,"score":0.25}]`, ""},
		"TEI's list without one":   {Rerank, `[{"index":1,"score":0.5}]`, "the answer has 1 of the 2 items"},
		"TEI's error":              {Rerank, `{"error":"Model is overloaded","error_type":"overloaded"}`, "error in the stream: Model is overloaded"},
		"an empty list":            {Rerank, `[]`, "error in the stream: []"},
		"the best score alone":     {Rerank, `{"results":[{"index":1,"relevance_score":0.5}]}`, "the answer has 1 of the 2 items"},
		"a document without score": {Rerank, `{"results":[{"index":1,"relevance_score":0.5},{"index":0}]}`, "document 0 has no relevance_score"},
		"a document twice":         {Rerank, `{"results":[{"index":1,"relevance_score":0.5},{"index":1,"relevance_score":0.5}]}`, "item 1 twice"},
	} {
		synctest.Test(t, func(t *testing.T) {
			good := tokenserver.New(tokenserver.Options{})
			lies := false
			_, s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !lies {
					good.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, c.answer)
			}))
			s.Route, s.Stream = c.route, false
			g, _, err := open(t, s)
			if err != nil {
				t.Fatal(err)
			}
			g.(*session).dimensions.Store(0)
			lies = true
			_, err = ask(t, g, backend.Prompt{Text: "q", Inputs: []string{"a", "b"}})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		})
	}
}
