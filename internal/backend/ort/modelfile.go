package ort

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	format "github.com/mlperf-go/mlperf/internal/onnx"
)

// A modelHead describes a model before it is loaded.
type modelHead struct {
	opset    string // the operator sets, in words; empty if unknown
	producer string

	inputs, outputs []backend.Port
}

// A modelError says that a file is not a model that can be run.
type modelError struct {
	path   string
	reason string
}

func (e *modelError) Error() string { return fmt.Sprintf("model %s: %s", e.path, e.reason) }

// readModelHead reads the head of an ONNX file. It returns format.ErrORTFormat for files in ONNX Runtime's own format, whose
// head only ONNX Runtime can read.
func readModelHead(path string) (modelHead, error) {
	head, err := format.ReadHead(path)
	var detail *fs.PathError
	switch {
	case errors.Is(err, format.ErrORTFormat):
		return modelHead{}, format.ErrORTFormat
	case errors.Is(err, fs.ErrNotExist):
		return modelHead{}, &modelError{path, "no such file"}
	case errors.Is(err, fs.ErrPermission):
		return modelHead{}, &modelError{path, "may not be read by this user"}
	case errors.As(err, &detail):
		return modelHead{}, &modelError{path, detail.Err.Error()}
	case err != nil:
		return modelHead{}, &modelError{path, errors.Unwrap(err).Error()} // the path is the error's
	case len(head.Outputs) == 0:
		return modelHead{}, &modelError{path, "its graph has no outputs"}
	}
	return modelHead{
		opset: head.Opset(), producer: head.Producer,
		inputs: backend.PortsOf(head.Inputs), outputs: backend.PortsOf(head.Outputs),
	}, nil
}

// complete reports whether the file describes all ports. ONNX Runtime can infer what it leaves out.
func (h modelHead) complete() bool {
	return !slices.ContainsFunc(slices.Concat(h.inputs, h.outputs), func(p backend.Port) bool {
		return p.AnyShape || p.Other == backend.Untyped
	})
}

// choose returns the ports that a session offers: all inputs, and the outputs by name in the order given, or all outputs that
// are tensors if none are named.
func (h modelHead) choose(names []string) (in, out []backend.Port, err error) {
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			return nil, nil, fmt.Errorf("the output %q is asked for twice", name)
		}
		i := slices.IndexFunc(h.outputs, func(p backend.Port) bool { return p.Name == name })
		if i < 0 {
			var has []string
			for _, p := range h.outputs {
				has = append(has, p.Name)
			}
			return nil, nil, fmt.Errorf("no output %q; it has %s", name, strings.Join(has, ", "))
		}
		out = append(out, h.outputs[i])
	}
	if len(names) == 0 {
		out = slices.DeleteFunc(slices.Clone(h.outputs), func(p backend.Port) bool { return p.Other != "" })
	}
	if len(out) == 0 {
		out = h.outputs // the error says what they are
	}
	for _, p := range slices.Concat(h.inputs, out) {
		if p.Other != "" {
			return nil, nil, fmt.Errorf("its port %q is a %s, which is not supported", p.Name, p.Other)
		}
	}
	return h.inputs, out, nil
}

// withExtents returns ports with the extents that the user gives for free axes by name.
func withExtents(in, out []backend.Port, extents map[string]int64) (fixedIn, fixedOut []backend.Port, err error) {
	var free []string
	for _, p := range slices.Concat(in, out) {
		for _, axis := range p.Axes {
			if axis != "" && !slices.Contains(free, axis) {
				free = append(free, axis)
			}
		}
	}
	for _, axis := range slices.Sorted(maps.Keys(extents)) {
		if !slices.Contains(free, axis) {
			return nil, nil, fmt.Errorf("it has no free axis %q; it has %s", axis, cmp.Or(strings.Join(free, ", "), "none"))
		}
		if extents[axis] < 1 {
			return nil, nil, fmt.Errorf("free axis %q: the extent %d must be 1 or more", axis, extents[axis])
		}
	}
	fix := func(ports []backend.Port) []backend.Port {
		ports = slices.Clone(ports)
		for i := range ports {
			p := &ports[i]
			p.Shape, p.Axes = slices.Clone(p.Shape), slices.Clone(p.Axes)
			for k, axis := range p.Axes {
				if extent, given := extents[axis]; given {
					p.Shape[k], p.Axes[k] = extent, ""
				}
			}
		}
		return ports
	}
	return fix(in), fix(out), nil
}

// lengthsOfSequences returns the first recurrent node of a model that is given the lengths of its sequences, if an input of the
// model has a free axis; empty: none.
//
// OpenVINO's CPU plugin (2025.4.1) takes the lengths into account only where shapes are fixed: GNMT translated into other words for
// this reason.
func lengthsOfSequences(path string, inputs []backend.Port) (node string, err error) {
	if !slices.ContainsFunc(inputs, func(p backend.Port) bool { return p.Shape.Len() < 0 }) {
		return "", nil
	}
	m, err := format.ReadFile(path)
	if errors.Is(err, format.ErrORTFormat) {
		return "", nil // its nodes cannot be read
	}
	if err != nil {
		return "", err
	}
	for n := range m.Graph.AllNodes() {
		if n.Domain == "" && slices.Contains([]string{"GRU", "LSTM", "RNN"}, n.Op) && n.Input(4) != "" {
			return fmt.Sprintf("%s (%s)", cmp.Or(n.Name, n.Outputs[0]), n.Op), nil
		}
	}
	return "", nil
}
