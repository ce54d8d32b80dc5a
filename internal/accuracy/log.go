package accuracy

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A Record is one sample's entry in mlperf_log_accuracy.json (loadgen/logging.cc).
type Record struct {
	SeqID    uint64 // number of the response, in the order of completion
	QSLIndex uint64 // the sample
	// Data is the response. It is overwritten when the next record is read.
	Data []byte
	// TokenCount is nil unless the benchmark counts tokens.
	TokenCount *int64
	// TokenData is the first token's data, nil if the log has none. It is overwritten
	// like Data.
	TokenData []byte
	// Number counts the records of the file from 0.
	Number int
}

// Records reads an accuracy log record by record, in the order of the file, holding
// one record in memory at a time. After an error, which comes with a zero Record,
// the sequence ends; an error in the file's syntax is a *syntaxError, and a log that
// ends too early gives its complete records before an error that wraps errTruncated.
//
// Any layout of the JSON text is accepted, and hexadecimal digits in either case.
// As for the official scripts, "qsl_idx" and "data" are required and keys that
// LoadGen does not write are skipped. Unlike them, it refuses a negative qsl_idx,
// which Python would count from the end, and white space inside "data".
func Records(log Input) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f := newJSONFile(log)
		data, token := []byte{}, []byte{} // memory for every record; not nil, which means no token_data
		err := f.bracket('[')
		for i := 0; err == nil && f.PeekKind() != ']'; i++ {
			raw := logRecord{Data: hexText{bytes: data[:0]}, TokenData: hexText{bytes: token[:0]}}
			if err = f.value(&raw); err == nil && raw.QSLIndex == nil {
				err = f.located(errors.New(`no "qsl_idx"`))
			} else if err == nil && !raw.Data.present {
				err = f.located(errors.New(`no "data"`))
			}
			if err != nil {
				break
			}
			data, token = raw.Data.bytes, raw.TokenData.bytes
			rec := Record{Number: i, SeqID: raw.SeqID, QSLIndex: *raw.QSLIndex, Data: data, TokenCount: raw.TokenCount}
			if raw.TokenData.present {
				rec.TokenData = token
			}
			if !yield(rec, nil) {
				return
			}
		}
		if err == nil {
			err = f.bracket(']')
		}
		if err == nil {
			err = f.end()
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

// A logRecord is a record as LoadGen writes it.
type logRecord struct {
	SeqID      uint64  `json:"seq_id"`
	QSLIndex   *uint64 `json:"qsl_idx"`
	Data       hexText `json:"data"`
	TokenCount *int64  `json:"token_count"`
	TokenData  hexText `json:"token_data"`
}

// A hexText is a string of hexadecimal digits.
type hexText struct {
	bytes   []byte // its memory is used again
	present bool
}

func (h *hexText) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	if text.Kind() != '"' {
		return fmt.Errorf("expected a string of hexadecimal digits, got %v", text.Kind())
	}
	h.present = true
	h.bytes, err = hex.AppendDecode(h.bytes, text[1:len(text)-1])
	return err
}

// FirstRecords is Records without those of samples that were seen before, which is what
// counts in most benchmarks. A sample that the ground truth does not have is an error.
// It counts in c, whose Samples must be set.
func FirstRecords(log Input, c *Coverage) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		seen := make([]bool, c.Samples)
		for rec, err := range Records(log) {
			switch {
			case err != nil:
			case rec.QSLIndex >= uint64(c.Samples):
				rec, err = Record{}, rec.errorf(log, "the ground truth has only %d samples", c.Samples)
			default:
				repeated := seen[rec.QSLIndex]
				if c.count(repeated); repeated {
					continue
				}
				seen[rec.QSLIndex] = true
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// errorf returns an error that names the log and the record.
func (r *Record) errorf(log Input, format string, args ...any) error {
	return fmt.Errorf("%s: record %d (qsl_idx %d): %w", log.Name(), r.Number, r.QSLIndex, fmt.Errorf(format, args...))
}

// errNoRecord is the error for an empty log, which the official scripts cannot score either.
func errNoRecord(log Input) error { return fmt.Errorf("%s: the log has no record", log.Name()) }

// A DType names the type of the numbers in a response, in NumPy's spelling and
// always little-endian. The empty DType stands for a script's default.
type DType string

// The types that official scripts take, and uint8.
const (
	Int32   DType = "int32"
	Int64   DType = "int64"
	Float16 DType = "float16"

	int8s    DType = "int8"
	int16s   DType = "int16"
	uint8s   DType = "uint8"
	float32s DType = "float32"
	float64s DType = "float64"
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

// size is how many bytes a number has.
func (d DType) size() int {
	switch d {
	case uint8s, int8s:
		return 1
	case int16s, Float16:
		return 2
	case Int32, float32s:
		return 4
	}
	return 8
}

// numbers returns how many numbers a payload has, and a function for number i. A float64 holds every value
// of these types but the largest of int64. As for numpy.frombuffer, a part of a number at the end is an error.
func (d DType) numbers(payload []byte) (n int, at func(i int) float64, err error) {
	size, le := d.size(), binary.LittleEndian
	if len(payload)%size != 0 {
		return 0, nil, fmt.Errorf("payload of %d bytes does not consist of %s numbers of %d bytes", len(payload), d, size)
	}
	switch d {
	case uint8s:
		at = func(i int) float64 { return float64(payload[i]) }
	case int8s:
		at = func(i int) float64 { return float64(int8(payload[i])) }
	case int16s:
		at = func(i int) float64 { return float64(int16(le.Uint16(payload[2*i:]))) }
	case Int32:
		at = func(i int) float64 { return float64(int32(le.Uint32(payload[4*i:]))) }
	case Int64:
		at = func(i int) float64 { return float64(int64(le.Uint64(payload[8*i:]))) }
	case Float16:
		at = func(i int) float64 { return float16(le.Uint16(payload[2*i:])) }
	case float32s:
		at = func(i int) float64 { return float64(math.Float32frombits(le.Uint32(payload[4*i:]))) }
	default:
		at = func(i int) float64 { return math.Float64frombits(le.Uint64(payload[8*i:])) }
	}
	return len(payload) / size, at, nil
}

// float16 widens a number of 16 bits.
func float16(bits uint16) float64 {
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

// truncate is Python's int() of a float: the fraction is dropped, and NaN and infinities, which have
// no integer value, are errors. Beyond 64 bits the result is the nearest int64, which
// is not a valid index or class either.
func truncate(v float64) (int64, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%v is not a whole number", v)
	}
	v = math.Trunc(v)
	if v >= math.MaxInt64 {
		return math.MaxInt64, nil
	}
	return int64(max(v, math.MinInt64)), nil
}

// integerText has all digits of a number that was truncated, as Python writes them.
func integerText(v float64) string {
	return strconv.FormatFloat(math.Trunc(v)+0, 'f', 0, 64) // + 0 turns -0 into 0
}
