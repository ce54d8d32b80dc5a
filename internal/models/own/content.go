package own

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const (
	// seed is that of inputs that are made.
	seed = 20260101
	// Made samples are as many as fit into madeBytes, within these bounds.
	madeBytes           = 64 << 20
	leastMade, mostMade = 4, 256
)

// fillInputs decides what is in each input: data, or numbers that are made.
func (in *inputs) fillInputs() (err error) {
	var free []string // inputs that are made
	for k, i := range in.list {
		note := ""
		if i.content != nil {
			note = i.content.from
			i.fill, err = i.content.open(i)
		} else {
			i.fill, note, err = i.make(cmp.Or(i.option, i.kind()), k, in.length)
			free = append(free, i.Name)
		}
		if err != nil {
			return err
		}
		in.notes = append(in.notes, fmt.Sprintf("input %s %v: %s", i.Name, in.row[k], note))
	}
	if len(free) > 0 {
		in.limitations = append(in.limitations, limitation.Limitation{ID: limitation.MadeInputs, Value: strings.Join(free, ", ")})
	}
	return nil
}

// countSamples decides how many samples there are: count, those of the data, or some that are made.
func (in *inputs) countSamples(count int) error {
	if len(in.list) == 0 && in.expected != nil {
		in.samples = in.expected[0].Samples
	}
	if in.samples == 0 {
		in.samples = min(max(int(madeBytes/max(workload.Bytes(in.row), 1)), leastMade), mostMade)
	}
	if count > 0 {
		if in.dir != "" && count > in.samples {
			return userinput.Errorf("count", "%d samples are wanted, %s has %d", count, in.dir, in.samples)
		}
		in.samples = count
	}
	for _, e := range in.expected {
		if e.Samples < in.samples {
			return fmt.Errorf("%s has %d samples, the inputs have %d", filepath.Join(in.dir, e.array()+".npy"), e.Samples, in.samples)
		}
	}
	return nil
}

// kind is the content of an input that follows from its type and name.
func (i *input) kind() string {
	name := i.Name
	switch {
	case singlepass.IsFloat(i.Type):
		if has(name, "mask") {
			return "ones"
		}
		if len(i.Shape) == 4 && (slices.Contains(i.Shape[1:], 3) || slices.Contains(i.Shape[1:], 1)) {
			return "uniform"
		}
		return "normal"
	case i.Type == tensor.Bool, has(name, "mask"):
		return "ones"
	case has(name, "length", "_len", "seqlen"):
		return "length"
	case has(name, "type", "segment"):
		return "zeros"
	case i.rows > 0:
		return "ids"
	case i.Type == tensor.Uint8, i.Type == tensor.Int8:
		return "uniform"
	}
	return "zeros" // an index that is always there
}

// make returns a function that fills a tensor with content of a kind, and describes it. length is that of a sequence.
func (i *input) make(kind string, place int, length int64) (fill func(int, tensor.Tensor) error, note string, err error) {
	random := func(index int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(index)<<16|uint64(place))) }
	float := singlepass.IsFloat(i.Type)
	floats := func(next func(*rand.Rand) float32) func(int, tensor.Tensor) error {
		return filled(random, next, putFloats)
	}
	wholes := func(next func(*rand.Rand) int64) func(int, tensor.Tensor) error {
		return filled(random, next, putIntegers)
	}
	constant := func(n int64) func(int, tensor.Tensor) error {
		if float {
			return floats(func(*rand.Rand) float32 { return float32(n) })
		}
		return wholes(func(*rand.Rand) int64 { return n })
	}
	seeded := fmt.Sprintf(", seed %d", seed)
	switch {
	case i.Type == tensor.String:
		return nil, "", userinput.Errorf(inputOption, "input %[1]s has texts, which are not made up: give %[1]s=FILE.txt (one in each line), "+
			"%[1]s=FILE.npy, or a folder of data that has %[2]s.txt or %[2]s.npy", i.Name, plainName(i.Name))
	case kind == "length" && length > 0 && !float:
		if has(i.Name, "seqlens_k") { // GroupQueryAttention counts one less
			length--
		}
		return constant(length), fmt.Sprintf("%d, the length of the sequence", length), nil
	case kind == "zeros", kind == "length":
		return constant(0), "zeros", nil
	case kind == "ones":
		return constant(1), "ones", nil
	case kind == "normal" && float:
		return floats(func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }), "normal" + seeded, nil
	case kind == "uniform" && float:
		return floats(func(r *rand.Rand) float32 { return r.Float32() }), "uniform from 0 to 1" + seeded, nil
	case kind == "ids" && !float && i.rows > 0:
		return wholes(func(r *rand.Rand) int64 { return r.Int64N(i.rows) }), fmt.Sprintf("ids below %d, the rows of its embedding%s", i.rows, seeded), nil
	case (kind == "uniform" || kind == "normal") && !float:
		low, most := int64(0), int64(255)
		switch {
		case i.Type == tensor.Bool:
			most = 1
		case i.Type == tensor.Int8:
			low, most = -128, 127
		case i.rows > 0:
			most = i.rows - 1
		case i.Type != tensor.Uint8:
			most = 9
		}
		return wholes(func(r *rand.Rand) int64 { return low + r.Int64N(most-low+1) }), fmt.Sprintf("uniform from %d to %d%s", low, most, seeded), nil
	}
	if v, err := strconv.ParseFloat(kind, 32); err == nil && float {
		return floats(func(*rand.Rand) float32 { return float32(v) }), "all " + kind, nil
	}
	if n, err := strconv.ParseInt(kind, 10, 64); err == nil && !float {
		return constant(n), "all " + kind, nil
	}
	return nil, "", userinput.Errorf(inputOption,
		"%s=%s: must be normal, uniform, zeros, ones, ids (of inputs that are indices into an embedding), a number or a file that ends in .npy",
		i.Name, kind)
}

// filled returns a function that fills a tensor with the next numbers of a sample's generator.
func filled[T float32 | int64](random func(index int) *rand.Rand, next func(*rand.Rand) T, put func(tensor.Tensor, []T)) func(int,
	tensor.Tensor) error {
	return func(index int, dst tensor.Tensor) error {
		r, values := random(index), make([]T, dst.Len())
		for k := range values {
			values[k] = next(r)
		}
		put(dst, values)
		return nil
	}
}

// putFloats writes numbers into a tensor of floats.
func putFloats(dst tensor.Tensor, values []float32) {
	if dst.Type == tensor.Float32 {
		copy(tensor.Data[float32](dst), values)
		return
	}
	singlepass.FromFloat32(dst, values)
}

// putIntegers writes whole numbers into a tensor that has no floats.
func putIntegers(dst tensor.Tensor, values []int64) {
	switch dst.Type {
	case tensor.Int64:
		put[int64](dst, values)
	case tensor.Int32:
		put[int32](dst, values)
	case tensor.Int16:
		put[int16](dst, values)
	case tensor.Int8:
		put[int8](dst, values)
	case tensor.Uint64:
		put[uint64](dst, values)
	case tensor.Uint32:
		put[uint32](dst, values)
	case tensor.Uint16:
		put[uint16](dst, values)
	default: // uint8, bool
		for i, v := range values {
			dst.Bytes()[i] = byte(v)
		}
	}
}

func put[T int64 | int32 | int16 | int8 | uint64 | uint32 | uint16](dst tensor.Tensor, values []int64) {
	to := tensor.Data[T](dst)
	for i, v := range values {
		to[i] = T(v)
	}
}
