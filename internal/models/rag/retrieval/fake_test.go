package retrieval

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer"
)

// A plainSession gives each piece a state of its own, whatever stands around it: numbers drawn by the piece.
type plainSession struct {
	backend.Session
	width  int
	dtype  tensor.DType
	texts  int // extent of the first axis; -1: free
	inputs []string
	shapes []tensor.Shape // of the runs' inputs
	damage func(states []float32)
}

func newPlainSession() *plainSession {
	return &plainSession{width: 32, dtype: tensor.Int64, texts: -1, inputs: []string{"input_ids", "attention_mask", "token_type_ids"}}
}

func (s *plainSession) Info() backend.Info {
	info := backend.Info{Outputs: []backend.Port{{Name: "last_hidden_state", Type: tensor.Float32, Shape: tensor.Shape{int64(s.texts), -1, int64(s.width)}}}}
	for _, name := range s.inputs {
		info.Inputs = append(info.Inputs, backend.Port{Name: name, Type: s.dtype, Shape: tensor.Shape{int64(s.texts), -1}})
	}
	return info
}

func (*plainSession) Close() error { return nil }

type plainValue struct{ t tensor.Tensor }

func (v plainValue) Tensor() tensor.Tensor { return v.t }
func (plainValue) Close() error            { return nil }

func (*plainSession) Bind(t tensor.Tensor) (backend.Value, error) { return plainValue{t}, nil }

// stateOf is the state of a piece.
func stateOf(piece int64, width int) []float32 {
	r := rand.New(rand.NewPCG(uint64(piece), 3))
	v := make([]float32, width)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func (s *plainSession) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	in, out := inputs[0].Tensor(), tensor.Data[float32](outputs[0].Tensor())
	s.shapes = append(s.shapes, in.Shape)
	for i := range int(in.Len()) {
		piece := int64(0)
		if s.dtype == tensor.Int64 {
			piece = tensor.Data[int64](in)[i]
		} else {
			piece = int64(tensor.Data[int32](in)[i])
		}
		copy(out[i*s.width:], stateOf(piece, s.width))
	}
	if s.damage != nil {
		s.damage(out)
	}
	return context.Cause(ctx)
}

// plainPieces is a vocabulary of marks, letters and some words.
func plainPieces(t testing.TB) *tokenizer.WordPiece {
	t.Helper()
	words := "[PAD] [UNK] [CLS] [SEP] river town born who founded the of in a is . , ? ##a ##b ##s elba thun rhone aare"
	v, err := tokenizer.ReadVocabulary(strings.NewReader(strings.ReplaceAll(words, " ", "\n")), "words")
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := tokenizer.NewWordPiece(v)
	if err != nil {
		t.Fatal(err)
	}
	return pieces
}

func plainDatabase(t testing.TB) *Database {
	t.Helper()
	e, err := NewEncoder(newPlainSession(), plainPieces(t))
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReranker(newPlainSession(), plainPieces(t))
	if err != nil {
		t.Fatal(err)
	}
	return NewDatabase(e, r)
}
