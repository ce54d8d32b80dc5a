package ort

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A modelHead is what a model file says about itself, without its weights. ONNX Runtime
// tells the same only after it has loaded the model, and the binding only by loading it once more.
type modelHead struct {
	irVersion int64
	producer  string
	opsets    map[string]int64 // of each operator domain; the standard one is ""
	nodes     int              // of the main graph

	inputs, outputs []modelPort
}

// A modelPort is an input or output. The names of its free axes are kept, since axes of the same name
// have the same extent.
type modelPort struct {
	backend.Port
	axes  []string
	shape bool   // whether the file gives a shape at all
	other string // what the port is if not a tensor of a type that we know
}

// A ModelError says that a file is not a model that can be run.
type ModelError struct {
	Path   string
	Reason string
}

func (e *ModelError) Error() string { return fmt.Sprintf("model %s: %s", e.Path, e.Reason) }

// errORTFormat marks ONNX Runtime's own format, which is not read here.
var errORTFormat = errors.New("a model in ORT format")

// readModelHead reads the head of an ONNX file.
func readModelHead(path string) (modelHead, error) {
	file, err := os.Open(path)
	if err != nil {
		return modelHead{}, &ModelError{path, fileReason(err)}
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return modelHead{}, &ModelError{path, err.Error()}
	case !info.Mode().IsRegular():
		return modelHead{}, &ModelError{path, "not a file"}
	case info.Size() == 0:
		return modelHead{}, &ModelError{path, "the file is empty"}
	}
	head, err := parseModelHead(file, info.Size())
	if err != nil && !errors.Is(err, errORTFormat) {
		return modelHead{}, &ModelError{path, "not an ONNX file: " + err.Error()}
	}
	return head, err
}

func fileReason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read by this user"
	}
	return err.Error()
}

// The numbers of the messages' fields are those of onnx.proto (ModelProto, GraphProto, …).

func parseModelHead(file io.ReaderAt, size int64) (modelHead, error) {
	var magic [8]byte
	if _, err := file.ReadAt(magic[:], 0); err == nil && string(magic[4:]) == "ORTM" {
		return modelHead{}, errORTFormat
	}
	head := modelHead{opsets: map[string]int64{}}
	c := &cursor{file: file, end: size}
	graphs := 0
	err := c.each(func(f field) (err error) {
		switch f.number {
		case 1:
			head.irVersion = int64(f.value)
		case 2:
			head.producer, err = c.text(f)
		case 7:
			graphs++
			err = head.readGraph(c, f)
		case 8:
			err = head.readOpset(c, f)
		}
		return err
	})
	switch {
	case err != nil:
		return modelHead{}, err
	case graphs == 0:
		return modelHead{}, errors.New("it has no graph")
	case len(head.outputs) == 0:
		return modelHead{}, errors.New("its graph has no outputs")
	}
	return head, nil
}

func (h *modelHead) readOpset(c *cursor, f field) error {
	var domain string
	var version int64
	err := c.message(f, func(f field) (err error) {
		switch f.number {
		case 1:
			domain, err = c.text(f)
		case 2:
			version = int64(f.value)
		}
		return err
	})
	h.opsets[domain] = version
	return err
}

func (h *modelHead) readGraph(c *cursor, f field) error {
	weights := map[string]bool{}
	err := c.message(f, func(f field) (err error) {
		var name string
		var port modelPort
		switch f.number {
		case 1:
			h.nodes++
		case 5: // initializer
			name, err = readTensorName(c, f)
			weights[name] = true
		case 15: // sparse initializer: its values carry the name
			name, err = readSparseName(c, f)
			weights[name] = true
		case 11:
			port, err = readPort(c, f)
			h.inputs = append(h.inputs, port)
		case 12:
			port, err = readPort(c, f)
			h.outputs = append(h.outputs, port)
		}
		return err
	})
	// In older files weights are listed among the inputs too.
	h.inputs = slices.DeleteFunc(h.inputs, func(p modelPort) bool { return weights[p.Name] })
	return err
}

func readTensorName(c *cursor, f field) (name string, err error) {
	err = c.message(f, func(f field) (err error) {
		if f.number == 8 {
			name, err = c.text(f)
		}
		return err
	})
	return name, err
}

func readSparseName(c *cursor, f field) (name string, err error) {
	err = c.message(f, func(f field) (err error) {
		if f.number == 1 {
			name, err = readTensorName(c, f)
		}
		return err
	})
	return name, err
}

func readPort(c *cursor, f field) (modelPort, error) {
	port := modelPort{other: "without a type"}
	err := c.message(f, func(f field) (err error) {
		switch f.number {
		case 1:
			port.Name, err = c.text(f)
		case 2:
			err = port.readType(c, f)
		}
		return err
	})
	return port, err
}

func (p *modelPort) readType(c *cursor, f field) error {
	return c.message(f, func(f field) error {
		switch f.number {
		case 1:
			return p.readTensorType(c, f)
		case 4:
			p.other = "a sequence"
		case 5:
			p.other = "a map"
		case 8:
			p.other = "a sparse tensor"
		case 9:
			p.other = "optional"
		}
		return nil
	})
}

func (p *modelPort) readTensorType(c *cursor, f field) error {
	p.other = "of no element type"
	return c.message(f, func(f field) error {
		switch f.number {
		case 1:
			p.setType(f.value)
		case 2:
			p.shape = true
			return c.message(f, func(f field) error {
				if f.number != 1 {
					return nil
				}
				return p.readAxis(c, f)
			})
		}
		return nil
	})
}

func (p *modelPort) setType(onnx uint64) {
	p.Type, p.other = tensor.Invalid, fmt.Sprintf("of ONNX element type %d", onnx)
	if onnx < uint64(len(elementTypes)) && elementTypes[onnx] != tensor.Invalid {
		p.Type, p.other = elementTypes[onnx], ""
	}
}

// elementTypes are our types by their number in TensorProto.DataType of onnx.proto. Complex
// numbers and what came after bfloat16 are missing.
var elementTypes = [...]tensor.DType{
	1: tensor.Float32, 2: tensor.Uint8, 3: tensor.Int8, 4: tensor.Uint16, 5: tensor.Int16, 6: tensor.Int32,
	7: tensor.Int64, 8: tensor.String, 9: tensor.Bool, 10: tensor.Float16, 11: tensor.Float64,
	12: tensor.Uint32, 13: tensor.Uint64, 16: tensor.BFloat16,
}

func (p *modelPort) readAxis(c *cursor, f field) error {
	extent, name := int64(-1), ""
	err := c.message(f, func(f field) (err error) {
		switch f.number {
		case 1:
			extent = max(int64(f.value), -1)
		case 2:
			name, err = c.text(f)
		}
		return err
	})
	p.Shape = append(p.Shape, extent)
	p.axes = append(p.axes, name)
	return err
}

// complete says whether all ports are described well enough to do without asking ONNX Runtime,
// which can infer what a file leaves out.
func (h modelHead) complete() bool {
	for _, p := range slices.Concat(h.inputs, h.outputs) {
		if p.other == "" && !p.shape {
			return false
		}
	}
	return true
}

// opset describes the operator sets, as "opset 17, com.microsoft 1".
func (h modelHead) opset() string {
	var parts []string
	for domain, version := range h.opsets {
		if domain == "" || domain == "ai.onnx" {
			domain = "opset"
		}
		parts = append(parts, fmt.Sprintf("%s %d", domain, version))
	}
	slices.SortFunc(parts, func(a, b string) int { // opset first
		if x, y := strings.HasPrefix(a, "opset "), strings.HasPrefix(b, "opset "); x != y {
			return map[bool]int{true: -1, false: 1}[x]
		}
		return strings.Compare(a, b)
	})
	return strings.Join(parts, ", ")
}

// choose returns the ports that a session offers: all inputs, and the outputs by name in the order
// given, all if none are named.
func (h modelHead) choose(outputs []string) (in, out []modelPort, err error) {
	out = h.outputs
	if len(outputs) > 0 {
		out = nil
		for _, name := range outputs {
			i := slices.IndexFunc(h.outputs, func(p modelPort) bool { return p.Name == name })
			if i < 0 {
				return nil, nil, fmt.Errorf("no output %q; it has %s", name, portNames(h.outputs))
			}
			out = append(out, h.outputs[i])
		}
	}
	for _, p := range slices.Concat(h.inputs, out) {
		if p.other != "" {
			return nil, nil, fmt.Errorf("its port %q is %s, which is not supported", p.Name, p.other)
		}
	}
	return h.inputs, out, nil
}

func portNames(ports []modelPort) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
