//go:build ort && cgo

package ort

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestORTBuffersInTheDevicesMemoryHoldWhatIsComputed(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{DeviceMemory: true})
	if got := s.Info().Facts["device_memory"]; got != "Cpu" {
		t.Errorf("the results name the memory %q, want Cpu", got)
	}
	for _, rows := range []int64{1, 3, 3, 2} { // a buffer is used again, and replaced by one of another size
		x, y := tensor.New(tensor.Float32, rows, 4), tensor.New(tensor.Float32, rows, 4)
		in, out := values(bind(t, s, x)), values(bind(t, s, y))
		for turn := range 3 {
			for i := range tensor.Data[float32](x) {
				tensor.Data[float32](x)[i] = float32(i + turn)
			}
			run(t, s, in, out)
			for i, got := range tensor.Data[float32](y) {
				if got != 2*float32(i+turn) {
					t.Fatalf("%d rows, turn %d: y[%d] = %v, want %v", rows, turn, i, got, 2*(i+turn))
				}
			}
		}
	}
}
