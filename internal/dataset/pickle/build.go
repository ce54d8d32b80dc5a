package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A list is a Python list under construction: other values may refer to it.
type list struct{ items []any }

// A dict is a Python dictionary under construction.
type dict struct{ items map[string]any }

// stepBuild: lists, tuples, dictionaries and objects.
func (m *machine) stepBuild(op byte) error {
	switch op {
	case ']':
		m.push(&list{})
	case '}':
		m.push(&dict{map[string]any{}})
	case ')':
		m.push(Tuple{})
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		values, err := m.popN(int(op-0x85) + 1)
		m.push(Tuple(values))
		return err
	case 't', 'l', 'e', 'u', 'd':
		return m.collect(op)
	case 'a':
		values, err := m.popN(1)
		if err != nil {
			return err
		}
		return m.extend(values)
	case 's':
		values, err := m.popN(2)
		if err != nil {
			return err
		}
		return m.assign(values)
	case '0':
		_, err := m.pop()
		return err
	case 'c', 0x93, 'R', 0x81, 'b', 'Q':
		return m.object(op)
	default:
		return errors.New("not known here")
	}
	return nil
}

// collect makes use of all values above the last mark.
func (m *machine) collect(op byte) error {
	values, err := m.popMark()
	if err != nil {
		return err
	}
	switch op {
	case 't':
		m.push(Tuple(values))
	case 'l':
		m.push(&list{values})
	case 'e':
		return m.extend(values)
	case 'd':
		m.push(&dict{map[string]any{}})
		return m.assign(values)
	default:
		return m.assign(values)
	}
	return nil
}

// extend appends values to the list on the stack.
func (m *machine) extend(values []any) error {
	if len(m.stack) > 0 {
		if l, ok := m.stack[len(m.stack)-1].(*list); ok {
			l.items = append(l.items, values...)
			return nil
		}
	}
	return errors.New("there is no list to append to")
}

// assign puts keys and values into the dictionary on the stack.
func (m *machine) assign(values []any) error {
	if len(m.stack) == 0 || len(values)%2 != 0 {
		return errStack
	}
	d, ok := m.stack[len(m.stack)-1].(*dict)
	if !ok {
		return errors.New("there is no dictionary to put values into")
	}
	for i := 0; i < len(values); i += 2 {
		key, ok := values[i].(string)
		if !ok {
			return fmt.Errorf("a key is %T, want a string", values[i])
		}
		d.items[key] = values[i+1]
	}
	return nil
}

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
	if objects, isList := s[4].(*list); isList && err == nil && ok && ok2 && d.code == "O8" {
		return a.fillObjects(shape, fortran, objects.items)
	}
	data, ok3 := s[4].([]byte)
	if err != nil || !ok || !ok2 || !ok3 {
		return errState
	}
	return a.fill(*d, shape, fortran, data)
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

// Values may be inside each other, several times and even inside themselves. So there are
// limits to how deep they are and how many: some more than the file has bytes, as each of
// them takes at least one where it is not inside several others.
const (
	maxDepth   = 50
	moreValues = 1 << 20
)

// value turns what was built into what is returned.
func (m *machine) value(v any) (any, error) {
	left := len(m.data) + moreValues
	return finish(v, 0, &left)
}

func finish(v any, depth int, left *int) (any, error) {
	if *left--; depth > maxDepth || *left < 0 {
		return nil, fmt.Errorf("there are more values than the file has bytes, or they are more than %d deep in each other", maxDepth)
	}
	switch v := v.(type) {
	case *list:
		return finishAll(v.items, depth, left)
	case Tuple:
		items, err := finishAll(v, depth, left)
		return Tuple(items), err
	case *dict:
		items := make(map[string]any, len(v.items))
		for key, item := range v.items {
			var err error
			if items[key], err = finish(item, depth+1, left); err != nil {
				return nil, err
			}
		}
		return items, nil
	case *Array:
		if !v.built {
			return nil, errors.New("an array has no content")
		}
		return v.finish(depth, left)
	case *frame:
		return v.finish(depth, left)
	case mark, function, maker, *dtype, *manager, *block, *index, *slice, storageType, *torchStorage:
		return nil, fmt.Errorf("a value is %T", v)
	}
	return v, nil
}

func finishAll(items []any, depth int, left *int) ([]any, error) {
	finished := make([]any, 0, min(len(items), *left+1))
	for _, item := range items {
		v, err := finish(item, depth+1, left)
		if err != nil {
			return nil, err
		}
		finished = append(finished, v)
	}
	return finished, nil
}
