package own

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Extents of free axes that nothing tells.
const (
	defaultSequence = 128    // tokens
	defaultImage    = 224    // pixels
	defaultSound    = 16_000 // values: a second
	defaultExtent   = 16
)

// An axes has the extents of free axes by name: axes of one name have one extent.
type axes map[string]int64

// settle decides the shape of a sample of each input: that of --shape or of the data, that of the file with the extents of
// other inputs, or a guess.
func (in *inputs) settle() error {
	known := axes{}
	for _, i := range in.list {
		if err := in.take(i, known); err != nil {
			return err
		}
	}
	in.guessNamed(known)
	for _, i := range in.list {
		if i.size == nil {
			in.complete(i, known)
		}
		in.row = append(in.row, workload.Slot{Type: i.Type, Shape: i.size})
	}
	in.length = in.sequence()
	return nil
}

// begin is the first axis of an input that a sample has.
func (in *inputs) begin() int {
	if in.batched {
		return 1
	}
	return 0
}

// take gives an input the shape that the user or the data say, and learns the extents of its axes.
func (in *inputs) take(i *input, known axes) error {
	begin := in.begin()
	shape, from := i.told, fmt.Sprintf("--%s %s", shapeOption, i.Name)
	switch {
	case shape == nil && i.content != nil && i.content.shape != nil:
		shape, from = append(make(tensor.Shape, begin), i.content.shape...), i.content.from
	case shape == nil:
		return nil
	case in.batched && len(shape) == len(i.Shape)-1: // without the batch
		shape = append(tensor.Shape{1}, shape...)
	}
	if len(shape) != len(i.Shape) {
		return userinput.Errorf(shapeOption, "%s: %v has %d axes, input %s%v has %d", from, shape, len(shape), i.Name, i.Shape, len(i.Shape))
	}
	for k := begin; k < len(shape); k++ {
		if i.Shape[k] >= 0 && i.Shape[k] != shape[k] {
			return userinput.Errorf(shapeOption, "%s: axis %d is %d, input %s takes %d", from, k, shape[k], i.Name, i.Shape[k])
		}
		if name := i.Axis(k); name != "" {
			known[name] = shape[k]
		}
	}
	i.size = slices.Clone(shape[begin:])
	return nil
}

// guessNamed guesses the axes with names that nothing tells: sums of axes after the axes.
func (in *inputs) guessNamed(known axes) {
	for _, sums := range []bool{false, true} {
		for _, i := range in.list {
			if i.size != nil {
				continue
			}
			for k := in.begin(); k < len(i.Shape); k++ {
				name := i.Axis(k)
				if _, ok := known.extent(name); !ok && name != "" && strings.Contains(name, "+") == sums {
					known[name], i.guessed = i.guess(k), true
				}
			}
		}
	}
}

// complete is the shape of the file, with known extents of named axes, and guesses. It notes guesses.
func (in *inputs) complete(i *input, known axes) {
	begin := in.begin()
	i.size = slices.Clone(i.Shape[begin:])
	for k, n := range i.size {
		if n >= 0 {
			continue
		}
		extent, ok := known.extent(i.Axis(begin + k))
		if !ok {
			extent, i.guessed = i.guess(begin+k), true
		}
		i.size[k] = extent
	}
	if i.guessed {
		whole := append(slices.Repeat(tensor.Shape{1}, begin), i.size...)
		in.notes = append(in.notes, fmt.Sprintf("input %s has free axes: guessed --%s %s=%s", i.Name, shapeOption, i.Name, extents(whole)))
	}
}

// sequence is the length of a sequence with its past, which inputs with lengths have.
func (in *inputs) sequence() int64 {
	present, past, begin := int64(0), int64(0), in.begin()
	for _, i := range in.list {
		for k, n := range i.size {
			switch name := i.Axis(begin + k); {
			case i.Shape[begin+k] >= 0 || has(name, "batch"):
			case has(name, "past") && !has(name, "+"):
				past = max(past, n)
			case !has(i.Name, "mask", "past"):
				present = max(present, n)
			}
		}
	}
	return present + past
}

// extent is that of an axis whose name is known, or is a sum of known names and numbers, as exporters write.
func (known axes) extent(name string) (int64, bool) {
	if n, ok := known[name]; ok || name == "" {
		return n, ok
	}
	sum := int64(0)
	terms := strings.Split(name, "+")
	for _, term := range terms {
		term = strings.TrimSpace(term)
		n, ok := known[term]
		if !ok {
			var err error
			if n, err = strconv.ParseInt(term, 10, 64); err != nil || len(terms) == 1 {
				return 0, false
			}
		}
		sum += n
	}
	return sum, true
}

// guesses are extents of free axes, the first that applies; name is that of the axis.
var guesses = []struct {
	extent  int64
	applies func(i *input, axis int, name string) bool
}{
	{1, func(i *input, axis int, _ string) bool { return i.batchOf != "" && axis == i.batch }},
	{defaultSequence, func(i *input, axis int, name string) bool { // of a recurrent network, before its batch
		return i.batchOf != "" && i.batch == 1 && axis == 0 && len(i.Shape) == 3 && !has(i.Name, "state", "hidden")
	}},
	{1, func(i *input, axis int, _ string) bool { return axis == 0 && i.mayBeBatch(axis) }},
	{defaultExtent, func(_ *input, _ int, name string) bool { return has(name, "past") }},
	{1, func(i *input, _ int, name string) bool { // the batch of a recurrent network, behind its layers
		return name == "" && has(i.Name, "state", "hidden")
	}},
	{3, func(i *input, axis int, name string) bool {
		return has(name, "channel") || len(i.Shape) == 4 && name == "" && axis == 1 && !slices.Contains(i.Shape[2:], 3)
	}},
	{defaultImage, func(i *input, _ int, name string) bool { return len(i.Shape) == 4 && !has(name, "seq", "len") }},
	{defaultSound, func(_ *input, _ int, name string) bool { return has(name, "sample", "audio", "wave") }},
	{defaultSequence, func(i *input, _ int, name string) bool {
		index := i.Type != tensor.Float32 && !singlepass.IsOtherFloat(i.Type)
		return has(name, "seq", "len", "time", "token", "frame") || index && len(i.Shape) >= 2
	}},
}

// guess is a sensible extent of a free axis.
func (i *input) guess(axis int) int64 {
	name := i.Axis(axis)
	for _, g := range guesses {
		if g.applies(i, axis, name) {
			return g.extent
		}
	}
	return defaultExtent
}
