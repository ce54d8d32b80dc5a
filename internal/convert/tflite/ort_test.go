//go:build ort

package tflite

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	array "github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// picture has the bytes of that of make_models.py.
func picture(n int) []int {
	list := make([]int, 17*18*3)
	for i := range list {
		list[i] = (i*(7+n) + n*31) % 256
	}
	return list
}

// fed returns bytes as make_models.py feeds them to an input.
func fed(p backend.Port, list []int) array.Tensor {
	t := array.New(p.Type, p.Shape...)
	for i, v := range list {
		switch p.Type {
		case array.Float32:
			array.Data[float32](t)[i] = float32(float64(v) / 255)
		case array.Uint8:
			array.Data[uint8](t)[i] = uint8(v)
		case array.Int8:
			array.Data[int8](t)[i] = int8(v - 128)
		case array.Int16:
			array.Data[int16](t)[i] = int16(v * 128)
		case array.Int32: // numbers of rows
			array.Data[int32](t)[i] = int32(v % 8)
		}
	}
	return t
}

func numbers(t array.Tensor) (list []float64) {
	for i := range t.Len() {
		switch t.Type {
		case array.Float32:
			list = append(list, float64(array.Data[float32](t)[i]))
		case array.Uint8:
			list = append(list, float64(array.Data[uint8](t)[i]))
		case array.Int8:
			list = append(list, float64(array.Data[int8](t)[i]))
		case array.Int16:
			list = append(list, float64(array.Data[int16](t)[i]))
		}
	}
	return list
}

// The converted models answer as TensorFlow Lite does: quantised ones within a step, hybrid ones as well as it
// quantises activations.
func TestORTEqualsTensorFlowLite(t *testing.T) {
	engine := orttest.Engine(t)
	for name, within := range map[string]float64{
		"float32": 1e-6, "float16": 1e-6, "sparse": 1e-6, "hybrid": 1e-3, "uint8": 1, "int8": 1, "int16": 1, "detections": 1e-5, "detections_per_class": 1e-5, "lookup": 1e-6,
	} {
		t.Run(name, func(t *testing.T) {
			var golden struct {
				Outputs []string      `json:"outputs"`
				Answers [][][]float64 `json:"answers"`
			}
			testenv.Must(t, json.Unmarshal(testenv.Read(t, filepath.Join("testdata", name+".json")), &golden))
			path := filepath.Join(t.TempDir(), "model.onnx")
			testenv.Must(t, converted(t, name).WriteFile(t.Context(), path))
			session, err := engine.Open(t.Context(), backend.Options{ModelPath: path})
			testenv.Must(t, err)
			defer session.Close()
			ports := session.Info().Inputs
			for n, want := range golden.Answers {
				var inputs []backend.Value
				for i, p := range ports {
					list := picture(n)
					if p.Type == array.Int32 {
						list = list[:p.Shape[0]]
					}
					if len(ports) == 2 { // of a detector; in the last round all scores are 0
						if list = picture(n%4 + 8*i)[100*i : 100*(i+1)]; n == 4 && i == 1 {
							list = nil
						}
					}
					v, err := session.Bind(fed(p, list))
					testenv.Must(t, err)
					defer v.Close()
					inputs = append(inputs, v)
				}
				outputs := make([]backend.Value, len(golden.Outputs))
				testenv.Must(t, session.Run(t.Context(), inputs, outputs))
				for o, v := range outputs {
					if got := session.Info().Outputs[o].Name; got != golden.Outputs[o] {
						t.Errorf("output %d is %q, want %q", o, got, golden.Outputs[o])
					}
					got := numbers(v.Tensor())
					if len(got) != len(want[o]) {
						t.Fatalf("output %s has %d elements, want %d", golden.Outputs[o], len(got), len(want[o]))
					}
					if len(ports) == 2 && o > 0 { // rows behind those found hold what TensorFlow Lite left there before
						found := int(want[0][0]) * len(got) / 10
						for _, g := range got[found:] {
							if g != 0 {
								t.Errorf("round %d, output %s has %v behind what was found, want 0", n, golden.Outputs[o], g)
							}
						}
						got = got[:found]
					}
					for i, g := range got {
						if math.Abs(g-want[o][i]) > within {
							t.Fatalf("round %d, output %s[%d] = %v, want %v", n, golden.Outputs[o], i, g, want[o][i])
						}
					}
					v.Close()
				}
			}
		})
	}
}
