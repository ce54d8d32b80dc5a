package tfgraph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A node is a NodeDef.
type node struct {
	name, op string
	inputs   []port // data only
	controls []string
	attrs    map[string]attr
}

// A port is one result of a node.
type port struct {
	node string
	n    int
}

func (p port) String() string { return fmt.Sprintf("%s:%d", p.node, p.n) }

// An attr is an AttrValue: the field that its kind uses is set.
type attr struct {
	i      int64
	f      float32
	s      string
	ints   []int64
	shape  onnx.Shape // nil: not known
	tensor *tensor
}

// A tensor is a constant. A type that ONNX lacks is Undefined.
type tensor struct {
	elem onnx.ElemType
	dims []int64
	data []byte // the elements in order; nil until they are wanted

	splat []byte // the first elements, of which the last one is repeated, if data is shorter
}

// elemTypes are DataType's numbers.
var elemTypes = map[uint64]onnx.ElemType{
	1: onnx.Float32, 2: onnx.Float64, 3: onnx.Int32, 4: onnx.Uint8, 5: onnx.Int16, 6: onnx.Int8, 9: onnx.Int64, 10: onnx.Bool, 17: onnx.Uint16,
	19: onnx.Float16,
}

// parse reads a GraphDef.
func parse(b []byte) ([]*node, error) {
	var nodes []*node
	err := tfcheckpoint.Fields(b, func(field protowire.Number, number uint64, content []byte) error {
		switch {
		case field == 1 && content == nil:
			return errors.New("expected a frozen graph (GraphDef); this looks like a SavedModel: freeze it first")
		case field != 1: // versions, and the functions that a node would name
			return nil
		}
		n, err := parseNode(content)
		if err != nil {
			return fmt.Errorf("node %d (%q): %w", len(nodes), n.name, err)
		}
		nodes = append(nodes, n)
		return nil
	})
	if err == nil && len(nodes) == 0 {
		err = errors.New("it has no nodes")
	}
	return nodes, err
}

func parseNode(b []byte) (*node, error) {
	n := &node{attrs: map[string]attr{}}
	return n, tfcheckpoint.Fields(b, func(field protowire.Number, _ uint64, content []byte) error {
		switch field {
		case 1:
			n.name = string(content)
		case 2:
			n.op = string(content)
		case 3:
			name, control := strings.CutPrefix(string(content), "^")
			if control {
				n.controls = append(n.controls, name)
				return nil
			}
			p := port{node: name}
			if at := strings.LastIndexByte(name, ':'); at >= 0 {
				if _, err := fmt.Sscanf(name[at+1:], "%d", &p.n); err != nil || p.n < 0 {
					return fmt.Errorf("input %q: expected NODE:NUMBER", name)
				}
				p.node = name[:at]
			}
			n.inputs = append(n.inputs, p)
		case 5:
			var key string
			var a attr
			err := tfcheckpoint.Fields(content, func(field protowire.Number, _ uint64, content []byte) (err error) {
				switch field {
				case 1:
					key = string(content)
				case 2:
					a, err = parseAttr(content)
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("attribute %q: %w", key, err)
			}
			n.attrs[key] = a
		}
		return nil
	})
}

func parseAttr(b []byte) (a attr, err error) {
	err = tfcheckpoint.Fields(b, func(field protowire.Number, number uint64, content []byte) (err error) {
		switch field {
		case 1:
			err = tfcheckpoint.Fields(content, func(field protowire.Number, number uint64, content []byte) error {
				if field == 3 {
					return varints(number, content, func(v uint64) { a.ints = append(a.ints, int64(v)) })
				}
				return nil
			})
		case 2:
			a.s = string(content)
		case 3, 5, 6: // an integer, a bool, a type
			a.i = int64(number)
		case 4:
			a.f = math.Float32frombits(uint32(number))
		case 7:
			a.shape, err = parseShape(content)
		case 8:
			a.tensor, err = parseTensor(content)
		}
		return err
	})
	return a, err
}

// varints reads a repeated field of numbers, packed or not.
func varints(number uint64, packed []byte, found func(uint64)) error {
	if packed == nil {
		found(number)
	}
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return protowire.ParseError(n)
		}
		found(v)
		packed = packed[n:]
	}
	return nil
}

// parseShape reads a TensorShapeProto. Axes without an extent are free.
func parseShape(b []byte) (onnx.Shape, error) {
	shape, unknown := onnx.Shape{}, false
	err := tfcheckpoint.Fields(b, func(field protowire.Number, number uint64, dim []byte) error {
		if field == 3 && number != 0 {
			unknown = true
		}
		if field != 2 {
			return nil
		}
		extent := int64(0)
		err := tfcheckpoint.Fields(dim, func(field protowire.Number, number uint64, _ []byte) error {
			if field == 1 {
				extent = int64(number)
			}
			return nil
		})
		if extent < -1 || extent > math.MaxInt32 {
			return fmt.Errorf("an axis has %d elements", extent)
		}
		shape = append(shape, onnx.Dim{Size: extent})
		return err
	})
	if unknown {
		return nil, err
	}
	return shape, err
}

func parseTensor(b []byte) (*tensor, error) {
	t := &tensor{}
	count, size := int64(1), 0
	err := tfcheckpoint.Fields(b, func(field protowire.Number, number uint64, content []byte) error {
		element := func(v uint64) {
			var raw [8]byte
			binary.LittleEndian.PutUint64(raw[:], v)
			t.splat = append(t.splat, raw[:size]...)
		}
		switch field {
		case 1:
			t.elem = elemTypes[number]
			size = t.elem.Bits() / 8
		case 2:
			shape, err := parseShape(content)
			if err != nil {
				return err
			}
			for _, d := range shape {
				if d.Size < 0 || d.Size > 0 && count > math.MaxInt32/d.Size {
					return fmt.Errorf("a constant has shape %v", shape)
				}
				count *= d.Size
				t.dims = append(t.dims, d.Size)
			}
		case 4:
			t.data = content
		case 5: // float32
			if content == nil {
				element(number)
			}
			t.splat = append(t.splat, content...)
		case 6: // float64; one that is not packed is of 8 bytes, which Fields leaves out
			t.splat = append(t.splat, content...)
		case 7, 10, 11, 13: // integers of up to 32 bits, of 64, bools, float16
			return varints(number, content, element)
		}
		return nil
	})
	if err != nil || t.elem == onnx.Undefined {
		return t, err
	}
	want := count * int64(size)
	if t.data != nil {
		if int64(len(t.data)) != want {
			return t, fmt.Errorf("a constant of %v%v holds %d bytes, expected %d", t.elem, t.dims, len(t.data), want)
		}
		return t, nil
	}
	if have := int64(len(t.splat)); have > want || have%int64(size) != 0 {
		return t, fmt.Errorf("a constant of %v%v holds %d bytes, expected at most %d", t.elem, t.dims, have, want)
	}
	return t, nil
}

func (t *tensor) len() int64 {
	count := int64(1)
	for _, d := range t.dims {
		count *= d
	}
	return count
}

// bytes are the elements.
func (t *tensor) bytes() []byte {
	if t.data == nil {
		size := t.elem.Bits() / 8
		t.data = make([]byte, t.len()*int64(size))
		last := t.splat[max(len(t.splat)-size, 0):]
		for at := copy(t.data, t.splat); len(last) > 0 && at < len(t.data); at += size {
			copy(t.data[at:], last)
		}
	}
	return t.data
}

// integers are the elements of a constant of integers or bools.
func (t *tensor) integers() []int64 {
	raw, size := t.bytes(), t.elem.Bits()/8
	list := make([]int64, 0, t.len())
	for ; len(raw) > 0; raw = raw[size:] {
		switch t.elem {
		case onnx.Int64:
			list = append(list, int64(binary.LittleEndian.Uint64(raw)))
		case onnx.Int32:
			list = append(list, int64(int32(binary.LittleEndian.Uint32(raw))))
		case onnx.Bool, onnx.Uint8:
			list = append(list, int64(raw[0]))
		default:
			refuse("constants of %v are not integers", t.elem)
		}
	}
	return list
}

// permuted returns the constant with its axes in another order.
func (t *tensor) permuted(perm ...int) *tensor {
	if len(t.dims) != len(perm) {
		refuse("a constant has shape %v, expected %d axes", t.dims, len(perm))
	}
	size := t.elem.Bits() / 8
	steps, step := make([]int, len(perm)), size
	for a := len(perm) - 1; a >= 0; a-- {
		steps[a] = step
		step *= int(t.dims[a])
	}
	out := &tensor{elem: t.elem}
	for _, p := range perm {
		out.dims = append(out.dims, t.dims[p])
	}
	from := t.bytes()
	out.data = make([]byte, 0, len(from))
	index := make([]int64, len(perm))
	for at := 0; len(out.data) < len(from); {
		out.data = append(out.data, from[at:at+size]...)
		for a := len(perm) - 1; a >= 0; a-- {
			index[a]++
			at += steps[perm[a]]
			if index[a] < out.dims[a] {
				break
			}
			at -= steps[perm[a]] * int(out.dims[a])
			index[a] = 0
		}
	}
	return out
}
