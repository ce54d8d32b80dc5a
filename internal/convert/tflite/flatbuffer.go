package tflite

import (
	"encoding/binary"
	"errors"
	"math"
)

// errDamaged is the panic of a read outside the file, which Read turns into an error.
var errDamaged = errors.New("an offset points outside the file")

// A table is a table of a FlatBuffer: fields are found by number. The zero table has none.
// Every read is checked against the file, so that hostile offsets end in errDamaged. Lists that are copied are counted: offsets
// that share one list could ask for any amount of memory.
type table struct {
	file []byte
	at   int
	left *int // bytes of lists that may still be copied
}

// section returns n bytes of the file.
func section(file []byte, at, n int) []byte {
	if at < 0 || n < 0 || at > len(file) || n > len(file)-at {
		panic(errDamaged)
	}
	return file[at : at+n]
}

func u16(file []byte, at int) int { return int(binary.LittleEndian.Uint16(section(file, at, 2))) }
func u32(file []byte, at int) int { return int(binary.LittleEndian.Uint32(section(file, at, 4))) }
func i32(file []byte, at int) int {
	return int(int32(binary.LittleEndian.Uint32(section(file, at, 4))))
}

// root is the table that the file begins with.
func root(file []byte) table {
	left := 4 * len(file)
	return table{file, u32(file, 0), &left}
}

// field returns where a field is, 0 if the table does not have it.
func (t table) field(n int) int {
	if t.file == nil {
		return 0
	}
	fields := t.at - i32(t.file, t.at)
	if 4+2*n+2 > u16(t.file, fields) {
		return 0
	}
	if offset := u16(t.file, fields+4+2*n); offset != 0 {
		return t.at + offset
	}
	return 0
}

func (t table) byte(n int) int {
	if at := t.field(n); at != 0 {
		return int(section(t.file, at, 1)[0])
	}
	return 0
}

func (t table) bool(n int) bool { return t.byte(n) != 0 }

func (t table) int(n, otherwise int) int {
	if at := t.field(n); at != 0 {
		return i32(t.file, at)
	}
	return otherwise
}

func (t table) float(n int) float32 {
	if at := t.field(n); at != 0 {
		return math.Float32frombits(binary.LittleEndian.Uint32(section(t.file, at, 4)))
	}
	return 0
}

// table returns a field that is a table.
func (t table) table(n int) table {
	if at := t.field(n); at != 0 {
		return table{t.file, at + u32(t.file, at), t.left}
	}
	return table{}
}

// vector returns the elements of a field that is a vector of so many bytes each.
func (t table) vector(n, size int) []byte {
	at := t.field(n)
	if at == 0 {
		return nil
	}
	at += u32(t.file, at)
	return section(t.file, at+4, u32(t.file, at)*size)
}

// list is a vector that is copied.
func (t table) list(n, size int) []byte {
	raw := t.vector(n, size)
	if len(raw) > 0 {
		if *t.left -= len(raw); *t.left < 0 {
			panic(errDamaged)
		}
	}
	return raw
}

func (t table) string(n int) string { return string(t.list(n, 1)) }

func (t table) ints(n int) []int {
	raw := t.list(n, 4)
	list := make([]int, len(raw)/4)
	for i := range list {
		list[i] = i32(raw, 4*i)
	}
	return list
}

func (t table) longs(n int) []int64 {
	raw := t.list(n, 8)
	list := make([]int64, len(raw)/8)
	for i := range list {
		list[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return list
}

func (t table) floats(n int) []float32 {
	raw := t.list(n, 4)
	list := make([]float32, len(raw)/4)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return list
}

// tables returns a field that is a vector of tables.
func (t table) tables(n int) []table {
	raw := t.list(n, 4)
	list := make([]table, len(raw)/4)
	start := 0
	if len(raw) > 0 {
		at := t.field(n)
		start = at + u32(t.file, at) + 4
	}
	for i := range list {
		list[i] = table{t.file, start + 4*i + u32(raw, 4*i), t.left}
	}
	return list
}

// flexMap reads a map of numbers in FlexBuffers, the encoding of options of custom operators. Other values are left out.
func flexMap(b []byte) map[string]float64 {
	values := map[string]float64{}
	if len(b) < 3 {
		return values
	}
	number := func(at, width int) uint64 {
		raw := section(b, at, width)
		switch width {
		case 1:
			return uint64(raw[0])
		case 2:
			return uint64(binary.LittleEndian.Uint16(raw))
		case 4:
			return uint64(binary.LittleEndian.Uint32(raw))
		case 8:
			return binary.LittleEndian.Uint64(raw)
		}
		panic(errDamaged)
	}
	const intType, uintType, floatType, mapType, boolType = 1, 2, 3, 9, 26
	follow := func(at, width int) int {
		distance := number(at, width)
		if distance > uint64(at) {
			panic(errDamaged)
		}
		return at - int(distance)
	}
	rootWidth, kind := int(b[len(b)-1]), int(b[len(b)-2])
	if kind>>2 != mapType {
		refuse("its options are not a map")
	}
	width := 1 << (kind & 3)
	at := follow(len(b)-2-rootWidth, rootWidth)
	keys, keyWidth := follow(at-3*width, width), int(number(at-2*width, width))
	count := number(at-width, width)
	if count > uint64(len(b)) {
		panic(errDamaged)
	}
	types := section(b, at+int(count)*width, int(count))
	for i, t := range types {
		start := follow(keys+i*keyWidth, keyWidth)
		end := start
		for section(b, end, 1)[0] != 0 {
			end++
		}
		v := number(at+i*width, width)
		key := string(b[start:end])
		switch int(t) >> 2 {
		case intType:
			shift := 64 - 8*width
			values[key] = float64(int64(v<<shift) >> shift)
		case uintType, boolType:
			values[key] = float64(v)
		case floatType:
			if width == 8 {
				values[key] = math.Float64frombits(v)
			} else {
				values[key] = float64(math.Float32frombits(uint32(v)))
			}
		}
	}
	return values
}
