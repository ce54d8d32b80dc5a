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

// The inputs of a model for SQuAD, in the order of the slots of a row.
const (
	pieceInput = iota
	maskInput
	segmentInput
)

// squadNames are the names of inputs: of the official FP32 file, and of the official INT8 file and most exports.
var squadNames = [...][]string{
	pieceInput:   {"input_ids"},
	maskInput:    {"input_mask", "attention_mask"},
	segmentInput: {"segment_ids", "token_type_ids"},
}

// A squadInput is an input of the model, and the slot that it takes.
type squadInput struct {
	port backend.Port
	slot int
}

// bindInputs finds the slots of the inputs by their names, or else by their order. Segments may be missing.
func bindInputs(ports []backend.Port) ([]squadInput, error) {
	if len(ports) < 2 || len(ports) > 3 {
		return nil, fmt.Errorf("the model has %d inputs (%s), expected pieces, mask and perhaps segments", len(ports), workload.DescribePorts(ports))
	}
	slots := make([]int, len(ports))
	for i, port := range ports {
		var known bool
		if slots[i], known = slotOf(port.Name); !known {
			slots = []int{pieceInput, maskInput, segmentInput}
			break
		}
	}
	inputs := make([]squadInput, len(ports))
	var seen [3]bool
	for i, port := range ports {
		if len(port.Shape) != 2 {
			return nil, fmt.Errorf("input %s has shape %v, expected a batch of windows: two axes", port.Name, port.Shape)
		}
		if n := port.Shape[1]; n != windowLength && n != -1 {
			return nil, fmt.Errorf("input %s has shape %v, expected windows of %d pieces", port.Name, port.Shape, windowLength)
		}
		if !slices.Contains([]tensor.DType{tensor.Int64, tensor.Int32, tensor.Float32}, port.Type) {
			return nil, fmt.Errorf("input %s has elements of type %v, expected int64, int32 or float32", port.Name, port.Type)
		}
		if seen[slots[i]] {
			return nil, fmt.Errorf("two inputs of the model are %s: it has %s", squadNames[slots[i]][0], workload.DescribePorts(ports))
		}
		seen[slots[i]], inputs[i] = true, squadInput{port, slots[i]}
	}
	if !seen[pieceInput] || !seen[maskInput] {
		return nil, fmt.Errorf("the model does not take pieces and mask: it has %s", workload.DescribePorts(ports))
	}
	return inputs, nil
}

// shared is the shape of all inputs: an axis is free if it is free in all of them.
func shared(inputs []squadInput) (tensor.Shape, error) {
	shape := tensor.Shape{-1, -1}
	for _, in := range inputs {
		for axis, n := range in.port.Shape {
			if n != -1 && shape[axis] != -1 && n != shape[axis] {
				return nil, fmt.Errorf("input %s has shape %v, the inputs before it take %v", in.port.Name, in.port.Shape, shape)
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

func describeInputs(inputs []squadInput) string {
	what := [...]string{"pieces", "mask", "segments"}
	var parts []string
	for _, in := range inputs {
		parts = append(parts, fmt.Sprintf("%s: %s %v%v", what[in.slot], in.port.Name, in.port.Type, in.port.Shape))
	}
	return "input: " + strings.Join(parts, ", ")
}

// spanOutputs are the outputs with the logits of starts and ends.
type spanOutputs struct {
	names []string
	// joint: one output has both, [N S 2]. Otherwise there are two of [N S].
	joint bool
}

// bindSpans finds the outputs: by the option's names, by their own names, or else by order.
func bindSpans(ports []backend.Port, override string) (spanOutputs, error) {
	if override != "" {
		var chosen []backend.Port
		for name := range strings.SplitSeq(override, ",") {
			port, ok := workload.PortNamed(ports, strings.TrimSpace(name))
			if !ok {
				return spanOutputs{}, userinput.Errorf(outputOption, "the model has no output %q; it has %s", name, workload.DescribePorts(ports))
			}
			chosen = append(chosen, port)
		}
		return spansOf(chosen)
	}
	with := func(word string) (list []backend.Port) {
		for _, port := range ports {
			if strings.Contains(strings.ToLower(port.Name), word) {
				list = append(list, port)
			}
		}
		return list
	}
	if start, end := with("start"), with("end"); len(start) == 1 && len(end) == 1 {
		return spansOf([]backend.Port{start[0], end[0]})
	}
	return spansOf(ports[:min(len(ports), 2)])
}

// spansOf checks the shapes of outputs.
func spansOf(ports []backend.Port) (spanOutputs, error) {
	o := spanOutputs{joint: len(ports) == 1}
	if len(ports) == 0 || len(ports) > 2 {
		return o, userinput.Errorf(outputOption, "%d outputs, expected those of starts and ends, or one of both", len(ports))
	}
	for _, port := range ports {
		want := tensor.Shape{-1, windowLength}
		if o.joint {
			want = append(want, 2)
		}
		fits := func(have, extent int64) bool { return extent == -1 || have == extent || have == -1 }
		if port.Type != tensor.Float32 || !slices.EqualFunc(port.Shape, want, fits) {
			return o, fmt.Errorf("expected logits of starts and ends, two outputs of float32[N S] or one of float32[N S 2]; the model has %s",
				workload.DescribePorts(ports))
		}
		o.names = append(o.names, port.Name)
	}
	return o, nil
}

func (o spanOutputs) String() string {
	if o.joint {
		return "starts and ends: " + o.names[0]
	}
	return fmt.Sprintf("starts: %s, ends: %s", o.names[0], o.names[1])
}
