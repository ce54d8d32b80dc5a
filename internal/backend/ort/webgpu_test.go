//go:build ort && cgo && linux

package ort

import (
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Sessions that are used at once answer as the processor does, because they take turns: two that run at once end the process
// inside ONNX Runtime 1.30, in a program in C too (microsoft/onnxruntime, issue 32561).
func TestORTWebGPUSessionsTakeTurns(t *testing.T) {
	withDevice(t, "webgpu", func(t *testing.T) {
		engine := openEngine(t)
		if p := provider(t, engine, "webgpu"); !p.Usable {
			t.Skipf("%s: %s", p.Reason, p.Remedy)
		}
		options := backend.Options{ModelPath: doubled("N").write(t), Device: "webgpu", IntraThreads: 1, CountDeviceNode: true}
		var group sync.WaitGroup
		for range 2 {
			s := openWith(t, engine, options)
			if d := s.Info().Devices; len(d) != 1 || d[0].Device != "webgpu" {
				t.Fatalf("nodes ran on %v, want WebGPU alone", d)
			}
			x, y := tensor.New(tensor.Float32, 16, 4), tensor.New(tensor.Float32, 16, 4)
			in, out := bind(t, s, x), bind(t, s, y)
			group.Go(func() {
				for i := range 200 {
					for j := range tensor.Data[float32](x) {
						tensor.Data[float32](x)[j] = float32(i + j)
					}
					if err := s.Run(t.Context(), values(in), values(out)); err != nil {
						t.Error(err)
						return
					}
					for j, got := range tensor.Data[float32](y) {
						if want := 2 * float32(i+j); got != want {
							t.Errorf("run %d: got %v at %d, want %v", i, got, j, want)
							return
						}
					}
				}
			})
		}
		group.Wait()
	})
}
