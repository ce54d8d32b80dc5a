package accuracy

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// A Reading is another way to read a log: as one of a harness that wrote its numbers or samples differently from what the official
// script takes. Its score is a hint.
type Reading struct {
	Name  string // what the log would have: big-endian int32
	DType DType  // of the log that Rewrite returns

	ofNumbers bool // change is about numbers, which have to be usual ones afterwards
	change    func(*Record) error
}

// Readings lists the readings of a log whose script takes some types, the default first (none: it has no choice, and reads float32), and
// which was read as one of them, or the default. Labels says that its numbers are labels.
func Readings(types []DType, taken DType, labels bool) (list []Reading) {
	if len(types) == 0 {
		types = []DType{""}
	}
	narrow := types[0] // what float64 becomes
	for _, d := range types {
		if size := cmp.Or(d, float32s).size(); size > 1 {
			list = append(list, Reading{"big-endian " + string(cmp.Or(d, float32s)), d, true, func(r *Record) error { return swap(r.Data, size) }})
		}
		if d == float32s || d == Int64 && narrow != float32s {
			narrow = d
		}
	}
	if !slices.Contains(types, float64s) {
		list = append(list, Reading{"float64", narrow, true, func(r *Record) error { return convert(r, float64s, cmp.Or(narrow, float32s), 0) }})
	}
	shift := func(by int64) func(*Record) error {
		return func(r *Record) error {
			if by < 0 && r.QSLIndex == 0 {
				return errors.New("sample 0 is there")
			}
			r.QSLIndex += uint64(by)
			return nil
		}
	}
	list = append(list, Reading{"indices of samples that are one too high", taken, false, shift(-1)},
		Reading{"indices of samples that are one too low", taken, false, shift(1)})
	if labels {
		d := cmp.Or(taken, types[0])
		list = append(list,
			Reading{"labels that are one too high", d, false, func(r *Record) error { return convert(r, d, d, -1) }},
			Reading{"labels that are one too low", d, false, func(r *Record) error { return convert(r, d, d, 1) }})
	}
	return list
}

// Rewrite returns the log as the script takes it, in memory. An error: it cannot be read so, or its numbers would be unusual ones.
func (r Reading) Rewrite(log Input) (Input, error) {
	b := bytes.NewBufferString("[")
	for rec, err := range Records(log) {
		if err == nil {
			err = r.change(&rec)
		}
		if err == nil && r.ofNumbers && rec.Number < 100 {
			err = usual(rec.Data, cmp.Or(r.DType, float32s))
		}
		if err != nil {
			return nil, err
		}
		if rec.Number > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, `{"seq_id":%d,"qsl_idx":%d,"data":"%X"`, rec.SeqID, rec.QSLIndex, rec.Data)
		if rec.TokenData != nil {
			fmt.Fprintf(b, `,"token_data":"%X"`, rec.TokenData)
		}
		if rec.TokenCount != nil {
			fmt.Fprintf(b, `,"token_count":%d`, *rec.TokenCount)
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
	return Named(log.Name(), io.Reader(b)), nil
}

// swap reverses the bytes of each number.
func swap(data []byte, size int) error {
	if len(data)%size != 0 {
		return fmt.Errorf("%d bytes are not numbers of %d", len(data), size)
	}
	for number := range slices.Chunk(data, size) {
		slices.Reverse(number)
	}
	return nil
}

// convert writes the numbers of a record as another type, and adds to each.
func convert(r *Record, from, to DType, add float64) error {
	n, number, err := from.numbers(r.Data)
	if err != nil {
		return err
	}
	out := make([]byte, 0, n*to.size())
	for i := range n {
		v := number(i) + add
		if to != float32s && v != math.Trunc(v) {
			return fmt.Errorf("%v is not a whole number", v)
		}
		switch to {
		case float32s:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
		case Int32:
			out = binary.LittleEndian.AppendUint32(out, uint32(int32(v)))
		case Int64:
			out = binary.LittleEndian.AppendUint64(out, uint64(int64(v)))
		default:
			return fmt.Errorf("%s has no use here", to)
		}
	}
	r.Data = out
	return nil
}

// usual refuses numbers that no answer of a model has: bytes of another type or order are seldom usual numbers.
func usual(data []byte, d DType) error {
	n, number, err := d.numbers(data)
	least, most := 1e-12, 1e12
	if d == Int32 || d == Int64 || d == int16s {
		most = 1 << 24
	}
	for i := 0; err == nil && i < n; i++ {
		if v := math.Abs(number(i)); v != 0 && !(v >= least && v <= most) {
			err = fmt.Errorf("%v is not a usual number", v)
		}
	}
	return err
}
