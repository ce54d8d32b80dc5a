package text

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// translationSizes are those of GNMT's tensors: of the memory of a piece, and of the state of a beam.
type translationSizes struct{ hidden, state int }

// sizesOf finds the sizes out by the outputs of the encoder.
func sizesOf(outputs []backend.Port) (translationSizes, error) {
	s := translationSizes{hidden: lastOf(outputs, "memory", 3), state: lastOf(outputs, "state", 2)}
	if s.hidden < 1 || s.state < 1 {
		return s, fmt.Errorf("the encoder's outputs are %s, want memory [N T H] and state [N S] of known H and S", workload.DescribePorts(outputs))
	}
	return s, nil
}

// lastOf is the last extent of a port that has so many axes; 0: there is none.
func lastOf(ports []backend.Port, name string, axes int) int {
	port, _ := workload.PortNamed(ports, name)
	if len(port.Shape) != axes {
		return 0
	}
	return int(port.Shape[axes-1])
}

// bytes is the memory that so many slots of so many pieces take, with what the decoder makes of
// them in a step.
func (s translationSizes) bytes(slots, pieces int) int64 {
	const memories, temporaries = 4, 2 // memory and keys, here and of the encoder; sum and tanh of the attention
	of := int64(slots) * int64(pieces) * int64(s.hidden) * (memories + temporaries*beamWidth)
	return 4 * (of + 2*int64(slots)*(beamWidth+1)*int64(s.state))
}
