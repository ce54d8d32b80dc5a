package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A function is a name of Python's that is known here.
type function int

const (
	reconstruct function = iota // an array without content
	fromBuffer                  // an array
	newDType
	scalar
	ndarray // a class, only named
	encode  // bytes from text, as protocol 2 writes them
)

// functions returns the names that may be in a pickle of arrays. NumPy 2 moved
// numpy.core to numpy._core.
func functions() map[string]function {
	return map[string]function{
		"numpy.core.multiarray._reconstruct":  reconstruct,
		"numpy._core.multiarray._reconstruct": reconstruct,
		"numpy.core.numeric._frombuffer":      fromBuffer,
		"numpy._core.numeric._frombuffer":     fromBuffer,
		"numpy.core.multiarray.scalar":        scalar,
		"numpy._core.multiarray.scalar":       scalar,
		"numpy.dtype":                         newDType,
		"numpy.ndarray":                       ndarray,
		"_codecs.encode":                      encode,
	}
}

// object names a function, calls one, gives an object its state, or takes what lies beside the file.
func (m *machine) object(op byte) error {
	if op == 'Q' {
		return m.persistent()
	}
	if op == 'c' {
		module, err := m.line()
		if err != nil {
			return err
		}
		name, err := m.line()
		if err != nil {
			return err
		}
		return m.name(module + "." + name)
	}
	values, err := m.popN(2)
	if err != nil {
		return err
	}
	switch op {
	case 'R', 0x81: // REDUCE, NEWOBJ
		v, err := callAny(values[0], values[1])
		m.push(v)
		return err
	case 'b':
		m.push(values[0])
		return setState(values[0], values[1])
	}
	module, ok := values[0].(string)
	name, ok2 := values[1].(string)
	if !ok || !ok2 {
		return errors.New("a name is not a string")
	}
	return m.name(module + "." + name)
}

func (m *machine) name(name string) error {
	if f, ok := functions()[name]; ok {
		m.push(f)
		return nil
	}
	if m.storage != nil {
		if v, ok := torchNames()[name]; ok {
			m.push(v)
			return nil
		}
	}
	f, ok := makers()[name]
	if !ok {
		return fmt.Errorf("the pickle asks for %s, which is refused: want nothing but NumPy's arrays and pandas' tables of them", name)
	}
	m.push(f)
	return nil
}

// callAny calls a function or a class.
func callAny(f, args any) (any, error) {
	values, ok := args.(Tuple)
	if ok {
		switch f := f.(type) {
		case function:
			return call(f, values)
		case maker:
			return f(values)
		}
	}
	return nil, errors.New("what is called is no function, or has no arguments")
}

// call makes the object that a function of NumPy would.
func call(f function, args Tuple) (any, error) {
	if f == reconstruct {
		return &Array{}, nil
	}
	if f == fromBuffer && len(args) == 4 {
		return fromArguments(args)
	}
	if f == scalar && len(args) == 2 {
		return scalarOf(args[0], args[1])
	}
	if len(args) == 0 {
		return nil, errors.New("a call without arguments is not as NumPy writes it")
	}
	text, ok := args[0].(string)
	if ok && f == newDType {
		return &dtype{code: text, order: "|"}, nil
	}
	if ok && f == encode {
		return latin1(text)
	}
	return nil, fmt.Errorf("a call with %d arguments is not as NumPy writes it", len(args))
}

// fromArguments makes an array of memory, type, shape and order.
func fromArguments(args Tuple) (any, error) {
	data, ok := args[0].([]byte)
	d, ok2 := args[1].(*dtype)
	order, ok3 := args[3].(string)
	shape, err := shapeOf(args[2])
	if !ok || !ok2 || !ok3 || err != nil {
		return nil, errors.New("an array is not as NumPy writes it")
	}
	a := &Array{}
	return a, a.fill(*d, shape, order == "F", data)
}

// latin1 returns the bytes that a string stands for.
func latin1(text string) ([]byte, error) {
	var b []byte
	for _, r := range text {
		if r > 255 {
			return nil, fmt.Errorf("%q is no byte", r)
		}
		b = append(b, byte(r))
	}
	return b, nil
}

// scalarOf reads a single number.
func scalarOf(typ, memory any) (any, error) {
	d, ok := typ.(*dtype)
	data, ok2 := memory.([]byte)
	if !ok || !ok2 {
		return nil, errors.New("a number is not as NumPy writes it")
	}
	if d.size() == 0 || d.size() != len(data) || d.order == ">" && len(data) > 1 {
		return nil, fmt.Errorf("a number of type %q has %d bytes", d.code, len(data))
	}
	var raw [8]byte
	copy(raw[:], data)
	bits := binary.LittleEndian.Uint64(raw[:])
	switch d.code {
	case "f4":
		return float64(math.Float32frombits(uint32(bits))), nil
	case "f8":
		return math.Float64frombits(bits), nil
	case "f2":
		return nil, errors.New("a number is a float16")
	}
	if d.code[0] == 'i' {
		shift := 64 - 8*len(data)
		return int64(bits) << shift >> shift, nil
	}
	return int64(bits), nil
}
