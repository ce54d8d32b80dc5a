package pickle

import (
	"errors"
	"fmt"
	"math"
)

// errState is the error for anything that NumPy does not write.
var errState = errors.New("an object's state is not as NumPy writes it")

// setState gives an array its content, or a type its order of bytes.
func setState(object, state any) error {
	if f, ok := object.(*frame); ok {
		return f.setState(state)
	}
	s, ok := state.(Tuple)
	if !ok {
		return errState
	}
	switch o := object.(type) {
	case *Array:
		return o.setState(s)
	case *dtype:
		return o.setState(s)
	}
	return errState
}

// setState takes version, shape, type, order of axes, and content.
func (a *Array) setState(s Tuple) error {
	if len(s) != 5 || a.built {
		return errState
	}
	shape, err := shapeOf(s[1])
	d, ok := s[2].(*dtype)
	fortran, ok2 := s[3].(bool)
	if err != nil || !ok || !ok2 {
		return errState
	}
	switch content := s[4].(type) {
	case *list:
		if d.code != "O8" {
			return errState
		}
		return a.fillObjects(shape, content.items)
	case []byte:
		return a.fill(*d, shape, fortran, content)
	}
	return errState
}

// setState takes version, order of bytes, and more that plain numbers do not need.
func (d *dtype) setState(s Tuple) error {
	if len(s) < 2 {
		return errState
	}
	order, ok := s[1].(string)
	if !ok {
		return errState
	}
	d.order = order
	return nil
}

// shapeOf reads a tuple of extents.
func shapeOf(v any) ([]int, error) {
	t, ok := v.(Tuple)
	if !ok || len(t) > 32 {
		return nil, errors.New("a shape is no tuple")
	}
	shape := make([]int, len(t))
	for i, extent := range t {
		n, ok := extent.(int64)
		if !ok || n < 0 || n > math.MaxInt32 {
			return nil, fmt.Errorf("an extent is %v", extent)
		}
		shape[i] = int(n)
	}
	return shape, nil
}
