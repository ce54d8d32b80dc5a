// Package pickle reads the pickles of Python that MLPerf's data sets have: NumPy arrays, pandas
// tables, and lists and dictionaries of them.
//
//	value, err := pickle.Read(data)
//	list, ok := value.([]any)          // [image, label]
//	image, ok := list[0].(*pickle.Array)
//
// A pickle is a program that may call any function of Python. Read runs nothing: it knows the
// few classes that NumPy and pandas use, and refuses all others. Whole numbers are int64,
// other numbers float64, strings string, bytes []byte, lists and tuples []any, or []int64 if all
// items are integers, dictionaries map[string]any, arrays *Array, tables *Frame.
//
// ReadTorch reads a tensor that torch.save wrote: a zip archive with a pickle and the numbers
// beside it.
//
// Not read: protocols 0 and 1, objects of other classes, sets, integers of more than 64 bits,
// keys that are not strings, big-endian numbers, tables of pandas before 1.3, and columns of
// dates, categories and pandas' own types of text.
package pickle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"
)

// Read reads a pickle. It ignores bytes after its end.
func Read(data []byte) (any, error) {
	v, err := load(data, findClass, nil)
	if err == nil {
		left := len(data) + moreValues
		v, err = plain(v, 0, &left)
	}
	if err != nil {
		return nil, fmt.Errorf("pickle: %w", err)
	}
	return v, nil
}

// load builds the values of a pickle, in gopickle's types and ours.
func load(data []byte, find func(module, name string) (any, error), persistent func(id any) (any, error)) (v any, err error) {
	if err := check(data); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil { // gopickle takes for granted that, for instance, each key has a value
			err = fmt.Errorf("damaged: %v", r)
		}
	}()
	u := pickle.NewUnpickler(bytes.NewReader(data))
	u.FindClass, u.PersistentLoad = find, persistent
	return u.Load()
}

const (
	maxMarks   = 1000    // open at a time: each takes 300 bytes
	maxDepth   = 50      // of values inside each other
	moreValues = 1 << 20 // than the file has bytes: a value may be in several places
)

// check refuses instructions that no pickle of protocol 2 to 5 with plain values has, and
// lengths beyond the end of the file, for which gopickle would make room.
// Lib/pickletools.py describes the instructions.
func check(data []byte) error {
	marks := 0
	for pos := 0; pos < len(data); {
		at, op := pos, data[pos]
		size, counted, lines := 0, false, 0
		switch op {
		case '.':
			return nil
		case '(':
			if marks++; marks > maxMarks {
				return fmt.Errorf("byte %d: more than %d open marks", at, maxMarks)
			}
		case 't', 'l', 'e', 'd', 'u':
			marks--
		case 'N', 0x88, 0x89, ')', 0x85, 0x86, 0x87, ']', 'a', '}', 's', 0x93, 'R', 0x81, 'b', 'Q', 0x94, '0':
		case 0x80, 'K', 'q', 'h':
			size = 1
		case 'M':
			size = 2
		case 'J', 'r', 'j':
			size = 4
		case 'G':
			size = 8
		case 'C', 0x8a, 0x8c:
			size, counted = 1, true
		case 'B', 'X':
			size, counted = 4, true
		case 0x8d, 0x8e, 0x96:
			size, counted = 8, true
		case 0x95: // FRAME: its content follows
			size = 8
			if rest := data[pos+1:]; len(rest) >= 8 && binary.LittleEndian.Uint64(rest) > uint64(len(rest)-8) {
				return fmt.Errorf("byte %d: %w", at, errShort)
			}
		case 'c':
			lines = 2
		default:
			return fmt.Errorf("byte %d: instruction %q: not expected in data", at, op)
		}
		pos++
		if len(data)-pos < size {
			return fmt.Errorf("byte %d: %w", at, errShort)
		}
		if counted {
			var n [8]byte
			copy(n[:], data[pos:pos+size])
			length := binary.LittleEndian.Uint64(n[:])
			if length > uint64(len(data)-pos-size) {
				return fmt.Errorf("byte %d: %w", at, errShort)
			}
			pos += int(length)
		}
		pos += size
		for range lines {
			n := bytes.IndexByte(data[pos:], '\n')
			if n < 0 {
				return fmt.Errorf("byte %d: %w", at, errShort)
			}
			pos += n + 1
		}
	}
	return errShort
}

var errShort = errors.New("the file ends too early")

// plain turns what gopickle makes into what Read returns. A few bytes may put one value into many places, even
// into itself; left bounds how many values (and bytes, which callers may copy) come of it.
func plain(v any, depth int, left *int) (any, error) {
	if *left--; depth > maxDepth || *left < 0 {
		return nil, fmt.Errorf("more values than the file has bytes, or more than %d inside each other", maxDepth)
	}
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return v, nil
	case int:
		return int64(v), nil
	case []byte:
		*left -= len(v)
		return v, nil
	case *types.ByteArray:
		*left -= len(*v)
		return []byte(*v), nil
	case *types.List:
		return plainList(*v, depth, left)
	case *types.Tuple:
		return plainList(*v, depth, left)
	case *types.Dict:
		items := make(map[string]any, len(*v))
		for _, entry := range *v {
			if err := plainEntry(items, entry.Key, entry.Value, depth, left); err != nil {
				return nil, err
			}
		}
		return items, nil
	case *types.OrderedDict:
		items := make(map[string]any, len(v.Map))
		for key, entry := range v.Map {
			if err := plainEntry(items, key, entry.Value, depth, left); err != nil {
				return nil, err
			}
		}
		return items, nil
	case *ndarray:
		if !v.built {
			return nil, errors.New("an array has no content")
		}
		*left -= len(v.Data)
		a := v.Array
		var err error
		if a.Objects != nil {
			a.Objects, err = plainItems(a.Objects, depth, left)
		}
		return &a, err
	case *frame:
		return v.plain(depth, left)
	}
	return nil, fmt.Errorf("a value is %T: must be data", v)
}

// plainEntry adds an entry of a dictionary.
func plainEntry(items map[string]any, key, value any, depth int, left *int) error {
	name, ok := key.(string)
	if !ok {
		return fmt.Errorf("a key is %T: must be a string", key)
	}
	item, err := plain(value, depth+1, left)
	items[name] = item
	return err
}

// plainList returns []int64 for a list of integers, which takes a third of the memory: most of many files are tokens.
func plainList(items []any, depth int, left *int) (any, error) {
	isOther := func(item any) bool { _, ok := item.(int); return !ok }
	if len(items) == 0 || len(items) > *left || depth == maxDepth || slices.ContainsFunc(items, isOther) {
		return plainItems(items, depth, left)
	}
	*left -= len(items)
	numbers := make([]int64, len(items))
	for i, item := range items {
		numbers[i] = int64(item.(int))
	}
	return numbers, nil
}

func plainItems(items []any, depth int, left *int) ([]any, error) {
	out := make([]any, 0, min(len(items), max(0, *left+1)))
	for _, item := range items {
		v, err := plain(item, depth+1, left)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// A function is a function or a class that a pickle calls.
type function func(args []any) (any, error)

func (f function) Call(args ...any) (any, error)  { return f(args) }
func (f function) PyNew(args ...any) (any, error) { return f(args) }

// namedOnly is a class that a pickle gives as an argument.
func namedOnly([]any) (any, error) {
	return nil, errors.New("the pickle calls a class that is only an argument")
}

// functions are all that a pickle may name. NumPy 2 moved numpy.core to numpy._core; pandas 1.3 to 2
// write these names for columns of numbers and objects.
var functions = map[string]function{
	"numpy.core.multiarray._reconstruct":  func([]any) (any, error) { return &ndarray{}, nil },
	"numpy._core.multiarray._reconstruct": func([]any) (any, error) { return &ndarray{}, nil },
	"numpy.core.numeric._frombuffer":      fromBuffer,
	"numpy._core.numeric._frombuffer":     fromBuffer,
	"numpy.core.multiarray.scalar":        newScalar,
	"numpy._core.multiarray.scalar":       newScalar,
	"numpy.dtype":                         newDType,
	"numpy.ndarray":                       namedOnly,
	"_codecs.encode":                      latin1,
	"__builtin__.bytes":                   noBytes,

	"pandas.core.frame.DataFrame":                 func([]any) (any, error) { return &frame{}, nil },
	"pandas.core.internals.managers.BlockManager": newManager,
	"pandas._libs.internals._unpickle_block":      newBlock,
	"pandas.core.internals.blocks.new_block":      newBlock,
	"pandas.core.indexes.base._new_Index":         newIndex,
	"pandas.core.indexes.base.Index":              namedOnly,
	"pandas.core.indexes.numeric.Int64Index":      namedOnly,
	"pandas.core.indexes.range.RangeIndex":        namedOnly,
	"builtins.slice":                              newSlice,
	"__builtin__.slice":                           newSlice,
}

func findClass(module, name string) (any, error) {
	f, ok := functions[module+"."+name]
	if !ok {
		return nil, fmt.Errorf("the pickle asks for %s.%s, which is refused: only NumPy arrays and pandas tables of them", module, name)
	}
	return f, nil
}

// latin1 returns the bytes that protocol 2 writes as characters.
func latin1(args []any) (any, error) {
	text, ok := arg[string](args, 0)
	if !ok {
		return nil, errors.New("bytes are not written as Python writes them")
	}
	b := []byte{}
	for _, r := range text {
		if r > 255 {
			return nil, fmt.Errorf("%q is not a byte", r)
		}
		b = append(b, byte(r))
	}
	return b, nil
}

// noBytes returns the empty bytes of protocol 2.
func noBytes(args []any) (any, error) { return []byte{}, nil }

// arg returns an argument, and whether it is there and of a type.
func arg[T any](args []any, i int) (T, bool) {
	if i >= len(args) {
		var zero T
		return zero, false
	}
	v, ok := args[i].(T)
	return v, ok
}
