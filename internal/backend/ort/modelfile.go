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
	"github.com/mlperf-go/mlperf/internal/fileio"
	format "github.com/mlperf-go/mlperf/internal/onnx"
)

// A modelHead is what is known of a model before it is loaded.
type modelHead struct {
	opset    string // describes the operator sets; empty if unknown
	producer string

	inputs, outputs []modelPort
}

// A modelPort is an input or output. The names of its free axes are kept, since axes of the same name
// have the same extent.
type modelPort struct {
	backend.Port
	axes []string
}

// A modelError says that a file is not a model that can be run.
type modelError struct {
	Path   string
	Reason string
}

func (e *modelError) Error() string { return fmt.Sprintf("model %s: %s", e.Path, e.Reason) }

// checkFile refuses what is no file before anybody opens it: opening a pipe waits for a writer.
func checkFile(path string) error {
	_, err := fileio.Stat(path)
	var detail *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &modelError{path, "no such file"}
	case errors.Is(err, fs.ErrPermission):
		return &modelError{path, "may not be read by this user"}
	case errors.As(err, &detail):
		return &modelError{path, detail.Err.Error()}
	}
	return &modelError{path, err.Error()}
}

// readModelHead reads the head of an ONNX file. The error is format.ErrORTFormat for files in ONNX
// Runtime's own format, whose head only that can read.
func readModelHead(path string) (modelHead, error) {
	if err := checkFile(path); err != nil {
		return modelHead{}, err
	}
	head, err := format.ReadHead(path)
	switch {
	case errors.Is(err, format.ErrORTFormat):
		return modelHead{}, format.ErrORTFormat
	case errors.Is(err, fs.ErrPermission):
		return modelHead{}, &modelError{path, "may not be read by this user"}
	case err != nil:
		return modelHead{}, &modelError{path, errors.Unwrap(err).Error()} // the path is the error's
	case len(head.Outputs) == 0:
		return modelHead{}, &modelError{path, "its graph has no outputs"}
	}
	return modelHead{
		opset: head.Opset(), producer: head.Producer,
		inputs: modelPorts(head.Inputs), outputs: modelPorts(head.Outputs),
	}, nil
}

func modelPorts(values []*format.Value) []modelPort {
	ports := make([]modelPort, len(values))
	for i, p := range backend.PortsOf(values) {
		ports[i].Port = p
		for _, dim := range values[i].Type.Shape {
			ports[i].axes = append(ports[i].axes, dim.Param)
		}
	}
	return ports
}

// complete reports whether all ports are described well enough to do without asking ONNX Runtime,
// which can infer what a file leaves out.
func (h modelHead) complete() bool {
	return !slices.ContainsFunc(slices.Concat(h.inputs, h.outputs), func(p modelPort) bool {
		return p.AnyShape || p.Other == backend.Untyped
	})
}

// choose returns the ports that a session offers: all inputs, and the outputs by name in the order
// given. If none are named they are all that are tensors.
func (h modelHead) choose(names []string) (in, out []modelPort, err error) {
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			return nil, nil, fmt.Errorf("the output %q is asked for twice", name)
		}
		i := slices.IndexFunc(h.outputs, func(p modelPort) bool { return p.Name == name })
		if i < 0 {
			return nil, nil, fmt.Errorf("no output %q; it has %s", name, portNames(h.outputs))
		}
		out = append(out, h.outputs[i])
	}
	if len(names) == 0 {
		out = slices.DeleteFunc(slices.Clone(h.outputs), func(p modelPort) bool { return p.Other != "" })
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

// fixed returns ports with the extents that are given for free axes by name.
func fixed(in, out []modelPort, extents map[string]int64) (fixedIn, fixedOut []modelPort, err error) {
	free := freeAxes(in, out)
	for _, axis := range slices.Sorted(maps.Keys(extents)) {
		if !slices.Contains(free, axis) {
			return nil, nil, fmt.Errorf("it has no free axis %q; it has %s", axis, cmp.Or(strings.Join(free, ", "), "none"))
		}
		if extents[axis] < 1 {
			return nil, nil, fmt.Errorf("free axis %q: the extent %d must be 1 or more", axis, extents[axis])
		}
	}
	return withExtents(in, extents), withExtents(out, extents), nil
}

// withExtents returns ports with extents for their axes by name.
func withExtents(ports []modelPort, extents map[string]int64) []modelPort {
	ports = slices.Clone(ports)
	for i := range ports {
		p := &ports[i]
		p.Shape = slices.Clone(p.Shape)
		for k, axis := range p.axes {
			if extent, given := extents[axis]; given {
				p.Shape[k] = extent
			}
		}
	}
	return ports
}

func freeAxes(in, out []modelPort) []string {
	var names []string
	for _, p := range slices.Concat(in, out) {
		for _, axis := range p.axes {
			if axis != "" && !slices.Contains(names, axis) {
				names = append(names, axis)
			}
		}
	}
	return names
}

func portNames(ports []modelPort) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
