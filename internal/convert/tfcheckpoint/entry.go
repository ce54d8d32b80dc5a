package tfcheckpoint

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Variable is an entry of the index (tensorflow/core/protobuf/tensor_bundle.proto,
// BundleEntryProto).
type Variable struct {
	Name string
	Dims []int64

	dtype, shard uint64
	offset, size uint64
	sum          uint32
	sliced       bool
}

// float32Type is DT_FLOAT.
const float32Type = 1

// A fieldValue is the value of a field of a message: a number, or bytes.
type fieldValue struct {
	number uint64
	bytes  []byte
}

// fields calls found for each field of a message.
func fields(b []byte, found func(field protowire.Number, v fieldValue) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var v fieldValue
		switch kind {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var fixed uint32
			fixed, n = protowire.ConsumeFixed32(b)
			v.number = uint64(fixed)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := found(number, v); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// parseHeader reads the first entry, and returns the number of files with elements.
func parseHeader(b []byte) (shards uint64, err error) {
	err = fields(b, func(field protowire.Number, v fieldValue) error {
		switch field {
		case 1:
			shards = v.number
		case 2:
			if v.number != 0 {
				return errors.New("the elements are big-endian")
			}
		}
		return nil
	})
	if err == nil && (shards < 1 || shards > 99999) {
		err = fmt.Errorf("there are %d files with elements, want 1 to 99999", shards)
	}
	return shards, err
}

// parseVariable reads another entry. What is not there is 0; a scalar has no axes.
func parseVariable(name string, b []byte) (Variable, error) {
	v := Variable{Name: name}
	sum := uint64(0)
	numbers := map[protowire.Number]*uint64{1: &v.dtype, 3: &v.shard, 4: &v.offset, 5: &v.size, 6: &sum}
	err := fields(b, func(field protowire.Number, f fieldValue) error {
		switch field {
		case 2:
			return v.parseShape(f.bytes)
		case 7:
			v.sliced = true
		}
		if number := numbers[field]; number != nil {
			*number = f.number
		}
		return nil
	})
	v.sum = uint32(sum)
	return v, err
}

// parseShape reads the extents (TensorShapeProto).
func (v *Variable) parseShape(b []byte) error {
	return fields(b, func(field protowire.Number, f fieldValue) error {
		if field == 3 && f.number != 0 {
			return errors.New("the shape is not known")
		}
		if field != 2 {
			return nil
		}
		extent := uint64(0)
		err := fields(f.bytes, func(field protowire.Number, f fieldValue) error {
			if field == 1 {
				extent = f.number
			}
			return nil
		})
		if err == nil && extent > math.MaxInt32 {
			err = fmt.Errorf("an axis has %d elements", extent)
		}
		v.Dims = append(v.Dims, int64(extent))
		return err
	})
}
