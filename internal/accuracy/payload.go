package accuracy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A DType names the type of the numbers in a response, in NumPy's spelling and
// always little-endian. The empty DType stands for a script's default.
type DType string

// The types that official scripts take.
const (
	Int8    DType = "int8"
	Int16   DType = "int16"
	Int32   DType = "int32"
	Int64   DType = "int64"
	Uint8   DType = "uint8"
	Float16 DType = "float16"
	Float32 DType = "float32"
	Float64 DType = "float64"
)

// check replaces the empty type by choices[0] and refuses a type that is not a choice.
func (d DType) check(option string, choices ...DType) (DType, error) {
	if d == "" {
		return choices[0], nil
	}
	if !slices.Contains(choices, d) {
		return "", fmt.Errorf("%s %q is not one of %v", option, string(d), choices)
	}
	return d, nil
}

// size returns the bytes of one number.
func (d DType) size() int {
	switch d {
	case Int8, Uint8:
		return 1
	case Int16, Float16:
		return 2
	case Int32, Float32:
		return 4
	}
	return 8
}

// checkPayload makes sure that data consists of whole numbers of the type, as
// numpy.frombuffer does.
func (d DType) checkPayload(data []byte) error {
	if len(data)%d.size() != 0 {
		return fmt.Errorf("payload of %d bytes does not consist of %s numbers of %d bytes", len(data), d, d.size())
	}
	return nil
}

// int32At and its kin return number i of a payload.
func int16At(data []byte, i int) int16 { return int16(binary.LittleEndian.Uint16(data[2*i:])) }
func int32At(data []byte, i int) int32 { return int32(binary.LittleEndian.Uint32(data[4*i:])) }
func int64At(data []byte, i int) int64 { return int64(binary.LittleEndian.Uint64(data[8*i:])) }
func float32At(data []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
}
func float64At(data []byte, i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
}

// float16At widens a number of 16 bits.
func float16At(data []byte, i int) float64 {
	bits := binary.LittleEndian.Uint16(data[2*i:])
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	v := 0.0
	switch exponent {
	case 0:
		v = math.Ldexp(fraction, -24)
	case 0x1f:
		if v = math.Inf(1); fraction != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(fraction+1024, exponent-25)
	}
	return math.Copysign(v, float64(int16(bits))+0.5)
}

// truncate is Python's int() of a float: the fraction is dropped, and what has no
// integer value is an error. Beyond 64 bits the result is the nearest int64, which
// is no valid index or class either.
func truncate(v float64) (int64, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%v is not a whole number", v)
	}
	v = math.Trunc(v)
	if v >= math.MaxInt64 {
		return math.MaxInt64, nil
	}
	if v <= math.MinInt64 {
		return math.MinInt64, nil
	}
	return int64(v), nil
}

// wholeText has all digits of what truncate cuts a number to, as Python writes them.
func wholeText(v float64) string {
	return strconv.FormatFloat(math.Trunc(v)+0, 'f', 0, 64) // + 0 turns -0 into 0
}

// numbers returns a function for number i of a payload as a float64, which holds every
// value of these types but the largest of int64. Of uint8 there is none.
func numbers(data []byte, dtype DType) func(i int) float64 {
	switch dtype {
	case Int8:
		return func(i int) float64 { return float64(int8(data[i])) }
	case Int16:
		return func(i int) float64 { return float64(int16At(data, i)) }
	case Int32:
		return func(i int) float64 { return float64(int32At(data, i)) }
	case Int64:
		return func(i int) float64 { return float64(int64At(data, i)) }
	case Float16:
		return func(i int) float64 { return float16At(data, i) }
	case Float32:
		return func(i int) float64 { return float64(float32At(data, i)) }
	case Float64:
		return func(i int) float64 { return float64At(data, i) }
	}
	panic("no numbers of type " + string(dtype))
}
