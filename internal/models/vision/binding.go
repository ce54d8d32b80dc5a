package vision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The layouts of images.
const (
	nchw = "NCHW"
	nhwc = "NHWC"
)

// imageInput is how images go into a model.
type imageInput struct {
	layout string // nchw or nhwc
	dtype  tensor.DType
	height int
	width  int
}

// bindImage finds out how a model takes images: one input of four axes, of which one
// has the three colours. want is the size that the pre-processing makes.
func bindImage(inputs []backend.Port, want int, override binding) (imageInput, error) {
	if len(inputs) != 1 {
		return imageInput{}, fmt.Errorf("the model has %d inputs (%s), want one: the image", len(inputs), portNames(inputs))
	}
	port := inputs[0]
	if len(port.Shape) != 4 {
		return imageInput{}, fmt.Errorf("input %s has shape %v, want a batch of images: four axes", port.Name, port.Shape)
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
		return imageInput{}, fmt.Errorf("input %s has elements of type %v, want float32, float16, float64, uint8 or int8", port.Name, port.Type)
	}
	return in, nil
}

// imageTypes are those that images are made of.
var imageTypes = []tensor.DType{tensor.Float32, tensor.Float16, tensor.Float64, tensor.Uint8, tensor.Int8}

// takes wants a port for images of three colours and the right size.
func (in imageInput) takes(port backend.Port) error {
	channels, height, width := port.Shape[1], port.Shape[2], port.Shape[3]
	switch in.layout {
	case nchw:
	case nhwc:
		height, width, channels = port.Shape[1], port.Shape[2], port.Shape[3]
	default:
		return userinput.Errorf(layoutOption, "unknown layout %q, want %s or %s", in.layout, nchw, nhwc)
	}
	if !fits(channels, 3) {
		return fmt.Errorf("input %s has shape %v, which in %s has %d colours, want 3", port.Name, port.Shape, in.layout, channels)
	}
	if !fits(height, in.height) || !fits(width, in.width) {
		return fmt.Errorf("input %s has shape %v, want images of %d×%d", port.Name, port.Shape, in.height, in.width)
	}
	return nil
}

// fits reports whether an axis takes an extent: if it is that, or free.
func fits(axis int64, extent int) bool { return axis == int64(extent) || axis == -1 }

func layoutOf(port backend.Port) (string, error) {
	first, last := port.Shape[1], port.Shape[3]
	switch {
	case first == 3 && last != 3, first == -1 && last > 3: // only the colours and perhaps the batch are free
		return nchw, nil
	case last == 3 && first != 3, last == -1 && first > 3:
		return nhwc, nil
	}
	return "", userinput.Errorf(layoutOption, "input %s has shape %v, from which the layout cannot be told: want %s or %s", port.Name, port.Shape, nchw, nhwc)
}

func (in imageInput) String() string {
	return fmt.Sprintf("images go in as %v %s %d×%d", in.dtype, in.layout, in.width, in.height)
}

// classOutput is how a class is read from a model's output.
type classOutput struct {
	port   backend.Port
	argmax bool // the output is the class itself, not a score for each
	offset int  // label = class + offset

	// open says that only a run tells how many scores there are, and nobody gave an offset: of
	// 1000 scores it is 0.
	open bool
}

// background is the number of scores of models that have a class 0 for "nothing".
const background = 1001

// bindClasses finds the output that tells the class: the index of the best class if
// there is one, scores otherwise. Models with 1001 classes count from a background
// class, so that label = class − 1; those with 1000 do not.
func bindClasses(outputs []backend.Port, override binding) (classOutput, error) {
	out := classOutput{offset: -1} // the official models have a background class
	argmax, scores := classPorts(outputs, override)
	unknown := shapeless(outputs, override)
	counted := outputs // those that tell how many classes there are
	switch {
	case argmax != nil:
		out.port, out.argmax = *argmax, true
	case scores != nil:
		out.port, counted = *scores, []backend.Port{*scores}
	case unknown != nil:
		out.port, out.argmax = *unknown, !isScore(unknown.Type)
		out.open = !out.argmax && override.labelOffset == nil
	default:
		return out, noClass(outputs, override)
	}
	switch {
	case override.labelOffset != nil:
		out.offset = *override.labelOffset
	case slices.ContainsFunc(counted, lacksBackground):
		out.offset = 0
	}
	return out, nil
}

// noClass is the error if no output tells the class.
func noClass(outputs []backend.Port, override binding) error {
	if override.output != "" {
		return userinput.Errorf(outputOption, "the model has no output %q that tells a class; it has %s", override.output, describePorts(outputs))
	}
	return fmt.Errorf("no output of the model tells a class: want integers [N] or %d or %d scores; it has %s",
		background-1, background, describePorts(outputs))
}

// lacksBackground reports whether an output has a score for each class, and none for a background.
func lacksBackground(port backend.Port) bool {
	_, n := classPort(port)
	return n == background-1
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

// allows reports whether an output may be the one to read.
func (b binding) allows(port backend.Port) bool { return b.output == "" || b.output == port.Name }

// shapeless returns the only output of which the file tells no shape, as many converters leave it.
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
func isScore(d tensor.DType) bool { return isFloat(d) || d == tensor.Uint8 || d == tensor.Int8 }

// classPort says whether an output is a class index, or else how many scores it has; 0
// if it is neither.
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

// numbersEach is how many numbers of a sample an output has, which may be -1, unknown; 0 if they are more
// than a row.
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
	what, otherwise := "the class with the highest score in", ""
	if out.argmax {
		what = "the class in"
	}
	if out.open {
		otherwise = fmt.Sprintf(", or 0 if there are %d scores", background-1)
	}
	return fmt.Sprintf("the label is %s output %s plus %d%s", what, out.port.Name, out.offset, otherwise)
}

func portNames(ports []backend.Port) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

func describePorts(ports []backend.Port) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = fmt.Sprintf("%s %v%v", p.Name, p.Type, p.Shape)
	}
	return strings.Join(names, ", ")
}
