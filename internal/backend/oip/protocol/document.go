package protocol

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Document is a request or an answer, of which the elements of the tensors were not read yet.
type Document struct {
	Head
	elements []func(t tensor.Tensor, body io.Reader) error // put those of each tensor where they belong
}

// add adds a tensor, unless it cannot be one.
func (d *Document) add(s Spec, read func(t tensor.Tensor, body io.Reader) error) error {
	switch {
	case s.Name == "":
		return errors.New("a tensor has no name")
	case slices.ContainsFunc(d.Tensors, func(o Spec) bool { return o.Name == s.Name }):
		return fmt.Errorf("there are two tensors %q", s.Name)
	case len(d.Tensors) == mostTensors:
		return fmt.Errorf("more than %d tensors", mostTensors)
	case len(s.Shape) > mostAxes:
		return fmt.Errorf("tensor %s has %d axes, want at most %d", s.Name, len(s.Shape), mostAxes)
	}
	if err := checkShape(s.Shape); err != nil {
		return fmt.Errorf("tensor %s: %w", s.Name, err)
	}
	d.Tensors, d.elements = append(d.Tensors, s), append(d.elements, read)
	return nil
}

// want adds an output that is asked for. The same output a thousand times would be an answer of a thousand times its size.
func (d *Document) want(name string) error {
	switch {
	case name == "":
		return errors.New("an output that is asked for has no name")
	case slices.Contains(d.Wanted, name):
		return fmt.Errorf("the output %q is asked for twice", name)
	case len(d.Wanted) == mostTensors:
		return fmt.Errorf("more than %d outputs are asked for", mostTensors)
	}
	d.Wanted = append(d.Wanted, name)
	return nil
}

// refuse refuses the parameters that change the meaning of a message and are not supported.
func refuse(asked func(name string) bool) error {
	for _, p := range []struct{ name, what string }{
		{"sequence_id", "sequences of requests"},
		{"classification", "classes instead of the numbers of an output"},
		{"shared_memory_region", "tensors in shared memory"},
	} {
		if asked(p.name) {
			return Errorf(Unsupported, "%s (%s) are not supported", p.what, p.name)
		}
	}
	return nil
}

// BinarySize is how many bytes have to follow the JSON; negative: more than can be counted.
func (d *Document) BinarySize() int64 {
	n := int64(0)
	for _, s := range d.Tensors {
		if s.Size > math.MaxInt64-n {
			return -1
		}
		n += s.Size
	}
	return n
}

// Read puts all tensors where they belong. Body has what follows the JSON.
func (d *Document) Read(body io.Reader, place Place) ([]tensor.Tensor, error) {
	list := make([]tensor.Tensor, len(d.Tensors))
	for i, s := range d.Tensors {
		t, err := placed(place, i, s)
		if err != nil {
			return nil, err
		}
		if err := d.elements[i](t, body); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", s.Name, err)
		}
		list[i] = t
	}
	return list, nil
}

// readBinary reads the elements of a tensor that take so many bytes.
func readBinary(body io.Reader, t tensor.Tensor, size int64) error {
	if t.Type != tensor.String {
		if n, err := io.ReadFull(body, t.Bytes()); err != nil {
			return fmt.Errorf("%d of %d bytes arrived: %w", n, len(t.Bytes()), err)
		}
		return checkBools(t)
	}
	data, err := readText(body, size)
	if err != nil {
		return err
	}
	return parseBytes(data, t.Strings())
}

// readText reads so many bytes, and takes no more memory than arrives.
func readText(body io.Reader, size int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, size))
	if err == nil && int64(len(data)) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%d of %d bytes arrived: %w", len(data), size, err)
	}
	return data, nil
}

// checkBools refuses bytes that are neither false nor true.
func checkBools(t tensor.Tensor) error {
	if t.Type != tensor.Bool {
		return nil
	}
	for i, b := range t.Bytes() {
		if b > 1 {
			return fmt.Errorf("element %d is %d, want 0 or 1", i, b)
		}
	}
	return nil
}

// RawDocument is a request without JSON: the elements of its only tensor are all there is. A string has no length in
// front of it.
func RawDocument(h Head) *Document {
	h.WantsJSON = true
	size := h.Tensors[0].Size
	return &Document{Head: h, elements: []func(tensor.Tensor, io.Reader) error{func(t tensor.Tensor, body io.Reader) error {
		if t.Type != tensor.String {
			return readBinary(body, t, size)
		}
		data, err := readText(body, size)
		if err == nil {
			t.Strings()[0] = string(data)
		}
		return err
	}}}
}
