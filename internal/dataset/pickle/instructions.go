package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// instructions are those that arrays, tables, and lists and dictionaries around them need, by
// their codes. Their names are those of Lib/pickletools.py.
var instructions = [256]func(m *machine) error{
	0x80: (*machine).protocol,
	0x95: func(m *machine) error { _, err := m.number(8); return err }, // FRAME
	'(':  constant(mark{}),
	'0':  func(m *machine) error { _, err := m.pop(); return err },

	'N':  constant(nil),
	0x88: constant(true),
	0x89: constant(false),
	'K':  whole(1, func(n uint64) int64 { return int64(n) }),
	'M':  whole(2, func(n uint64) int64 { return int64(n) }),
	'J':  whole(4, func(n uint64) int64 { return int64(int32(n)) }),
	0x8a: (*machine).long, // LONG1
	'G':  (*machine).float,
	'I':  (*machine).decimalInt,
	'L':  (*machine).decimalLong,
	'F':  (*machine).decimalFloat,

	0x8c: text(1), // SHORT_BINUNICODE
	'X':  text(4),
	0x8d: text(8), // BINUNICODE8
	'C':  memory(1),
	'B':  memory(4),
	0x8e: memory(8), // BINBYTES8
	0x96: memory(8), // BYTEARRAY8
	'U':  memory(1), // 'U' and 'T' are strings of Python 2: bytes
	'T':  memory(4),

	0x94: func(m *machine) error { return m.keep(uint64(len(m.memo))) }, // MEMOIZE
	'q':  numbered(1, (*machine).keep),
	'r':  numbered(4, (*machine).keep),
	'h':  numbered(1, (*machine).recall),
	'j':  numbered(4, (*machine).recall),

	')':  constant(Tuple{}),
	0x85: tuple(1),
	0x86: tuple(2),
	0x87: tuple(3),
	't':  marked(func(m *machine, values []any) error { m.push(Tuple(values)); return nil }),
	']':  func(m *machine) error { m.push(&list{}); return nil },
	'l':  marked(func(m *machine, values []any) error { m.push(&list{values}); return nil }),
	'a':  last(1, (*machine).extend),
	'e':  marked((*machine).extend),
	'}':  func(m *machine) error { m.push(&dict{map[string]any{}}); return nil },
	'd':  marked((*machine).newDict),
	's':  last(2, (*machine).assign),
	'u':  marked((*machine).assign),

	'c':  (*machine).global,
	0x93: last(2, (*machine).stackGlobal),
	'R':  last(2, (*machine).call),
	0x81: last(2, (*machine).call), // NEWOBJ
	'b':  last(2, (*machine).build),
	'Q':  (*machine).persistent,
}

// constant pushes a value.
func constant(v any) func(*machine) error {
	return func(m *machine) error {
		m.push(v)
		return nil
	}
}

// whole pushes an integer of so many bytes.
func whole(size uint64, signed func(uint64) int64) func(*machine) error {
	return func(m *machine) error {
		n, err := m.number(size)
		m.push(signed(n))
		return err
	}
}

// text pushes a string behind its length of so many bytes.
func text(size uint64) func(*machine) error {
	return func(m *machine) error {
		b, err := m.counted(size)
		m.push(string(b))
		return err
	}
}

// memory pushes bytes behind their length of so many bytes.
func memory(size uint64) func(*machine) error {
	return func(m *machine) error {
		b, err := m.counted(size)
		m.push(b)
		return err
	}
}

// numbered does something with a number of so many bytes.
func numbered(size uint64, do func(*machine, uint64) error) func(*machine) error {
	return func(m *machine) error {
		n, err := m.number(size)
		if err != nil {
			return err
		}
		return do(m, n)
	}
}

// last does something with the last n values on the stack.
func last(n int, do func(*machine, []any) error) func(*machine) error {
	return func(m *machine) error {
		values, err := m.popN(n)
		if err != nil {
			return err
		}
		return do(m, values)
	}
}

// marked does something with all values above the last mark.
func marked(do func(*machine, []any) error) func(*machine) error {
	return func(m *machine) error {
		values, err := m.popMark()
		if err != nil {
			return err
		}
		return do(m, values)
	}
}

// tuple pushes a tuple of the last n values.
func tuple(n int) func(*machine) error {
	return last(n, func(m *machine, values []any) error { m.push(Tuple(values)); return nil })
}

func (m *machine) protocol() error {
	n, err := m.number(1)
	if err == nil && n > 5 {
		err = fmt.Errorf("protocol is %d, want at most 5", n)
	}
	return err
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

func (m *machine) float() error {
	b, err := m.bytes(8)
	if err != nil {
		return err
	}
	m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	return nil
}

// decimalInt reads an integer of protocol 0, or a truth value, which is 00 or 01 there.
func (m *machine) decimalInt() error {
	digits, err := m.line()
	if err != nil {
		return err
	}
	if digits == "00" || digits == "01" {
		m.push(digits == "01")
		return nil
	}
	return m.decimal(digits)
}

// decimalLong reads an integer of protocol 0 that ends with an L.
func (m *machine) decimalLong() error {
	digits, err := m.line()
	if err != nil {
		return err
	}
	return m.decimal(strings.TrimSuffix(digits, "L"))
}

func (m *machine) decimal(digits string) error {
	v, err := strconv.ParseInt(digits, 10, 64)
	m.push(v)
	return err
}

func (m *machine) decimalFloat() error {
	digits, err := m.line()
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(digits, 64)
	m.push(v)
	return err
}
