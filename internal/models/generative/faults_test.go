package generative

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A scriptedSession is a decoder with the scores of a test.
type scriptedSession struct {
	ports workload.Ports
	say   func(ctx context.Context, run int, scores []float32) error
	runs  int
}

type boundTensor struct{ t tensor.Tensor }

func (b boundTensor) Tensor() tensor.Tensor { return b.t }
func (boundTensor) Close() error            { return nil }

func (s *scriptedSession) Info() backend.Info {
	return backend.Info{Inputs: s.ports.Inputs, Outputs: s.ports.Outputs}
}
func (s *scriptedSession) Bind(t tensor.Tensor) (backend.Value, error) { return boundTensor{t}, nil }
func (s *scriptedSession) Close() error                                { return nil }

func (s *scriptedSession) Run(ctx context.Context, _, out []backend.Value) error {
	s.runs++
	scores := tensor.Data[float32](out[0].Tensor())
	clear(scores)
	return s.say(ctx, s.runs, scores)
}

// A tokenCounter counts tokens of answers.
type tokenCounter map[int]int

func (tokenCounter) FirstToken(int, []byte)                  {}
func (c tokenCounter) Done(ticket int, _ []byte, tokens int) { c[ticket] = tokens }

const smallTokenizer = `{"model": {"type": "BPE", "ignore_merges": true, "vocab": {"a": 0, "b": 250}, "unk_token": "a"}}`

// Faults of prompts, files and models give neither a wrong answer nor a hang.
func TestFaults(t *testing.T) {
	stopped := errors.New("interrupted by the user")
	first := func(_ context.Context, _ int, scores []float32) error { scores[3] = 1; return nil }
	for _, c := range []struct {
		name    string
		files   map[string]string
		spoil   func(p *workload.Ports)
		options workload.Values
		say     func(ctx context.Context, run int, scores []float32) error
		want    string // empty: both prompts are answered with 10 tokens
	}{
		{name: "a prompt longer than the context", options: workload.Values{"context": "14"}, want: "prompt 1 … 5 tokens … 10 … 14"},
		{name: "an empty prompt", files: map[string]string{"cnn_eval.json": strings.Replace(twoArticles, "4, 5, 6, 7, 8", "", 1)}, want: "prompt 1 … empty"},
		{name: "a tokenizer of another model", files: map[string]string{"tokenizer.json": smallTokenizer}, want: "they do not belong together"},
		{name: "a cache of another shape", spoil: func(p *workload.Ports) { p.Inputs[3].Shape[1] = 4 }, want: "past_key_values.0.value … float32[? 4 ? 8]"},
		{name: "a cache of another type", spoil: func(p *workload.Ports) { p.Inputs[2].Type = tensor.Int64 }, want: "past_key_values.0.key … int64"},
		{name: "a cache that comes out otherwise", spoil: func(p *workload.Ports) { p.Outputs[1].Type = tensor.Float16 }, want: "present.0.key … float16"},
		{name: "a missing key", files: map[string]string{"genai_config.json": strings.Replace(export, `"context_length"`, `"context"`, 1)}, want: "model.context_length … missing"},
		{name: "NaN scores", say: func(_ context.Context, _ int, scores []float32) error {
			for i := range scores {
				scores[i] = float32(math.NaN())
			}
			return nil
		}, want: "not numbers"},
		{name: "scores that stop being numbers", say: func(_ context.Context, run int, scores []float32) error {
			if scores[3] = 1; run > 4 {
				scores[3] = float32(math.Inf(1))
			}
			return nil
		}, want: "not numbers"},
		{name: "a model that never ends", say: first},
		{name: "Ctrl-C in the middle of a prompt", options: workload.Values{"prefill-chunk": "2"}, say: func(ctx context.Context, run int, scores []float32) error {
			if run == 2 {
				return stopped
			}
			return first(ctx, run, scores)
		}, want: "reading the prompt: interrupted by the user"},
		{name: "a sampling that cannot be", options: workload.Values{"sampling": "temperature=-1"}, want: "temperature … -1 … 0"},
		{name: "a sampling of nothing known", options: workload.Values{"sampling": "warm"}, want: `"warm" … greedy … model`},
		{name: "a sampling that no file asks for", options: workload.Values{"sampling": "model"}, want: "no genai_config.json"},
		{name: "a sampled answer", options: workload.Values{"sampling": "temperature=0.5,top_k=5,top_p=0.9,seed=7"}, say: first},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"cnn_eval.json": twoArticles, "none.onnx": ""}
			for name, text := range c.files {
				files[name] = text
			}
			dir, ports := folderWith(t, files), decoderPorts()
			if c.spoil != nil {
				p := ports[workload.Only]
				c.spoil(&p)
				ports[workload.Only] = p
			}
			counted, err := answered(t, workload.Setup{DatasetDir: dir, ModelPath: filepath.Join(dir, "none.onnx"), Ports: ports, Options: c.options}, c.say)
			switch {
			case c.want != "" && !testenv.Names(err, c.want):
				t.Errorf("error %v, want %q", err, c.want)
			case c.want != "" && len(counted) > 0:
				t.Errorf("%d prompts were answered all the same", len(counted))
			case c.want == "" && (err != nil || counted[0] != 10 || counted[1] != 10):
				t.Errorf("answers of %v tokens, %v; want 10 each", counted, err)
			}
		})
	}
}

// answered has a scripted decoder answer two prompts.
func answered(t *testing.T, s workload.Setup, say func(ctx context.Context, run int, scores []float32) error) (tokenCounter, error) {
	t.Helper()
	w := benchmark{rules: decode.Rules{Stop: []int32{9}, MinNew: 1, MaxNew: 10, Width: 4}, read: readArticles}
	opened, err := w.open(s)
	if err != nil {
		return nil, err
	}
	p, err := opened.NewDecoder(workload.Sessions{workload.Only: &scriptedSession{ports: s.Ports[workload.Only], say: say}}, 1)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	store, err := workload.NewStore(2, opened.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range 2 {
		if err := opened.Prepare(i, store.Row(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	counted := tokenCounter{}
	return counted, p.Predict(t.Context(), []workload.Item{{Row: 0, Index: 0, Ticket: 0}, {Row: 1, Index: 1, Ticket: 1}}, counted)
}

// What genai_config.json asks for is mentioned, and done only if it is asked for; then it speaks against the result.
func TestSamplingNotes(t *testing.T) {
	asks := strings.Replace(export, `"search": {`, `"search": {"do_sample": true, "temperature": 0.6, "top_k": 50, "top_p": 0.9, `, 1)
	asks = strings.NewReplacer("past.%d.k", "past_key_values.%d.key", "past.%d.v", "past_key_values.%d.value", "now.%d.k", "present.%d.key", "now.%d.v", "present.%d.value").Replace(asks)
	asks = strings.Replace(asks, `, "past_present_share_buffer": true`, "", 1)
	dir := folderWith(t, map[string]string{"cnn_eval.json": twoArticles, "genai_config.json": asks, "decoder.onnx": ""})
	for option, want := range map[string]string{"": "the likeliest token is taken, as the benchmark does; " + filepath.Join(dir, "genai_config.json"), "model": "tokens are drawn at temperature 0.6, top_k 50, top_p 0.9"} {
		w := benchmark{rules: decode.Rules{Stop: []int32{128001, 128009}, MinNew: 1, MaxNew: 10, Width: 4}, read: readArticles}
		opened, err := w.open(workload.Setup{DatasetDir: dir, ModelPath: dir, Ports: decoderPorts(), Options: workload.Values{"sampling": option}})
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(opened.Notes, "\n"); !strings.Contains(notes, want) {
			t.Errorf("--sampling %q: notes\n%s\nwant %q", option, notes, want)
		}
		if list := opened.Limitations; (len(list) > 0) != (option == "model") {
			t.Errorf("--sampling %q: limitations %v", option, list)
		}
	}
	if err := func() error {
		_, err := parseGenAI([]byte(strings.Replace(asks, `"top_p": 0.9`, `"top_p": 9`, 1)))
		return err
	}(); err == nil || !strings.Contains(err.Error(), "search: top_p is 9") {
		t.Errorf("a probability of 9: %v", err)
	}
}
