package arch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

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
		return errors.New("the weights are no whole number of groups")
	}
	return err
}
