package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
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
	memo  map[uint64]any
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
			v, err := m.pop()
			if err == nil {
				v, err = m.value(v)
			}
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
			values := append([]any(nil), m.stack[i+1:]...)
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
	values := append([]any(nil), m.stack[len(m.stack)-n:]...)
	m.stack = m.stack[:len(m.stack)-n]
	return values, nil
}

// step carries out an instruction.
func (m *machine) step(op byte) error {
	for _, try := range []func(byte) (bool, error){m.stepConstant, m.stepNumber, m.stepText, m.stepMemo} {
		if done, err := try(op); done {
			return err
		}
	}
	return m.stepBuild(op)
}

// stepConstant: marks, frames and constants.
func (m *machine) stepConstant(op byte) (done bool, err error) {
	switch op {
	case 0x80: // PROTO
		var n uint64
		if n, err = m.number(1); err == nil && n > 5 {
			err = fmt.Errorf("protocol is %d, want at most 5", n)
		}
	case 0x95: // FRAME
		_, err = m.number(8)
	case '(':
		m.push(mark{})
	case 'N':
		m.push(nil)
	case 0x88:
		m.push(true)
	case 0x89:
		m.push(false)
	default:
		return false, nil
	}
	return true, err
}

// stepNumber: integers and floats.
func (m *machine) stepNumber(op byte) (done bool, err error) {
	switch op {
	case 'K', 'M':
		size := uint64(1)
		if op == 'M' {
			size = 2
		}
		n, err := m.number(size)
		m.push(int64(n))
		return true, err
	case 'J':
		n, err := m.number(4)
		m.push(int64(int32(n)))
		return true, err
	case 0x8a: // LONG1
		return true, m.long()
	case 'G':
		b, err := m.bytes(8)
		if err == nil {
			m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
		return true, err
	case 'I', 'L', 'F':
		return true, m.decimal(op)
	}
	return false, nil
}

// long reads an integer of up to eight bytes.
func (m *machine) long() error {
	b, err := m.counted(1)
	if err != nil {
		return err
	}
	if len(b) > 8 {
		return fmt.Errorf("an integer has %d bytes, want at most 8", len(b))
	}
	var v uint64
	if len(b) > 0 && b[len(b)-1] >= 0x80 {
		v = math.MaxUint64 << (8 * len(b)) // negative
	}
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	m.push(int64(v))
	return nil
}

// decimal reads a number of protocol 0.
func (m *machine) decimal(op byte) error {
	text, err := m.line()
	if err != nil {
		return err
	}
	if op == 'F' {
		v, err := strconv.ParseFloat(text, 64)
		m.push(v)
		return err
	}
	if op == 'I' && (text == "00" || text == "01") {
		m.push(text == "01")
		return nil
	}
	if n := len(text); op == 'L' && n > 0 && text[n-1] == 'L' {
		text = text[:n-1]
	}
	v, err := strconv.ParseInt(text, 10, 64)
	m.push(v)
	return err
}

// stepText: strings and bytes.
func (m *machine) stepText(op byte) (done bool, err error) {
	var b []byte
	switch op {
	case 0x8c: // SHORT_BINUNICODE
		b, err = m.counted(1)
		m.push(string(b))
	case 'X':
		b, err = m.counted(4)
		m.push(string(b))
	case 0x8d: // BINUNICODE8
		b, err = m.counted(8)
		m.push(string(b))
	case 'C', 'U': // of Python 2, 'U' and 'T' are strings: bytes
		b, err = m.counted(1)
		m.push(b)
	case 'B', 'T':
		b, err = m.counted(4)
		m.push(b)
	case 0x8e, 0x96: // BINBYTES8, BYTEARRAY8
		b, err = m.counted(8)
		m.push(b)
	default:
		return false, nil
	}
	return true, err
}

// stepMemo: what is kept to be used again.
func (m *machine) stepMemo(op byte) (done bool, err error) {
	var n uint64
	switch op {
	case 0x94: // MEMOIZE
		return true, m.keep(uint64(len(m.memo)))
	case 'q':
		if n, err = m.number(1); err == nil {
			err = m.keep(n)
		}
	case 'r':
		if n, err = m.number(4); err == nil {
			err = m.keep(n)
		}
	case 'h':
		if n, err = m.number(1); err == nil {
			err = m.recall(n)
		}
	case 'j':
		if n, err = m.number(4); err == nil {
			err = m.recall(n)
		}
	default:
		return false, nil
	}
	return true, err
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
