package oip

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/serve/oiptest"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A scribe is a task with fixed answers.
type scribe struct {
	oiptest.Doubler
	said    []protocol.Port // that it has
	outputs []tensor.Tensor // that it gives, with the names of outs
	outs    []string
}

func (s *scribe) Metadata() *protocol.ModelMetadata {
	return &protocol.ModelMetadata{Name: "m-task", Versions: []string{"1"}, Platform: "test", Inputs: []protocol.Port{{Name: "x", Datatype: "FP32", Shape: []int64{1, 2}}}, Outputs: s.said}
}

func (s *scribe) Begin(*protocol.Head) (oipserver.Job, error) { return s, nil }

func (s *scribe) Place(_ int, p protocol.Spec) (tensor.Tensor, error) {
	return tensor.New(p.Type, p.Shape...), nil
}

func (s *scribe) Run(context.Context) (specs []protocol.Spec, outputs []tensor.Tensor, err error) {
	for i, t := range s.outputs {
		specs = append(specs, protocol.Spec{Name: s.outs[i], Type: t.Type, Shape: t.Shape})
	}
	return specs, s.outputs, nil
}

func (*scribe) End() {}

func TestTaskCountsTokens(t *testing.T) {
	response, tokens := protocol.Port{Name: "response", Datatype: "UINT8", Shape: []int64{1, -1}}, protocol.Port{Name: "tokens", Datatype: "INT32", Shape: []int64{1}}
	text := tensor.Of([]byte("hey"), 1, 3)
	both := []string{"response", "tokens"}
	count := func(list ...int32) tensor.Tensor { return tensor.Of(list, int64(len(list))) }
	for _, c := range []struct {
		name   string
		model  *scribe
		tokens int
		want   string // an error
	}{
		{"it does not count", &scribe{said: []protocol.Port{response}, outputs: []tensor.Tensor{text}, outs: both}, 0, ""},
		{"it counts", &scribe{said: []protocol.Port{response, tokens}, outputs: []tensor.Tensor{text, count(7)}, outs: both}, 7, ""},
		{"less than nothing", &scribe{said: []protocol.Port{response, tokens}, outputs: []tensor.Tensor{text, count(-7)}, outs: both}, 0, "has -7 tokens"},
		{"two counts", &scribe{said: []protocol.Port{response, tokens}, outputs: []tensor.Tensor{text, count(7, 8)}, outs: both}, 0, "must be tokens INT32[1]"},
		{"no count", &scribe{said: []protocol.Port{response, tokens}, outputs: []tensor.Tensor{text}, outs: both}, 0, "1 outputs, asked were 2"},
		{"the count first", &scribe{said: []protocol.Port{response, tokens}, outputs: []tensor.Tensor{count(7), text}, outs: []string{"tokens", "response"}}, 0, "must be response UINT8[1 ?]"},
		{"a count that was not asked for", &scribe{said: []protocol.Port{response}, outputs: []tensor.Tensor{text, count(7)}, outs: both}, 0, "2 outputs, asked were 1"},
		{"another second output", &scribe{said: []protocol.Port{response, {Name: "words", Datatype: "INT32", Shape: []int64{1}}}}, 0, "has the outputs"},
		{"a count of another type", &scribe{said: []protocol.Port{response, {Name: "tokens", Datatype: "FP32", Shape: []int64{1}}}}, 0, "has the outputs"},
	} {
		c.model.Width = 2
		url := serve(t, c.model)
		e, err := New(t.Context(), Config{Client: client.Options{Endpoints: []string{url}}, Model: "m", Task: "m-task"})
		var got []byte
		n := 0
		if err == nil {
			got, n, err = e.Respond(t.Context(), []tensor.Tensor{tensor.New(tensor.Float32, 1, 2)}, []byte("they said: "))
			if closed := e.Close(); closed != nil {
				t.Error(closed)
			}
		}
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		case c.want == "" && (err != nil || n != c.tokens || !bytes.Equal(got, []byte("they said: hey"))):
			t.Errorf("%s: %q with %d tokens, %v, want %d", c.name, got, n, err, c.tokens)
		}
	}
}
