package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
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
	slots := slotsOf(ports)
	for i, port := range ports {
		if err := checkInput(port); err != nil {
			return nil, err
		}
		inputs[i] = squadInput{port, slots[i]}
	}
	return inputs, checkSlots(inputs, ports)
}

// slotsOf tells inputs apart by their names, or else by their order.
func slotsOf(ports []backend.Port) []int {
	slots := make([]int, len(ports))
	for i, port := range ports {
		slot, known := slotOf(port.Name)
		if !known {
			return []int{pieceInput, maskInput, segmentInput}
		}
		slots[i] = slot
	}
	return slots
}

// checkInput wants numbers of windows.
func checkInput(port backend.Port) error {
	if len(port.Shape) != 2 {
		return fmt.Errorf("input %s has shape %v, want a batch of windows: two axes", port.Name, port.Shape)
	}
	if n := port.Shape[1]; n != windowLength && n != -1 {
		return fmt.Errorf("input %s has shape %v, want windows of %d pieces", port.Name, port.Shape, windowLength)
	}
	if !slices.Contains([]tensor.DType{tensor.Int64, tensor.Int32, tensor.Float32}, port.Type) {
		return fmt.Errorf("input %s has elements of type %v, want int64, int32 or float32", port.Name, port.Type)
	}
	return nil
}

// shared is the shape that all inputs take: an extent is free if it is free in all of them.
func shared(inputs []squadInput) (tensor.Shape, error) {
	shape := tensor.Shape{-1, -1}
	for _, in := range inputs {
		for axis, n := range in.port.Shape {
			if n != -1 && shape[axis] != -1 && n != shape[axis] {
				return nil, fmt.Errorf("input %s has shape %v, the inputs before it want %v", in.port.Name, in.port.Shape, shape)
			}
			shape[axis] = max(shape[axis], n)
		}
	}
	return shape, nil
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
		chosen, err := portsNamed(ports, strings.Split(override, ","))
		if err != nil {
			return spanOutputs{}, err
		}
		return spansOf(chosen)
	}
	start, end := portsWith(ports, "start"), portsWith(ports, "end")
	if len(start) == 1 && len(end) == 1 {
		return spansOf([]backend.Port{start[0], end[0]})
	}
	return spansOf(ports[:min(len(ports), 2)])
}

// portsNamed are the outputs of these names.
func portsNamed(ports []backend.Port, names []string) (chosen []backend.Port, err error) {
	for _, name := range names {
		port, ok := workload.PortNamed(ports, strings.TrimSpace(name))
		if !ok {
			return nil, userinput.Errorf(outputOption, "the model has no output %q; it has %s", name, workload.DescribePorts(ports))
		}
		chosen = append(chosen, port)
	}
	return chosen, nil
}

// portsWith are the outputs with a word in their names.
func portsWith(ports []backend.Port, word string) (list []backend.Port) {
	for _, port := range ports {
		if strings.Contains(strings.ToLower(port.Name), word) {
			list = append(list, port)
		}
	}
	return list
}

// spansOf checks the shapes of outputs.
func spansOf(ports []backend.Port) (spanOutputs, error) {
	o := spanOutputs{joint: len(ports) == 1}
	if len(ports) == 0 || len(ports) > 2 {
		return o, userinput.Errorf(outputOption, "%d outputs, want those of starts and ends, or one of both", len(ports))
	}
	for _, port := range ports {
		if !o.isLogits(port) {
			return o, fmt.Errorf("the model's outputs are no logits of starts and ends: it has %s, want two of float32[N S] or one of float32[N S 2]", workload.DescribePorts(ports))
		}
		o.names = append(o.names, port.Name)
	}
	return o, nil
}

// isLogits reports whether an output has a number for each piece of each window, or two.
func (o spanOutputs) isLogits(port backend.Port) bool {
	want := tensor.Shape{-1, windowLength}
	if o.joint {
		want = append(want, 2)
	}
	if port.Type != tensor.Float32 || len(port.Shape) != len(want) {
		return false
	}
	for axis, extent := range want[1:] {
		if have := port.Shape[axis+1]; have != extent && have != -1 {
			return false
		}
	}
	return true
}

func (o spanOutputs) String() string {
	if o.joint {
		return "starts and ends are in output " + o.names[0]
	}
	return fmt.Sprintf("starts are in output %s, ends in %s", o.names[0], o.names[1])
}
