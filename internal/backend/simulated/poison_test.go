package simulated

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestWhatIsPoisonedIsNoNumberInAnyPrecision(t *testing.T) {
	types := []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16, tensor.Int32, tensor.Uint8}
	var ports []backend.Port
	for _, d := range types {
		ports = append(ports, backend.Port{Name: d.String(), Type: d, Shape: tensor.Shape{-1, 2}})
	}
	s := open(t, Config{Outputs: ports, NaNEvery: 2}, backend.Options{})
	for k := 1; k <= 4; k++ {
		outputs := make([]backend.Value, len(ports))
		if err := s.Run(t.Context(), samples(t, s, 3), outputs); err != nil {
			t.Fatal(err)
		}
		for i, v := range outputs {
			d, x := types[i], v.Tensor()
			var numbers []float64
			switch d {
			case tensor.Float32:
				for _, f := range tensor.Data[float32](x) {
					numbers = append(numbers, float64(f))
				}
			case tensor.Float64:
				numbers = tensor.Data[float64](x)
			case tensor.Float16, tensor.BFloat16: // a sign, an exponent of all ones, a fraction that is not zero
				exponent := map[tensor.DType]uint16{tensor.Float16: 0x7c00, tensor.BFloat16: 0x7f80}[d]
				for _, bits := range tensor.Data[uint16](x) {
					if bits&exponent == exponent && bits&^(exponent|0x8000) != 0 {
						numbers = append(numbers, math.NaN())
					} else {
						numbers = append(numbers, 0)
					}
				}
			default:
				if x.Bytes()[0] != 3 {
					t.Errorf("run %d: %v begins with %d, want its mark", k, d, x.Bytes()[0])
				}
			}
			for _, n := range numbers {
				if math.IsNaN(n) != (k%2 == 0) {
					t.Errorf("run %d: %v has %v", k, d, n)
				}
			}
		}
	}
}

// An engine counts its sessions: closing one twice must not let it be closed while another is open.
func TestASessionThatIsClosedTwiceIsOne(t *testing.T) {
	engine, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var list []backend.Session
	for range 2 {
		s, err := engine.Open(t.Context(), backend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := errors.Join(list[0].Close(), list[0].Close(), list[0].Close()); err != nil {
		t.Error(err)
	}
	if err := engine.Close(); err == nil || !strings.Contains(err.Error(), "1 ") {
		t.Errorf("an engine of which a session is open is closed with %v", err)
	}
	if err := list[1].Run(context.Background(), samples(t, list[1], 1), make([]backend.Value, 1)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(list[1].Close(), engine.Close()); err != nil {
		t.Error(err)
	}
}

func TestOutputsThatAreGivenStayTheirOwners(t *testing.T) {
	s := open(t, Config{}, backend.Options{})
	given := view(tensor.New(tensor.Int64, 1))
	outputs := []backend.Value{given}
	if err := s.Run(t.Context(), samples(t, s, 7), outputs); err != nil || outputs[0] != given {
		t.Errorf("the output is %v, %v, want the one that was given", outputs[0], err)
	}
	if got := tensor.Data[int64](given.Tensor())[0]; got != 7 {
		t.Errorf("it has %v, want 7", got)
	}
}
