//go:build ort

package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/serve"
)

// ofFew is a request for a built-in model with a few samples of data.
func ofFew(t *testing.T, name string, samples int) run.Request {
	t.Helper()
	m, err := models.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	recipe := m.BuiltIn.(workload.Recipe)
	recipe.Samples = samples
	m.BuiltIn = recipe
	maker := builtin.Maker{Dir: t.TempDir(), Engine: orttest.Engine(t), Observer: harness.Silent{}}
	q := run.Request{Program: "mlperf test", Model: name, Scenario: "offline", Mode: "accuracy", NoReport: true, Engine: engine.Config{Library: os.Getenv("MLPERF_ORT_LIB")}}
	if q.DatasetPath, err = maker.Dataset(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if q.ModelPath, err = maker.Model(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return q
}

// prepare makes a request ready.
func prepare(t *testing.T, q run.Request) *run.Prepared {
	t.Helper()
	q.Output = filepath.Join(t.TempDir(), "out")
	r, err := run.Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Provide(t.Context(), harness.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// offered serves the model of a request, and returns where and under which names.
func offered(t *testing.T, q run.Request) (endpoint string, names []string) {
	t.Helper()
	p := prepare(t, q)
	offer, err := serve.Open(t.Context(), p, serve.Options{Name: p.ModelName()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	addresses, ended := make(chan net.Addr, 1), make(chan error, 1)
	w := serve.Web{Listen: "127.0.0.1:0", Name: "mlperf", OpenAI: serve.NewOpenAI([]*serve.Offer{offer})}
	go func() {
		ended <- w.Run(ctx, offer.Models(), func(http, _ net.Addr) { addresses <- http })
	}()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, offer.Close()); err != nil {
			t.Error(err)
		}
	})
	for _, m := range offer.Models() {
		names = append(names, m.Metadata().Name)
	}
	return "http://" + (<-addresses).String(), names
}

// An answer is what is logged of a sample.
type answer struct {
	Sample int    `json:"qsl_idx"`
	Data   string `json:"data"`
	Tokens int    `json:"token_count"`
}

// scored runs a request, and returns its score and answers.
func scored(t *testing.T, q run.Request) (string, []answer) {
	t.Helper()
	p := prepare(t, q)
	r, err := p.Run(t.Context())
	if err != nil || r.Result != report.Valid {
		t.Fatalf("%v, %+v", err, r)
	}
	text, err := os.ReadFile(filepath.Join(p.Request.Output, "mlperf_log_accuracy.json"))
	var answers []answer
	if err == nil {
		err = json.Unmarshal(text, &answers)
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(answers, func(a, b answer) int { return a.Sample - b.Sample })
	if r.Accuracy == nil {
		return r.NotScored, answers
	}
	return strings.Join(r.Accuracy.Lines, "\n"), answers
}

// video is the model whose servers also take requests for videos.
const video = "wan-2.2-t2v-a14b"

// Servers give the same answers as the model here, asked file by file, for whole samples, or for videos of prompts.
func TestORTServersAnswerWhatTheModelAnswersHere(t *testing.T) {
	for _, c := range []struct {
		model   string
		samples int
		names   string // of what is offered, without that of the model
	}{
		{"whisper", 2, "encoder decoder decoder_with_past task"},
		{"stable-diffusion-xl", 2, "text_encoder text_encoder_2 unet vae_decoder task"},
		{video, 1, "text_encoder transformer transformer_2 vae_decoder task"},
	} {
		t.Run(c.model, func(t *testing.T) {
			t.Parallel()
			q := ofFew(t, c.model, c.samples)
			q.MaxBatch, q.Instances = 1, 1 // as servers are asked, and in the order of the data
			score, here := scored(t, q)
			q.MaxBatch, q.Instances = 0, 0
			endpoint, names := offered(t, q)
			if got := strings.ReplaceAll(strings.Join(names, " "), c.model+"-", ""); got != c.names {
				t.Errorf("offered are %s, want %s", got, c.names)
			}
			q.ModelPath, q.Engine.Name = "", engine.OIP
			q.Engine.Remote = engine.Remote{Endpoints: []string{endpoint}, Concurrency: 1} // sums depend on their order
			divisions := []string{"closed", "network"}
			if c.model == video { // each run takes seconds
				divisions = divisions[1:]
			}
			for _, q.Division = range divisions {
				text, there := scored(t, q)
				if len(there) != c.samples || !slices.Equal(there, here) {
					t.Errorf("%s division: %d answers are others than those here", q.Division, len(there))
				}
				if text != score {
					t.Errorf("%s division: the score is %s, here %s", q.Division, text, score)
				}
			}
			if c.model == video {
				q.Division, q.Engine.Name = "closed", engine.OpenAI
				if _, there := scored(t, q); !slices.Equal(there, here) {
					t.Errorf("/v1/videos/generations: %d answers are others than those here", len(there))
				}
			}
		})
	}
}
