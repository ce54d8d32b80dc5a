package vision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The layouts of images.
const (
	nchw = "NCHW"
	nhwc = "NHWC"
)

// imageInput describes the input of a model for images.
type imageInput struct {
	layout string // nchw or nhwc
	dtype  tensor.DType
	height int
	width  int
}

// bindImage reads layout and type of the input from its port: one input of four axes, one of them the three colours. want
// is the size that the pre-processing makes.
func bindImage(inputs []backend.Port, want int, override binding) (imageInput, error) {
	if len(inputs) != 1 {
		return imageInput{}, fmt.Errorf("the model has %d inputs (%s), expected one: the image", len(inputs), portNames(inputs))
	}
	port := inputs[0]
	if len(port.Shape) != 4 {
		return imageInput{}, fmt.Errorf("input %s has shape %v, expected a batch of images: four axes", port.Name, port.Shape)
	}
	in := imageInput{layout: override.layout, dtype: port.Type, height: want, width: want}
	if in.layout == "" {
		var err error
		if in.layout, err = layoutOf(port); err != nil {
			return imageInput{}, err
		}
	}
	if err := in.takes(port); err != nil {
		return imageInput{}, err
	}
	if !slices.Contains(imageTypes, in.dtype) {
		return imageInput{}, fmt.Errorf("input %s has elements of type %v, expected float32, float16, float64, uint8 or int8", port.Name, port.Type)
	}
	return in, nil
}

// imageTypes are the types of elements that images can have.
var imageTypes = []tensor.DType{tensor.Float32, tensor.Float16, tensor.Float64, tensor.Uint8, tensor.Int8}

// takes checks that a port takes images of three colours and the right size.
func (in imageInput) takes(port backend.Port) error {
	channels, height, width := port.Shape[1], port.Shape[2], port.Shape[3]
	switch in.layout {
	case nchw:
	case nhwc:
		height, width, channels = port.Shape[1], port.Shape[2], port.Shape[3]
	default:
		return userinput.Errorf(layoutOption, "unknown layout %q: must be %s or %s", in.layout, nchw, nhwc)
	}
	if !fits(channels, 3) {
		return fmt.Errorf("input %s has shape %v, which in %s has %d colours, expected 3", port.Name, port.Shape, in.layout, channels)
	}
	if !fits(height, in.height) || !fits(width, in.width) {
		return fmt.Errorf("input %s has shape %v, expected images of %d×%d", port.Name, port.Shape, in.height, in.width)
	}
	return nil
}

// fits reports whether an axis has an extent or is free.
func fits(axis int64, extent int) bool { return axis == int64(extent) || axis == -1 }

func layoutOf(port backend.Port) (string, error) {
	first, last := port.Shape[1], port.Shape[3]
	switch {
	case first == 3 && last != 3, first == -1 && last > 3: // only the colours and perhaps the batch are free
		return nchw, nil
	case last == 3 && first != 3, last == -1 && first > 3:
		return nhwc, nil
	}
	return "", userinput.Errorf(layoutOption, "cannot infer the layout from input %s of shape %v: give %s or %s", port.Name, port.Shape, nchw, nhwc)
}

func (in imageInput) String() string {
	return fmt.Sprintf("input: %v %s %d×%d", in.dtype, in.layout, in.width, in.height)
}

// classOutput describes the output of a model that has the class.
type classOutput struct {
	port   backend.Port
	argmax bool // the output is the class itself, not a score for each
	offset int  // label = class + offset

	// open says that the number of scores is known after a run only, and no option sets the offset: for 1000 scores it
	// is 0.
	open bool
}

// background is the number of scores of models with a background class, 0.
const background = 1001

// bindClasses finds the output with the class: its index, or else scores. Models with 1001 classes count from a background
// class, so that label = class − 1; those with 1000 do not.
func bindClasses(outputs []backend.Port, override binding) (classOutput, error) {
	out := classOutput{offset: -1} // the official models have a background class
	argmax, scores := classPorts(outputs, override)
	unknown := shapeless(outputs, override)
	counted := outputs // outputs that may show the number of classes
	switch {
	case argmax != nil:
		out.port, out.argmax = *argmax, true
	case scores != nil:
		out.port, counted = *scores, []backend.Port{*scores}
	case unknown != nil:
		out.port, out.argmax = *unknown, !isScore(unknown.Type)
		out.open = !out.argmax && override.labelOffset == nil
	default:
		if override.output != "" {
			return out, userinput.Errorf(outputOption, "the model has no output %q with a class; it has %s", override.output, workload.DescribePorts(outputs))
		}
		return out, fmt.Errorf("the model has no output with a class: expected integers [N] or %d or %d scores; it has %s",
			background-1, background, workload.DescribePorts(outputs))
	}
	switch {
	case override.labelOffset != nil:
		out.offset = *override.labelOffset
	case slices.ContainsFunc(counted, func(port backend.Port) bool { _, scores := classPort(port); return scores == background-1 }):
		out.offset = 0
	}
	return out, nil
}

// classPorts returns the first output that is a class, and the first that is scores.
func classPorts(outputs []backend.Port, override binding) (argmax, scores *backend.Port) {
	for i, port := range outputs {
		if !override.allows(port) {
			continue
		}
		switch isIndex, n := classPort(port); {
		case isIndex && argmax == nil:
			argmax = &outputs[i]
		case n > 0 && scores == nil:
			scores = &outputs[i]
		}
	}
	return argmax, scores
}

// allows reports whether the options allow an output.
func (b binding) allows(port backend.Port) bool { return b.output == "" || b.output == port.Name }

// shapeless returns the only output without a shape in the file; many converters write none.
func shapeless(outputs []backend.Port, override binding) *backend.Port {
	var found []*backend.Port
	for i, port := range outputs {
		if port.AnyShape && override.allows(port) && (isScore(port.Type) || isWhole(port.Type)) {
			found = append(found, &outputs[i])
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// isScore reports whether scores may be of a type.
func isScore(d tensor.DType) bool {
	return singlepass.IsFloat(d) || d == tensor.Uint8 || d == tensor.Int8
}

// classPort returns whether an output is a class index, or else its number of scores; 0: neither.
func classPort(port backend.Port) (isIndex bool, scores int64) {
	each := numbersEach(port.Shape)
	switch {
	case isWhole(port.Type):
		return each == 1, 0
	case isScore(port.Type) && (each == background || each == background-1):
		return false, each
	}
	return false, 0
}

// numbersEach is the number of values that an output has for a sample; -1: unknown, 0: more than one axis.
func numbersEach(shape tensor.Shape) int64 {
	for len(shape) > 2 && shape[len(shape)-1] == 1 { // [N 1001 1 1]
		shape = shape[:len(shape)-1]
	}
	switch len(shape) {
	case 1:
		return 1
	case 2:
		return shape[1]
	}
	return 0
}

func (out classOutput) String() string {
	label := out.port.Name
	if !out.argmax {
		label = "argmax of " + label
	}
	text := "label = " + plus(label, out.offset)
	switch {
	case out.open:
		text += fmt.Sprintf(", or %s if it has %d scores", label, background-1)
	case out.offset == -1:
		text += " (the model has a background class)"
	}
	return text
}

// plus writes a sum, without a summand of 0.
func plus(name string, n int) string {
	switch {
	case n > 0:
		return fmt.Sprintf("%s + %d", name, n)
	case n < 0:
		return fmt.Sprintf("%s − %d", name, -n)
	}
	return name
}

func portNames(ports []backend.Port) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
