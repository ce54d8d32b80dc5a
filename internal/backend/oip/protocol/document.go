package protocol

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Document is a request or an answer. The elements of its tensors are read by Read.
type Document struct {
	Head
	elements []func(t tensor.Tensor, body io.Reader) error // read those of each tensor
}

// add adds a tensor, unless it is wrong.
func (d *Document) add(s Spec, read func(t tensor.Tensor, body io.Reader) error) error {
	switch {
	case s.Name == "":
		return errors.New("a tensor has no name")
	case slices.ContainsFunc(d.Tensors, func(o Spec) bool { return o.Name == s.Name }):
		return fmt.Errorf("there are two tensors %q", s.Name)
	case len(d.Tensors) == maxTensors:
		return fmt.Errorf("more than %d tensors", maxTensors)
	case len(s.Shape) > maxAxes:
		return fmt.Errorf("tensor %s has %d axes, expected at most %d", s.Name, len(s.Shape), maxAxes)
	}
	if err := checkShape(s.Shape); err != nil {
		return fmt.Errorf("tensor %s: %w", s.Name, err)
	}
	d.Tensors, d.elements = append(d.Tensors, s), append(d.elements, read)
	return nil
}

// want adds an output that is asked for, once: a thousand times the same output would be a thousand times its bytes.
func (d *Document) want(name string) error {
	switch {
	case name == "":
		return errors.New("a requested output has no name")
	case slices.Contains(d.Wanted, name):
		return fmt.Errorf("the output %q is asked for twice", name)
	case len(d.Wanted) == maxTensors:
		return fmt.Errorf("more than %d requested outputs", maxTensors)
	}
	d.Wanted = append(d.Wanted, name)
	return nil
}

// refuse refuses parameters that change the meaning of a message and are not supported.
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

// BinarySize is the number of bytes that follow the JSON; negative: too many to count.
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

// Read reads the elements of all tensors into the memory that place returns. Body is what follows the JSON.
func (d *Document) Read(body io.Reader, place Place) ([]tensor.Tensor, error) {
	list := make([]tensor.Tensor, len(d.Tensors))
	for i, s := range d.Tensors {
		t, err := place(i, s)
		if err == nil && (t.Type != s.Type || int64(t.Len()) != s.Shape.Len()) {
			err = fmt.Errorf("it is %v%v, there is room for %v", s.Type, s.Shape, t)
		}
		if err == nil {
			err = d.elements[i](t, body)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", s.Name, err)
		}
		list[i] = t
	}
	return list, nil
}

// readBinary reads the elements of a tensor from so many bytes.
func readBinary(body io.Reader, t tensor.Tensor, size int64) error {
	if t.Type != tensor.String {
		if n, err := io.ReadFull(body, t.Bytes()); err != nil {
			return fmt.Errorf("%d of %d bytes arrived: %w", n, len(t.Bytes()), err)
		}
		if t.Type != tensor.Bool {
			return nil
		}
		if i := slices.IndexFunc(t.Bytes(), func(b byte) bool { return b > 1 }); i >= 0 {
			return fmt.Errorf("element %d is %d: must be 0 or 1", i, t.Bytes()[i])
		}
		return nil
	}
	data, err := readText(body, size)
	if err != nil {
		return err
	}
	return parseBytes(data, t.Strings())
}

// readText reads so many bytes, with no more memory than arrives.
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

// RawDocument is a request without JSON: it has the elements of its only tensor. A string has no length in front of it.
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
