package pickle

import (
	"errors"
	"fmt"
	"slices"
)

// A Tuple is a Python tuple.
type Tuple []any

// mark separates values on the stack.
type mark struct{}

// A machine runs a pickle (Lib/pickletools.py describes its instructions).
type machine struct {
	data  []byte
	pos   int
	stack []any
	memo  map[uint64]any // what was kept to be used again
	// storage returns the memory of a tensor beside the file; nil: there is none.
	storage func(key string) ([]byte, error)
}

// Read reads a pickle. Bytes after its end are not looked at.
func Read(data []byte) (any, error) {
	return run(&machine{data: data, memo: make(map[uint64]any)})
}

func run(m *machine) (any, error) {
	for {
		at := m.pos
		op, err := m.byte()
		if err != nil {
			return nil, fmt.Errorf("pickle: %w", err)
		}
		if op == '.' {
			v, err := m.result()
			if err != nil {
				return nil, fmt.Errorf("pickle: byte %d: %w", at, err)
			}
			return v, nil
		}
		if err := m.step(op); err != nil {
			return nil, fmt.Errorf("pickle: byte %d, instruction %q: %w", at, op, err)
		}
	}
}

// step carries out an instruction.
func (m *machine) step(op byte) error {
	carryOut := instructions[op]
	if carryOut == nil {
		return errors.New("not known here")
	}
	return carryOut(m)
}

// result is what the program leaves on the stack.
func (m *machine) result() (any, error) {
	v, err := m.pop()
	if err != nil {
		return nil, err
	}
	return m.value(v)
}

var (
	errShort = errors.New("the file ends too early")
	errStack = errors.New("there are too few values")
)

func (m *machine) bytes(n uint64) ([]byte, error) {
	if n > uint64(len(m.data)-m.pos) {
		return nil, errShort
	}
	b := m.data[m.pos:][:n:n]
	m.pos += int(n)
	return b, nil
}

func (m *machine) byte() (byte, error) {
	b, err := m.bytes(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// number reads an unsigned little-endian integer.
func (m *machine) number(size uint64) (uint64, error) {
	b, err := m.bytes(size)
	var v uint64
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	return v, err
}

// counted reads bytes after their number.
func (m *machine) counted(size uint64) ([]byte, error) {
	n, err := m.number(size)
	if err != nil {
		return nil, err
	}
	return m.bytes(n)
}

// line reads up to a line feed.
func (m *machine) line() (string, error) {
	for i := m.pos; i < len(m.data); i++ {
		if m.data[i] == '\n' {
			s := string(m.data[m.pos:i])
			m.pos = i + 1
			return s, nil
		}
	}
	return "", errShort
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

func (m *machine) pop() (any, error) {
	if len(m.stack) == 0 {
		return nil, errStack
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

// popMark returns the values above the last mark.
func (m *machine) popMark() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(mark); ok {
			values := slices.Clone(m.stack[i+1:])
			m.stack = m.stack[:i]
			return values, nil
		}
	}
	return nil, errors.New("there is no mark")
}

// popN returns the last n values.
func (m *machine) popN(n int) ([]any, error) {
	if len(m.stack) < n {
		return nil, errStack
	}
	values := slices.Clone(m.stack[len(m.stack)-n:])
	m.stack = m.stack[:len(m.stack)-n]
	return values, nil
}

func (m *machine) keep(i uint64) error {
	if len(m.stack) == 0 {
		return errStack
	}
	m.memo[i] = m.stack[len(m.stack)-1]
	return nil
}

func (m *machine) recall(i uint64) error {
	v, ok := m.memo[i]
	if !ok {
		return fmt.Errorf("value %d was not kept", i)
	}
	m.push(v)
	return nil
}
