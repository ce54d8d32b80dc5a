package retrieval

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// EncoderOf and RerankerOf give tests the networks of a database.
func EncoderOf(d *Database) *Encoder   { return d.encoder }
func RerankerOf(d *Database) *Reranker { return d.reranker }

// BareLoop binds the inputs of the encoder for pages of texts once, and returns a loop of nothing but runs.
func BareLoop(ctx context.Context, d *Database, pages [][]string) func() error {
	n := d.encoder.network
	type run struct{ in, out []backend.Value }
	var runs []run
	bind := func(t tensor.Tensor) backend.Value {
		v, err := n.session.Bind(t)
		if err != nil {
			panic(err)
		}
		return v
	}
	for _, texts := range pages {
		var list [][]int32
		var all []int
		length := 0
		for i, text := range texts {
			list, all = append(list, n.split(text, passagePieces)), append(all, i)
			length = max(length, roundedUp(len(list[i])))
		}
		var r run
		for _, p := range n.inputs {
			t := tensor.New(p.dtype, int64(len(list)), int64(length))
			fillInput(t, p.takes, list, all, length)
			r.in = append(r.in, bind(t))
		}
		r.out = []backend.Value{bind(tensor.New(tensor.Float32, int64(len(list)), int64(length), int64(n.width)))}
		runs = append(runs, r)
	}
	return func() error {
		for _, r := range runs {
			if err := n.session.Run(ctx, r.in, r.out); err != nil {
				return err
			}
		}
		return nil
	}
}
