package own

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A verdict says whether the first axis of all inputs is the batch, and why.
type verdict struct {
	batched bool
	why     string
}

// findBatch decides how many samples a run of the model takes, and notes why.
func (in *inputs) findBatch(outputs []backend.Port, scored bool) error {
	for _, i := range in.list {
		if !i.AnyShape {
			continue
		}
		if len(i.told) == 0 || i.told[0] != 1 {
			return userinput.Errorf(shapeOption, "the model does not say the shape of input %s: give --%s %s=1x… with the batch first", i.Name,
				shapeOption, i.Name)
		}
		i.Shape = slices.Clone(i.told)
		i.Shape[0] = -1
	}
	var v *verdict
	for _, rule := range []func([]backend.Port) *verdict{in.withoutAxes, in.toldWhole, in.differing, in.namedOtherwise, in.operators, in.fixed,
		in.otherOutputs, in.firstAxis} {
		if v = rule(outputs); v != nil {
			break
		}
	}
	in.batched, in.batch = v.batched, 1
	samples := "1"
	if in.batched {
		if in.batch = max(in.list[0].Batch(), 0); in.batch > 0 {
			samples = fmt.Sprint(in.batch)
		} else if samples = "any number"; scored {
			for _, p := range outputs {
				if !in.split(p) {
					in.batch, samples, v.why = 1, "1", fmt.Sprintf("output %s%v does not have a row for each sample", p.Name, axesText(p))
				}
			}
		}
	}
	in.perRun = fmt.Sprintf("samples per run: %s (%s)", samples, v.why)
	in.notes = append(in.notes, in.perRun)
	return nil
}

// split reports whether an output has a row for each sample of a batch, as far as its port shows.
func (in *inputs) split(p backend.Port) bool {
	if !in.batched {
		return false
	}
	agreed := backend.FirstAxes(in.list[0].Port, p)
	return agreed == backend.Agree || agreed == backend.Unknown && !in.sized
}

func (in *inputs) withoutAxes([]backend.Port) *verdict {
	for _, i := range in.list {
		if len(i.Shape) == 0 {
			return &verdict{false, "input " + i.Name + " has no axes"}
		}
	}
	if len(in.list) == 0 {
		return &verdict{false, "the model has no inputs"}
	}
	return nil
}

// toldWhole: the user gives a sample all axes of an input.
func (in *inputs) toldWhole([]backend.Port) *verdict {
	for _, i := range in.list {
		if len(i.told) == len(i.Shape) && i.told[0] != 1 {
			return &verdict{false, fmt.Sprintf("--%s %s=%s is one sample", shapeOption, i.Name, extents(i.told))}
		}
	}
	return nil
}

func (in *inputs) differing([]backend.Port) *verdict {
	first := in.list[0]
	for _, i := range in.list[1:] {
		if backend.FirstAxes(first.Port, i.Port) == backend.Differ {
			return &verdict{false, fmt.Sprintf("the first axes of %s%s and %s%s differ", first.Name, axesText(first.Port), i.Name, axesText(i.Port))}
		}
	}
	return nil
}

// notBatch are parts of names of axes that are not the batch.
var notBatch = []string{"seq", "len", "time", "token", "frame", "width", "height", "num_", "box", "point", "node", "edge", "sample"}

func (in *inputs) namedOtherwise([]backend.Port) *verdict {
	for _, i := range in.list {
		if name := i.Axis(0); !i.mayBeBatch(0) {
			return &verdict{false, fmt.Sprintf("axis %s of %s is not the batch", name, i.Name)}
		}
	}
	return nil
}

// mayBeBatch reports whether an axis may be the batch by its name.
func (i *input) mayBeBatch(axis int) bool {
	name := i.Axis(axis)
	if name == "" {
		return true
	}
	repeated := 0 // A[n n]
	for _, other := range i.Axes {
		if other == name {
			repeated++
		}
	}
	return repeated == 1 && (has(name, "batch") || !has(name, notBatch...))
}

func (in *inputs) operators([]backend.Port) *verdict {
	for _, i := range in.list {
		switch {
		case i.batchOf == "" || i.batch == 0:
		case i.batch == added:
			return &verdict{false, fmt.Sprintf("%s has no batch axis: the model adds that of %s", i.Name, i.batchOf)}
		default:
			return &verdict{false, fmt.Sprintf("the batch of %s is axis %d of %s, which is not divided", i.batchOf, i.batch, i.Name)}
		}
	}
	return nil
}

// fixed: a first axis of several elements in all inputs is the batch only where something says so.
func (in *inputs) fixed(outputs []backend.Port) *verdict {
	n := in.list[0].Shape[0]
	if n <= 1 {
		return nil
	}
	why := ""
	var names, samples []string
	for _, i := range in.list {
		names = append(names, i.Name+axesText(i.Port))
		samples = append(samples, fmt.Sprintf("--%s %s=%s", shapeOption, i.Name, extents(append(tensor.Shape{1}, i.Shape[1:]...))))
		switch {
		case why != "":
		case i.told != nil:
			why = fmt.Sprintf("--%s %s=%s is one of them", shapeOption, i.Name, extents(i.told))
		case i.batchOf != "":
			why = fmt.Sprintf("the first axis of %s is the batch of %s", i.Name, i.batchOf)
		case in.holdsRows(i):
			why = fmt.Sprintf("%s has samples of %s without its first axis", i.from, i.Name)
		case in.images != nil && i.arrays == nil && len(i.Shape) == 4:
			why = "input " + i.Name + " takes images"
		}
	}
	if why == "" {
		return &verdict{false, fmt.Sprintf("the first axis of %s is fixed, and nothing says that it is the batch; %s: %d samples",
			strings.Join(names, ", "), strings.Join(samples, " "), n)}
	}
	for _, p := range outputs {
		if !p.AnyShape && backend.FirstAxes(in.list[0].Port, p) == backend.Differ {
			return &verdict{false, fmt.Sprintf("output %s%s has another first axis than %s", p.Name, axesText(p), strings.Join(names, ", "))}
		}
	}
	return &verdict{true, why}
}

// otherOutputs: beside a free batch, an output of a fixed size belongs to one sample.
func (in *inputs) otherOutputs(outputs []backend.Port) *verdict {
	if in.list[0].Shape[0] >= 0 {
		return nil
	}
	for _, p := range outputs {
		if !p.AnyShape && (len(p.Shape) == 0 || p.Shape[0] >= 0) {
			return &verdict{false, fmt.Sprintf("output %s%s has no batch axis", p.Name, axesText(p))}
		}
	}
	return nil
}

func (in *inputs) firstAxis([]backend.Port) *verdict {
	i := in.list[0]
	switch name := i.Axis(0); {
	case i.Shape[0] >= 0:
		return &verdict{true, fmt.Sprintf("the first axis of %s%s", i.Name, axesText(i.Port))}
	case name == "":
		return &verdict{true, "the first axis of " + i.Name + " is free"}
	default:
		return &verdict{true, fmt.Sprintf("axis %s of %s", name, i.Name)}
	}
}

// axesText is the shape of a port with the names of its free axes, as [N 3 ? 5].
func axesText(p backend.Port) string {
	text := strings.Fields(strings.Trim(p.Shape.String(), "[]"))
	for k := range text {
		if name := p.Axis(k); name != "" {
			text[k] = name
		}
	}
	return "[" + strings.Join(text, " ") + "]"
}

// extents is a shape as users write it: 1x3x224x224.
func extents(shape tensor.Shape) string {
	var parts []string
	for _, n := range shape {
		if n < 0 {
			parts = append(parts, "…")
		} else {
			parts = append(parts, fmt.Sprint(n))
		}
	}
	return strings.Join(parts, "x")
}
