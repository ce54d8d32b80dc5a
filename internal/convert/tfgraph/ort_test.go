//go:build ort

package tfgraph

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	data "github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// picture has the bytes of that of make_graphs.py, as it feeds them.
func picture(p backend.Port, round int, shape []int64) data.Tensor {
	t := data.New(p.Type, shape...)
	for i := range t.Len() {
		v := (i*(7+2*round) + round*31) % 256
		if p.Type == data.Uint8 {
			data.Data[uint8](t)[i] = uint8(v)
		} else {
			data.Data[float32](t)[i] = float32(float64(v) / 255)
		}
	}
	return t
}

// The converted graphs answer as TensorFlow does.
func TestORTEqualsTensorFlow(t *testing.T) {
	engine := orttest.Engine(t)
	for _, name := range []string{"network", "detector", "branches"} {
		t.Run(name, func(t *testing.T) {
			var golden struct {
				Shapes  [][]int64     `json:"shapes"`
				Outputs []string      `json:"outputs"`
				Answers [][][]float64 `json:"answers"`
			}
			testenv.Must(t, json.Unmarshal(testenv.Read(t, filepath.Join("testdata", name+".json")), &golden))
			path := filepath.Join(t.TempDir(), "model.onnx")
			testenv.Must(t, converted(t, name).WriteFile(t.Context(), path))
			session, err := engine.Open(t.Context(), backend.Options{ModelPath: path})
			testenv.Must(t, err)
			defer session.Close()
			for round, want := range golden.Answers {
				in, err := session.Bind(picture(session.Info().Inputs[0], round, golden.Shapes[round]))
				testenv.Must(t, err)
				defer in.Close()
				outputs := make([]backend.Value, len(golden.Outputs))
				testenv.Must(t, session.Run(t.Context(), []backend.Value{in}, outputs))
				for o, v := range outputs {
					defer v.Close()
					name := session.Info().Outputs[o].Name
					got := v.Tensor()
					for w, other := range golden.Outputs {
						if other != name {
							continue
						}
						if got.Len() != len(want[w]) {
							t.Fatalf("round %d: %s has %d elements, want %d", round, name, got.Len(), len(want[w]))
						}
						for i, x := range want[w] {
							var y float64
							if got.Type == data.Int64 {
								y = float64(data.Data[int64](got)[i])
							} else {
								y = float64(data.Data[float32](got)[i])
							}
							if math.Abs(x-y) > 1e-5 {
								t.Fatalf("round %d: %s[%d] = %v, want %v", round, name, i, y, x)
							}
						}
					}
				}
			}
		})
	}
}
