package text

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// The three things that a model for SQuAD reads, in the order of the rows of the store.
const (
	pieceInput = iota
	maskInput
	segmentInput
)

// squadNames are the names of inputs: those of the official FP32 file, and those of the
// official INT8 file and of most exports.
var squadNames = [...][]string{
	pieceInput:   {"input_ids"},
	maskInput:    {"input_mask", "attention_mask"},
	segmentInput: {"segment_ids", "token_type_ids"},
}

// A squadInput is an input of the model, and what goes into it.
type squadInput struct {
	port backend.Port
	slot int
}

// bindInputs finds out by their names, or else by their order, what goes into the inputs.
// Segments may be missing.
func bindInputs(ports []backend.Port) ([]squadInput, error) {
	if len(ports) < 2 || len(ports) > 3 {
		return nil, fmt.Errorf("the model has %d inputs (%s), want pieces, mask and perhaps segments", len(ports), workload.DescribePorts(ports))
	}
	inputs := make([]squadInput, len(ports))
	known := 0
	for i, port := range ports {
		if len(port.Shape) != 2 {
			return nil, fmt.Errorf("input %s has shape %v, want a batch of windows: two axes", port.Name, port.Shape)
		}
		switch port.Type {
		case tensor.Int64, tensor.Int32, tensor.Float32:
		default:
			return nil, fmt.Errorf("input %s has elements of type %v, want int64, int32 or float32", port.Name, port.Type)
		}
		slot, ok := slotOf(port.Name)
		if ok {
			known++
		}
		inputs[i] = squadInput{port, slot}
	}
	if known != len(ports) {
		for i := range inputs {
			inputs[i].slot = i
		}
	}
	return inputs, checkSlots(inputs, ports)
}

func slotOf(name string) (int, bool) {
	for slot, names := range squadNames {
		for _, n := range names {
			if strings.EqualFold(n, strings.TrimSuffix(name, ":0")) {
				return slot, true
			}
		}
	}
	return 0, false
}

// checkSlots wants nothing to go in twice.
func checkSlots(inputs []squadInput, ports []backend.Port) error {
	var seen [3]bool
	for _, in := range inputs {
		if seen[in.slot] {
			return fmt.Errorf("two inputs of the model are %s: it has %s", squadNames[in.slot][0], workload.DescribePorts(ports))
		}
		seen[in.slot] = true
	}
	if !seen[pieceInput] || !seen[maskInput] {
		return fmt.Errorf("the model does not take pieces and mask: it has %s", workload.DescribePorts(ports))
	}
	return nil
}

func describeInputs(inputs []squadInput) string {
	what := [...]string{"pieces", "mask", "segments"}
	var parts []string
	for _, in := range inputs {
		parts = append(parts, fmt.Sprintf("%s go into %s %v%v", what[in.slot], in.port.Name, in.port.Type, in.port.Shape))
	}
	return strings.Join(parts, ", ")
}

// spanOutputs are the outputs with the logits of starts and ends.
type spanOutputs struct {
	names []string
	// joint: one output has both, [N S 2]. Otherwise there are two of [N S].
	joint bool
}

// bindSpans finds the outputs: by name if one is given or tells, or else by order.
func bindSpans(ports []backend.Port, override string) (spanOutputs, error) {
	if override != "" {
		names := strings.Split(override, ",")
		var chosen []backend.Port
		for _, name := range names {
			port, ok := workload.PortNamed(ports, strings.TrimSpace(name))
			if !ok {
				return spanOutputs{}, field.Errorf(outputOption, "the model has no output %q; it has %s", name, workload.DescribePorts(ports))
			}
			chosen = append(chosen, port)
		}
		return spansOf(chosen)
	}
	var start, end []backend.Port
	for _, port := range ports {
		switch name := strings.ToLower(port.Name); {
		case strings.Contains(name, "start"):
			start = append(start, port)
		case strings.Contains(name, "end"):
			end = append(end, port)
		}
	}
	if len(start) == 1 && len(end) == 1 {
		return spansOf([]backend.Port{start[0], end[0]})
	}
	if len(ports) > 2 {
		ports = ports[:2]
	}
	return spansOf(ports)
}

// spansOf checks the shapes of outputs.
func spansOf(ports []backend.Port) (spanOutputs, error) {
	o := spanOutputs{joint: len(ports) == 1}
	for _, port := range ports {
		axes := 2
		if o.joint {
			axes = 3
		}
		if port.Type != tensor.Float32 || len(port.Shape) != axes || o.joint && port.Shape[2] != 2 && port.Shape[2] != -1 {
			return o, fmt.Errorf("the model's outputs are no logits of starts and ends: it has %s, want two of float32[N S] or one of float32[N S 2]", workload.DescribePorts(ports))
		}
		o.names = append(o.names, port.Name)
	}
	if len(ports) == 0 || len(ports) > 2 {
		return o, field.Errorf(outputOption, "%d outputs, want those of starts and ends, or one of both", len(ports))
	}
	return o, nil
}

func (o spanOutputs) String() string {
	if o.joint {
		return "starts and ends are in output " + o.names[0]
	}
	return fmt.Sprintf("starts are in output %s, ends in %s", o.names[0], o.names[1])
}
