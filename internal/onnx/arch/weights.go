package arch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A Filler says with what a tensor of weights is filled. Fillers make no weights
// themselves but a Source that makes them while it is read.
//
// The random ones draw from a stream of their own for each tensor, which follows from
// the seed and the tensor's name. So no weight depends on the order in which tensors
// are made, on other tensors, or on the platform: the arithmetic is on integers,
// followed by single multiplications and roundings that IEEE 754 defines exactly.
// There is no logarithm or exponential, which differ between platforms in the last
// bit, and no sum of a product, which some fuse into one rounding.
type Filler interface {
	fill(seed uint64, name string, dims []int64) (onnx.Source, error)
}

// He fills a tensor with bell-shaped random weights of mean 0 and variance
// Gain²·2/fan-in, which keeps the size of activations from layer to layer where
// ReLU follows (He et al., arXiv:1502.01852). The first axis of the tensor has
// to be that of the outputs; the others together are the fan-in.
//
// Each weight is the sum of four uniform numbers of 16 bits, which is close to a
// normal distribution cut off at 3.46 standard deviations.
type He struct {
	Gain float64 // 0 means 1
	// ZeroMean shifts each output's weights so that their sum is 0 but for rounding.
	// That makes features of a deep random network differ between images: without
	// it they share one large component, the mean of the activations.
	ZeroMean bool
}

// Uniform fills a tensor with random weights between Low and High, evenly.
type Uniform struct{ Low, High float32 }

// Constant fills a tensor with one number.
type Constant float32

// Given fills a tensor with the caller's weights, in row-major order. They are not
// copied.
type Given []float32

// sumVariance is the variance of the sum of four uniform integers of 16 bits, each of
// which has the variance (2³²-1)/12.
const sumVariance = (1<<32 - 1) / 3

func (h He) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	if len(dims) < 2 {
		return nil, fmt.Errorf("He weights need an axis of outputs and one of inputs, not %v", dims)
	}
	gain := h.Gain
	if gain == 0 {
		gain = 1
	}
	fan := product(dims[1:])
	return &bell{
		stream: streamSeed(seed, name), outputs: dims[0], fan: fan, zeroMean: h.ZeroMean,
		scale: gain * math.Sqrt(2/float64(fan)) / math.Sqrt(sumVariance),
	}, nil
}

func (u Uniform) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	return &uniform{stream: streamSeed(seed, name), n: product(dims), low: float64(u.Low), width: float64(u.High) - float64(u.Low)}, nil
}

func (c Constant) fill(_ uint64, _ string, dims []int64) (onnx.Source, error) {
	one := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(c)))
	return onnx.Raw(bytes.Repeat(one, int(product(dims)))), nil
}

func (g Given) fill(_ uint64, _ string, dims []int64) (onnx.Source, error) {
	if want := product(dims); int64(len(g)) != want {
		return nil, fmt.Errorf("%d weights given for the shape %v of %d", len(g), dims, want)
	}
	return given(g), nil
}

func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// streamSeed derives the two halves of the seed of a tensor's random stream.
func streamSeed(seed uint64, name string) [2]uint64 {
	h := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(name+"\x00"), seed))
	return [2]uint64{binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:16])}
}

// seededNorm returns a batch norm that nearly keeps values of mean 0 and a given
// standard deviation, divided by it: every channel differs a little, so that leaving
// the norm out, or folding it wrongly, is noticed.
func seededNorm(epsilon, deviation float32) BatchNorm {
	variance := deviation * deviation
	return BatchNorm{
		Epsilon:  epsilon,
		Gamma:    Uniform{0.8, 1.2},
		Beta:     Uniform{-0.1, 0.1},
		Mean:     Uniform{-0.1 * deviation, 0.1 * deviation},
		Variance: Uniform{0.8 * variance, 1.2 * variance},
	}
}

// pairedNorm is a seededNorm over pairs of channels that differ in nothing but a step. The
// first of each pair lies anywhere from low to high above the threshold of the ReLU that
// is to follow.
func pairedNorm(epsilon, low, high, step float32) BatchNorm {
	n := seededNorm(epsilon, 1)
	n.Gamma, n.Mean, n.Variance = Paired{Of: n.Gamma}, Paired{Of: n.Mean}, Paired{Of: n.Variance}
	n.Beta = Paired{Uniform{low, high}, step}
	return n
}

// chunk is the number of elements that the sources below make at a time.
const chunk = 4096

// bell is the Source behind He.
type bell struct {
	stream       [2]uint64
	outputs, fan int64
	zeroMean     bool
	scale        float64
}

func (s *bell) Size() int64 { return 4 * s.outputs * s.fan }

func (s *bell) WriteTo(w io.Writer) (int64, error) {
	rng := rand.NewPCG(s.stream[0], s.stream[1])
	group := min(chunk, s.outputs*s.fan)
	if s.zeroMean {
		group = s.fan
	}
	sums := make([]int32, group)
	buf := make([]byte, 4*group)
	var written int64
	for left := s.outputs * s.fan; left > 0; left -= group {
		sums := sums[:min(group, left)]
		total := drawSums(rng, sums)
		s.scaleSums(buf, sums, total)
		n, err := w.Write(buf[:4*len(sums)])
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// drawSums fills sums with sums of four uniform integers of 16 bits, less their mean
// of 2·65535, and returns their total.
func drawSums(rng *rand.PCG, sums []int32) (total int64) {
	const evenHalves = 0x0000ffff_0000ffff
	for i := range sums {
		bits := rng.Uint64()
		pairs := bits&evenHalves + bits>>16&evenHalves // two sums of two, side by side
		sum := int32(pairs>>32+pairs&0xffffffff) - 2*65535
		sums[i] = sum
		total += int64(sum)
	}
	return total
}

// scaleSums writes the weights that the sums stand for. For mean zero it multiplies
// before it subtracts, since the mean is no integer: (n·sum - total) · scale/n.
func (s *bell) scaleSums(buf []byte, sums []int32, total int64) {
	times, scale := int64(1), s.scale
	if s.zeroMean {
		times, scale = s.fan, s.scale/float64(s.fan)
	} else {
		total = 0
	}
	for i, sum := range sums {
		weight := float32(float64(times*int64(sum)-total) * scale)
		binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(weight))
	}
}

// uniform is the Source behind Uniform.
type uniform struct {
	stream     [2]uint64
	n          int64
	low, width float64
}

func (s *uniform) Size() int64 { return 4 * s.n }

func (s *uniform) WriteTo(w io.Writer) (int64, error) {
	rng := rand.NewPCG(s.stream[0], s.stream[1])
	return writeFloats(w, s.n, func(int64) float32 {
		step := float64(s.width * float64(rng.Uint64()>>11)) // the conversion forbids fusing
		return float32(s.low + float64(step*0x1p-53))
	})
}

// given is the Source behind Given.
type given []float32

func (s given) Size() int64 { return 4 * int64(len(s)) }

func (s given) WriteTo(w io.Writer) (int64, error) {
	return writeFloats(w, int64(len(s)), func(i int64) float32 { return s[i] })
}

func writeFloats(w io.Writer, n int64, at func(i int64) float32) (written int64, err error) {
	buf := make([]byte, 0, 4*min(chunk, n))
	for i := range n {
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(at(i)))
		if len(buf) == cap(buf) || i == n-1 {
			k, err := w.Write(buf)
			written += int64(k)
			if err != nil {
				return written, err
			}
			buf = buf[:0]
		}
	}
	return written, nil
}

// Rounded fills a tensor as Of does, but leaves of each output's weights only what 8 bits
// hold: they become whole multiples, from -127 to 127, of the 127th part of the largest.
// So they lose nothing when they are quantised channel by channel, like those of a network
// that was trained with that in mind. Without it the rounding of random weights is
// nearly all of the error of INT8, several times that of the activations.
type Rounded struct{ Of Filler }

// Smooth fills the kernels of a convolution with weights of Of, of whose variance a part,
// Share, is common to all places of a kernel. Where the input is even, the result is as
// large as with Of alone; what differs from place to place, noise and the errors of
// rounding, is averaged away. Independent weights let both through alike, and a deep
// random network then hears more noise than image.
type Smooth struct {
	Of    Filler
	Share float64 // from 0 to 1
}

// Paired fills a tensor with as many outputs as it has pairs: the second of a pair is the
// first less Step. Two ReLUs whose inputs differ by nothing but a step saturate if one is
// subtracted from the other, which is what Opposed weights after them do. So an image
// of high contrast makes features no larger than one of low contrast.
type Paired struct {
	Of   Filler
	Step float32
}

// Opposed fills the kernels for each first of two input channels, and those for the second
// with the negative. Of sees half as many channels.
type Opposed struct{ Of Filler }

func (r Rounded) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	of, err := fillOr(r.Of, seed, name, dims)
	if err != nil {
		return nil, err
	}
	row := product(dims[min(1, len(dims)):])
	return &derived{of: of, group: row, size: of.Size(), apply: func(_ int, row []float32) []float32 { return roundedRow(row) }}, nil
}

// roundedRow rounds in place. The product of a float32 and a small integer is exact in
// float64, so the result is the same on every platform.
func roundedRow(row []float32) []float32 {
	const steps = 127
	largest := 0.0
	for _, w := range row {
		largest = max(largest, math.Abs(float64(w)))
	}
	if largest == 0 {
		return row
	}
	for i, w := range row {
		level := math.Round(steps * float64(w) / largest)
		row[i] = float32(level * largest / steps)
	}
	return row
}

func (s Smooth) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	if len(dims) < 3 || !(s.Share >= 0 && s.Share <= 1) {
		return nil, fmt.Errorf("smooth weights of %v, with a share of %v, are none of a convolution", dims, s.Share)
	}
	own, err := fillOr(s.Of, seed, name, dims)
	if err != nil {
		return nil, err
	}
	source, err := fillOr(s.Of, seed, name+"/common", dims[:2])
	if err != nil {
		return nil, err
	}
	return &smooth{derived{of: own, group: product(dims[2:]), size: own.Size()}, source, s.Share}, nil
}

// smooth is the Source behind Smooth.
type smooth struct {
	derived
	common onnx.Source // one weight for each kernel
	share  float64
}

func (s *smooth) WriteTo(w io.Writer) (int64, error) {
	common := &elementList{make([]float32, 0, s.common.Size()/4)}
	if _, err := s.common.WriteTo(common); err != nil {
		return 0, err
	}
	ownScale, commonScale := math.Sqrt(1-s.share), math.Sqrt(s.share)/float64(s.group)
	d := s.derived
	d.apply = func(i int, kernel []float32) []float32 {
		shift := float64(commonScale * float64(common.elements[i]))
		for k, w := range kernel {
			kernel[k] = float32(float64(ownScale*float64(w)) + shift) // the conversion forbids fusing
		}
		return kernel
	}
	return d.WriteTo(w)
}

// An elementList takes in a whole Source.
type elementList struct{ elements []float32 }

func (l *elementList) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i += 4 {
		l.elements = append(l.elements, math.Float32frombits(binary.LittleEndian.Uint32(p[i:])))
	}
	return len(p), nil
}

func (p Paired) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	if len(dims) < 1 || dims[0]%2 != 0 {
		return nil, fmt.Errorf("no pairs of outputs in %v", dims)
	}
	of, err := fillOr(p.Of, seed, name, append([]int64{dims[0] / 2}, dims[1:]...))
	if err != nil {
		return nil, err
	}
	return &derived{of: of, group: product(dims[1:]), size: 2 * of.Size(), apply: func(_ int, row []float32) []float32 {
		for _, w := range row {
			row = append(row, w-p.Step)
		}
		return row
	}}, nil
}

func (o Opposed) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	if len(dims) < 2 || dims[1]%2 != 0 {
		return nil, fmt.Errorf("no pairs of inputs in %v", dims)
	}
	of, err := fillOr(o.Of, seed, name, append([]int64{dims[0], dims[1] / 2}, dims[2:]...))
	if err != nil {
		return nil, err
	}
	return &derived{of: of, group: product(dims[2:]), size: 2 * of.Size(), apply: func(_ int, kernel []float32) []float32 {
		for _, w := range kernel {
			kernel = append(kernel, -w)
		}
		return kernel
	}}, nil
}

// fillOr uses He{} in the place of no filler.
func fillOr(f Filler, seed uint64, name string, dims []int64) (onnx.Source, error) {
	if f == nil {
		f = He{}
	}
	return f.fill(seed, name, dims)
}

// derived is a Source that changes what another makes, group by group.
type derived struct {
	of    onnx.Source
	group int64 // elements that are changed together
	size  int64 // bytes of the result
	// apply returns what becomes of group i. It may change the group, and append to it.
	apply func(i int, group []float32) []float32
}

func (d *derived) Size() int64 { return d.size }

func (d *derived) WriteTo(w io.Writer) (int64, error) {
	g := &groupWriter{w: w, derived: d, group: make([]float32, 0, d.group)}
	if _, err := d.of.WriteTo(g); err != nil {
		return g.written, err
	}
	return g.written, g.flush()
}

// A groupWriter takes elements apart and hands on what becomes of them.
type groupWriter struct {
	*derived
	w       io.Writer
	group   []float32 // the part of the next group that is there
	index   int       // of the next group
	buf     []byte
	written int64
}

// Write expects whole elements.
func (g *groupWriter) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i += 4 {
		g.group = append(g.group, math.Float32frombits(binary.LittleEndian.Uint32(p[i:])))
		if int64(len(g.group)) < g.derived.group {
			continue
		}
		for _, w := range g.apply(g.index, g.group) {
			g.buf = binary.LittleEndian.AppendUint32(g.buf, math.Float32bits(w))
		}
		g.group = g.group[:0]
		g.index++
		if len(g.buf) >= 4*chunk {
			if err := g.flush(); err != nil {
				return i, err
			}
		}
	}
	return len(p), nil
}

func (g *groupWriter) flush() error {
	n, err := g.w.Write(g.buf)
	g.written += int64(n)
	g.buf = g.buf[:0]
	if err == nil && len(g.group) > 0 {
		return errors.New("the weights do not divide into groups")
	}
	return err
}

// Bell fills a tensor with bell-shaped random weights of mean 0 and a standard deviation.
type Bell struct{ Deviation float64 }

// Patched fills a tensor as Of does, and then calls Patch for each row, an index of the first
// axis with all of the others, to change what it likes. Patch has to depend on nothing but
// its arguments and what the architecture's options say.
type Patched struct {
	Of    Filler
	Patch func(row int, weights []float32)
}

func (n Bell) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	return &bell{stream: streamSeed(seed, name), outputs: product(dims), fan: 1, scale: n.Deviation / math.Sqrt(sumVariance)}, nil
}

func (p Patched) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	of, err := fillOr(p.Of, seed, name, dims)
	if err != nil {
		return nil, err
	}
	row := product(dims[min(1, len(dims)):])
	return &derived{of: of, group: row, size: of.Size(), apply: func(i int, weights []float32) []float32 {
		p.Patch(i, weights)
		return weights
	}}, nil
}

// int4Block is how many weights of an output share a scale, and int4Accuracy says that the products
// are computed in 8 bits.
const (
	int4Block    = 32
	int4Accuracy = 4
)

// errFewBits refuses Options.Weights, which are float32.
var errFewBits = errors.New("weights of a checkpoint have no place in a table of fewer bits")

// matMulInt4 adds x·W with weights of 4 bits (MatMulNBits). Weights that mean nothing are drawn in 4
// bits; others are rounded, which needs the whole matrix in memory.
func (b *Builder) matMulInt4(name string, x *onnx.Value, units int64, f Filler, random bool) *onnx.Value {
	inputs := width(x)
	switch {
	case b.given != nil:
		return b.fail("weights", name+"/weights", errFewBits)
	case inputs == 0 || inputs%int4Block != 0:
		return b.fail("MatMulNBits", name, fmt.Errorf("the inputs of %v do not divide into blocks of %d", x, int4Block))
	}
	source, err := f.fill(b.seed, name+"/weights", []int64{inputs, units})
	if err != nil {
		return b.fail("weights", name, err)
	}
	m := int4Matrix{inputs: inputs, units: units}
	if random {
		m.stream = streamSeed(b.seed, name+"/weights")
	} else {
		m.source = source
	}
	blocks := inputs / int4Block
	weights := b.Constant(&onnx.Tensor{Name: name + "/weights", Type: onnx.Uint8, Dims: []int64{units, blocks, int4Block / 2}, Data: int4Weights{m}})
	scales := b.Constant(&onnx.Tensor{Name: name + "/scales", Type: onnx.Float32, Dims: []int64{units * blocks}, Data: int4Scales{m}})
	shape := append(onnx.Shape{}, x.Type.Shape...)
	shape[len(shape)-1] = onnx.Fixed(units)
	return b.contrib("MatMulNBits", name, []*onnx.Value{x, weights, scales}, []onnx.Attribute{
		onnx.Attr("K", inputs), onnx.Attr("N", units), onnx.Attr("bits", int64(4)), onnx.Attr("block_size", int64(int4Block)),
		onnx.Attr("accuracy_level", int64(int4Accuracy)),
	}, onnx.Type{Elem: x.Type.Elem, Shape: shape})[0]
}

// An int4Matrix is a matrix [inputs, units] that is kept in 4 bits, block by block of each unit's
// inputs.
type int4Matrix struct {
	inputs, units int64
	source        onnx.Source // nil: weights are drawn from the stream
	stream        [2]uint64
}

// read returns the weights.
func (m int4Matrix) read() ([]float32, error) {
	list := &elementList{make([]float32, 0, m.inputs*m.units)}
	_, err := m.source.WriteTo(list)
	return list.elements, err
}

// scale is that of a block: the largest weight becomes ±7.
func (m int4Matrix) scale(w []float32, unit, block int64) float32 {
	largest := 0.0
	for i := block * int4Block; i < (block+1)*int4Block; i++ {
		largest = max(largest, math.Abs(float64(w[i*m.units+unit])))
	}
	return float32(largest / 7)
}

// int4Weights are the weights, two in a byte, each 8 more than its multiple of the scale.
type int4Weights struct{ int4Matrix }

// Size implements onnx.Source.
func (m int4Weights) Size() int64 { return m.inputs * m.units / 2 }

// WriteTo implements onnx.Source.
func (m int4Weights) WriteTo(to io.Writer) (int64, error) {
	if m.source == nil {
		return m.draw(to)
	}
	w, err := m.read()
	if err != nil {
		return 0, err
	}
	row := make([]byte, m.inputs/2)
	written := int64(0)
	for unit := range m.units {
		for block := range m.inputs / int4Block {
			scale := float64(m.scale(w, unit, block))
			for i := block * int4Block; i < (block+1)*int4Block; i += 2 {
				row[i/2] = nibble(w[i*m.units+unit], scale) | nibble(w[(i+1)*m.units+unit], scale)<<4
			}
		}
		n, err := to.Write(row)
		if written += int64(n); err != nil {
			return written, err
		}
	}
	return written, nil
}

func nibble(w float32, scale float64) byte {
	if scale == 0 {
		return 8
	}
	return byte(8 + math.Round(float64(w)/scale))
}

// draw writes random weights.
func (m int4Weights) draw(to io.Writer) (written int64, err error) {
	rng := rand.NewPCG(m.stream[0], m.stream[1])
	buf := make([]byte, 4*chunk)
	for left := m.Size(); left > 0 && err == nil; {
		part := buf[:min(left, int64(len(buf)))]
		for i := 0; i+8 <= len(part); i += 8 {
			binary.LittleEndian.PutUint64(part[i:], rng.Uint64())
		}
		var n int
		n, err = to.Write(part)
		written += int64(n)
		left -= int64(len(part))
	}
	return written, err
}

// int4Scales are the scales, unit by unit.
type int4Scales struct{ int4Matrix }

// Size implements onnx.Source.
func (m int4Scales) Size() int64 { return 4 * m.units * (m.inputs / int4Block) }

// evenDeviation is that of an even distribution over 0 to 15.
const evenDeviation = 4.61

// WriteTo implements onnx.Source.
func (m int4Scales) WriteTo(to io.Writer) (int64, error) {
	blocks := m.inputs / int4Block
	if m.source == nil {
		scale := float32(1 / math.Sqrt(float64(m.inputs)) / evenDeviation)
		return writeFloats(to, m.units*blocks, func(int64) float32 { return scale })
	}
	w, err := m.read()
	if err != nil {
		return 0, err
	}
	return writeFloats(to, m.units*blocks, func(i int64) float32 { return m.scale(w, i/blocks, i%blocks) })
}

// halfTable returns a table of random numbers of 16 bits, of which rows are looked up: half of the memory
// of a table that is too large otherwise.
func (b *Builder) halfTable(name string, dims ...int64) *onnx.Value {
	if b.given != nil {
		return b.fail("weights", name, errFewBits)
	}
	b.weights[name] = parameter
	return b.Constant(&onnx.Tensor{Name: name, Type: onnx.Float16, Dims: dims, Data: halves{streamSeed(b.seed, name), product(dims)}})
}

// halves are random numbers from -2 to 2 of 16 bits: a sign, one of four exponents, and ten bits.
type halves struct {
	stream [2]uint64
	n      int64
}

// Size implements onnx.Source.
func (h halves) Size() int64 { return 2 * h.n }

// WriteTo implements onnx.Source.
func (h halves) WriteTo(w io.Writer) (written int64, err error) {
	const sign, spread, least = 0x8000, 0xfff, 0x3000 // of the bits: exponents from 2^-3 on
	rng := rand.NewPCG(h.stream[0], h.stream[1])
	buf := make([]byte, 8*chunk)
	for left := h.Size(); left > 0 && err == nil; {
		part := buf[:min(left, int64(len(buf)))]
		bits := uint64(0)
		for i := 0; i < len(part); i += 2 {
			if bits >>= 16; i%8 == 0 {
				bits = rng.Uint64()
			}
			v := uint16(bits)
			binary.LittleEndian.PutUint16(part[i:], v&sign|v&spread+least)
		}
		var n int
		n, err = w.Write(part)
		written += int64(n)
		left -= int64(len(part))
	}
	return written, err
}
