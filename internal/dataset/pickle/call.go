package pickle

import (
	"errors"
	"fmt"
)

// A maker makes the object that a function or a class of Python's would.
type maker func(args Tuple) (any, error)

// onlyNamed is a class that a pickle has as an argument.
func onlyNamed(Tuple) (any, error) {
	return nil, errors.New("a class is called that is only named otherwise")
}

// numpyNames are what a pickle of arrays asks for. NumPy 2 moved numpy.core to numpy._core;
// the names that are not NumPy's make bytes in protocols that have none.
var numpyNames = map[string]maker{
	"numpy.core.multiarray._reconstruct":  emptyArray,
	"numpy._core.multiarray._reconstruct": emptyArray,
	"numpy.core.numeric._frombuffer":      arrayOf,
	"numpy._core.numeric._frombuffer":     arrayOf,
	"numpy.core.multiarray.scalar":        scalarOf,
	"numpy._core.multiarray.scalar":       scalarOf,
	"numpy.dtype":                         newDType,
	"numpy.ndarray":                       onlyNamed,
	"_codecs.encode":                      latin1,
	"__builtin__.bytes":                   noBytes,
}

// global names a function or a class by two lines, its module first.
func (m *machine) global() error {
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

// stackGlobal is global for two strings on the stack.
func (m *machine) stackGlobal(values []any) error {
	module, ok := values[0].(string)
	name, ok2 := values[1].(string)
	if !ok || !ok2 {
		return errors.New("a name is not a string")
	}
	return m.name(module + "." + name)
}

// call pushes what a function or a class makes of arguments.
func (m *machine) call(values []any) error {
	v, err := callAny(values[0], values[1])
	m.push(v)
	return err
}

// build gives an object its state.
func (m *machine) build(values []any) error {
	m.push(values[0])
	return setState(values[0], values[1])
}

// name pushes the function or the class of that name.
func (m *machine) name(name string) error {
	if v, ok := m.torchName(name); ok {
		m.push(v)
		return nil
	}
	f, ok := numpyNames[name]
	if !ok {
		f, ok = pandasNames[name]
	}
	if !ok {
		return fmt.Errorf("the pickle asks for %s, which is refused: want nothing but NumPy's arrays and pandas' tables of them", name)
	}
	m.push(f)
	return nil
}

// callAny calls a function or a class.
func callAny(f, args any) (any, error) {
	made, ok := f.(maker)
	values, ok2 := args.(Tuple)
	if !ok || !ok2 {
		return nil, errors.New("what is called is no function, or has no arguments")
	}
	return made(values)
}

// errCall is the error for arguments that NumPy does not write.
func errCall(args Tuple) error {
	return fmt.Errorf("a call with %d arguments is not as NumPy writes it", len(args))
}

// emptyArray makes an array that gets its content later.
func emptyArray(Tuple) (any, error) { return &Array{}, nil }

// arrayOf makes an array of memory, type, shape and order.
func arrayOf(args Tuple) (any, error) {
	if len(args) != 4 {
		return nil, errCall(args)
	}
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

// newDType makes a type of its code.
func newDType(args Tuple) (any, error) {
	code, ok := firstText(args)
	if !ok {
		return nil, errCall(args)
	}
	return &dtype{code: code, order: "|"}, nil
}

// latin1 makes bytes of the characters that stand for them, as protocol 2 writes them.
func latin1(args Tuple) (any, error) {
	text, ok := firstText(args)
	if !ok {
		return nil, errCall(args)
	}
	b := []byte{}
	for _, r := range text {
		if r > 255 {
			return nil, fmt.Errorf("%q is no byte", r)
		}
		b = append(b, byte(r))
	}
	return b, nil
}

// noBytes is how protocol 2 writes bytes that are none.
func noBytes(args Tuple) (any, error) {
	if len(args) != 0 {
		return nil, errCall(args)
	}
	return []byte{}, nil
}

// firstText returns the first argument, and whether it is a string.
func firstText(args Tuple) (string, bool) {
	if len(args) == 0 {
		return "", false
	}
	text, ok := args[0].(string)
	return text, ok
}

// scalarOf makes a single number of its type and memory.
func scalarOf(args Tuple) (any, error) {
	if len(args) != 2 {
		return nil, errCall(args)
	}
	d, ok := args[0].(*dtype)
	data, ok2 := args[1].([]byte)
	if !ok || !ok2 {
		return nil, errors.New("a number is not as NumPy writes it")
	}
	if d.size() == 0 || d.size() != len(data) {
		return nil, fmt.Errorf("a number of type %q has %d bytes", d.code, len(data))
	}
	return d.number(d.littleEndian(data))
}
