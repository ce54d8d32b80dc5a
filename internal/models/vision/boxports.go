package vision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// boxPorts are the outputs of a detector: boxes, scores, classes, and from some models
// the number of boxes.
type boxPorts []backend.Port

// boxRoles are words by which outputs of detectors are known, in the order of boxPorts.
func boxRoles() [4][]string {
	return [4][]string{{"box"}, {"score", "conf", "prob"}, {"class", "label"}, {"num", "count"}}
}

// tfliteOutputs are the outputs of TFLite's detection operator, whose names do not tell
// them apart: boxes, classes, scores, count.
const tfliteOutputs = "TFLite_Detection_PostProcess"

// bindBoxes finds out which output is which, by names, and where these do not tell, by
// types and shapes.
func bindBoxes(outputs []backend.Port, override binding) (boxPorts, error) {
	if override.output != "" {
		return namedPorts(outputs, strings.Split(override.output, ","))
	}
	if len(outputs) == 4 && strings.HasPrefix(outputs[0].Name, tfliteOutputs) {
		return boxPorts{outputs[0], outputs[2], outputs[1], outputs[3]}.check()
	}
	found, err := guessPorts(outputs)
	if err != nil {
		return nil, err
	}
	if role := slices.Index(found[:3], nil); role >= 0 {
		return nil, userinput.Errorf(outputOption, "no output of the model is known as the %s; it has %s: name boxes, scores, classes and perhaps their number",
			boxRoles()[role][0], describePorts(outputs))
	}
	ports := boxPorts{*found[0], *found[1], *found[2]}
	if found[3] != nil {
		ports = append(ports, *found[3])
	}
	return ports.check()
}

// guessPorts guesses which output has which role; nil: none has.
func guessPorts(outputs []backend.Port) (found [4]*backend.Port, err error) {
	for i := range outputs {
		role := roleOf(outputs[i])
		if role < 0 || outputs[i].Other != "" {
			continue
		}
		if found[role] != nil {
			return found, userinput.Errorf(outputOption, "outputs %s and %s may both be the %s: name boxes, scores, classes and perhaps their number",
				found[role].Name, outputs[i].Name, boxRoles()[role][0])
		}
		found[role] = &outputs[i]
	}
	return found, nil
}

// roleOf guesses what an output is, -1 if nothing of a detector.
func roleOf(port backend.Port) int {
	if role := namedRole(port.Name); role >= 0 {
		return role
	}
	switch axes := len(port.Shape); {
	case axes == 0:
		return -1
	case isWhole(port.Type):
		return 2
	case !isFloat(port.Type):
		return -1
	case axes >= 2 && port.Shape[axes-1] == 4:
		return 0
	}
	return 1
}

// namedRole is what the name of an output tells of it, -1 if nothing.
func namedRole(name string) int {
	name = strings.ToLower(name)
	for _, role := range []int{3, 1, 2, 0} { // "num_boxes", "box_scores" and "box_classes" are no boxes
		if slices.ContainsFunc(boxRoles()[role], func(word string) bool { return strings.Contains(name, word) }) {
			return role
		}
	}
	return -1
}

// isWhole reports whether a type is one of whole numbers that count or name things.
func isWhole(d tensor.DType) bool { return d == tensor.Int64 || d == tensor.Int32 }

// namedPorts are outputs by their names.
func namedPorts(outputs []backend.Port, names []string) (boxPorts, error) {
	if len(names) != 3 && len(names) != 4 {
		return nil, userinput.Errorf(outputOption, "%d outputs are named, want those of boxes, scores, classes and perhaps their number", len(names))
	}
	var ports boxPorts
	for _, name := range names {
		found := false
		for _, port := range outputs {
			if port.Name == strings.TrimSpace(name) {
				ports, found = append(ports, port), true
			}
		}
		if !found {
			return nil, userinput.Errorf(outputOption, "the model has no output %q; it has %s", name, describePorts(outputs))
		}
	}
	return ports.check()
}

// check wants types that can be read.
func (p boxPorts) check() (boxPorts, error) {
	for role, port := range p {
		if !isFloat(port.Type) && (role < 2 || !isWhole(port.Type)) {
			return nil, fmt.Errorf("output %s has elements of type %v, which is not expected of the %s", port.Name, port.Type, boxRoles()[role][0])
		}
	}
	return p, nil
}

// counted says whether an output tells how many boxes there are.
func (p boxPorts) counted() bool { return len(p) == 4 }

// single says whether the outputs are those of one image, without a batch axis.
func (p boxPorts) single() bool { return len(p[0].Shape) == 2 }

func (p boxPorts) names() []string {
	var names []string
	for _, port := range p {
		names = append(names, port.Name)
	}
	return names
}

// tensorFlowBoxes is in the name of boxes that TensorFlow's detection models give, as converters
// keep it: y comes before x there.
const tensorFlowBoxes = "detection_boxes"

// isSwapped says whether the boxes' name is one that stands for y before x.
func isSwapped(p boxPorts) bool { return strings.Contains(p[0].Name, swappedBoxes) }
