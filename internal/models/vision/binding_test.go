package vision

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func port(name string, d tensor.DType, shape ...int64) backend.Port {
	return backend.Port{Name: name, Type: d, Shape: shape}
}

func TestBindImage(t *testing.T) {
	const f32, u8, i8 = tensor.Float32, tensor.Uint8, tensor.Int8
	tests := []struct {
		name     string
		in       backend.Port
		override binding
		want     string
	}{
		{"channels first", port("x", f32, -1, 3, 224, 224), binding{}, "input: float32 NCHW 224×224"},
		{"channels last", port("x", f32, -1, 224, 224, 3), binding{}, "input: float32 NHWC 224×224"},
		{"a fixed batch", port("x", f32, 8, 3, 224, 224), binding{}, "input: float32 NCHW 224×224"},
		{"bytes", port("x", u8, 1, 224, 224, 3), binding{}, "input: uint8 NHWC 224×224"},
		{"signed bytes", port("x", i8, -1, 3, 224, 224), binding{}, "input: int8 NCHW 224×224"},
		{"free height and width", port("x", f32, -1, 3, -1, -1), binding{}, "input: float32 NCHW 224×224"},
		{"free height and width, channels last", port("x", f32, -1, -1, -1, 3), binding{}, "input: float32 NHWC 224×224"},
		{"free channels", port("x", f32, -1, -1, 224, 224), binding{}, "input: float32 NCHW 224×224"},
		{"free channels at the end", port("x", f32, -1, 224, 224, -1), binding{}, "input: float32 NHWC 224×224"},
		{"all free, but said", port("x", f32, -1, -1, -1, -1), binding{layout: "NHWC"}, "input: float32 NHWC 224×224"},
		{"said, as it is", port("x", f32, -1, 3, 224, 224), binding{layout: "NCHW"}, "input: float32 NCHW 224×224"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in, err := bindImage([]backend.Port{test.in}, 224, test.override)
			if err != nil || in.String() != test.want {
				t.Fatalf("bindImage = %v, %v; want %q", in, err, test.want)
			}
			if in.width != 224 || in.height != 224 {
				t.Errorf("images go in with %d×%d pixels", in.width, in.height)
			}
		})
	}
}

func TestBindImageErrors(t *testing.T) {
	const f32 = tensor.Float32
	tests := []struct {
		name     string
		in       []backend.Port
		override binding
		want     string
	}{
		{"no input", nil, binding{}, "0 inputs … image"},
		{"two inputs", []backend.Port{port("ids", tensor.Int64, -1, 384), port("mask", tensor.Int64, -1, 384)}, binding{},
			"2 inputs … ids … mask … image"},
		{"not an image", []backend.Port{port("ids", f32, -1, 384)}, binding{},
			"ids … [? 384] … images … four"},
		{"no axes", []backend.Port{port("ids", f32)}, binding{}, "ids … [] … images … four"},
		{"three on both sides", []backend.Port{port("x", f32, -1, 3, 224, 3)}, binding{},
			"layout … x … [? 3 224 3] … NCHW … NHWC"},
		{"nothing to tell by", []backend.Port{port("x", f32, -1, -1, -1, -1)}, binding{},
			"layout … x … [? ? ? ?] … NCHW … NHWC"},
		{"grey images", []backend.Port{port("x", f32, -1, 1, 224, 224)}, binding{},
			"layout … x … [? 1 224 224] … NCHW … NHWC"},
		{"said wrongly", []backend.Port{port("x", f32, -1, 3, 224, 224)}, binding{layout: "NHWC"},
			"x … [? 3 224 224] … NHWC … 224 … 3"},
		{"no such layout", []backend.Port{port("x", f32, -1, 3, 224, 224)}, binding{layout: "CHWN"},
			`layout … "CHWN" … NCHW … NHWC`},
		{"another size", []backend.Port{port("x", f32, -1, 3, 192, 192)}, binding{},
			"x … [? 3 192 192] … 224×224"},
		{"not square", []backend.Port{port("x", f32, -1, 3, 224, 300)}, binding{},
			"x … [? 3 224 300] … 224×224"},
		{"another type", []backend.Port{port("x", tensor.Int64, -1, 3, 224, 224)}, binding{},
			"x … int64 … float32 … float16 … float64 … uint8 … int8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if in, err := bindImage(test.in, 224, test.override); !testenv.Names(err, test.want) {
				t.Errorf("bindImage = %v, %v; want the error %q", in, err, test.want)
			}
		})
	}
}

func TestBindClasses(t *testing.T) {
	const f32, i64 = tensor.Float32, tensor.Int64
	argmax, softmax := port("ArgMax:0", i64, -1), port("softmax:0", f32, -1, 1001)
	two := 2
	tests := []struct {
		name     string
		outputs  []backend.Port
		override binding
		want     string
	}{
		{"the official ResNet-50", []backend.Port{argmax, softmax}, binding{}, "label = ArgMax:0 − 1 (the model has a background class)"},
		{"scores first", []backend.Port{softmax, argmax}, binding{}, "label = ArgMax:0 − 1 (the model has a background class)"},
		{"the official MobileNet", []backend.Port{port("p", f32, -1, 1001)}, binding{},
			"label = argmax of p − 1 (the model has a background class)"},
		{"scores without a background", []backend.Port{port("p", f32, 8, 1000)}, binding{},
			"label = argmax of p"},
		{"a class among 1000", []backend.Port{port("c", i64, -1), port("p", f32, -1, 1000)}, binding{},
			"label = c"},
		{"a class alone", []backend.Port{port("c", tensor.Int32, 1)}, binding{}, "label = c − 1 (the model has a background class)"},
		{"a class with an axis of its own", []backend.Port{port("c", i64, -1, 1)}, binding{}, "label = c − 1 (the model has a background class)"},
		{"scores as an image", []backend.Port{port("p", f32, -1, 1001, 1, 1)}, binding{},
			"label = argmax of p − 1 (the model has a background class)"},
		{"half scores", []backend.Port{port("p", tensor.Float16, -1, 1000)}, binding{},
			"label = argmax of p"},
		{"double scores beside what is no tensor", []backend.Port{{Name: "z", Other: "sequence"}, port("p", tensor.Float64, -1, 1001)}, binding{},
			"label = argmax of p − 1 (the model has a background class)"},
		{"scores without a shape", []backend.Port{{Name: "p", Type: f32, AnyShape: true}}, binding{},
			"label = argmax of p − 1, or argmax of p if it has 1000 scores"},
		{"a class without a shape", []backend.Port{{Name: "c", Type: i64, AnyShape: true}}, binding{},
			"label = c − 1 (the model has a background class)"},
		{"byte scores", []backend.Port{port("p", tensor.Uint8, -1, 1001)}, binding{},
			"label = argmax of p − 1 (the model has a background class)"},
		{"signed byte scores", []backend.Port{port("p", tensor.Int8, -1, 1000)}, binding{},
			"label = argmax of p"},
		{"the first of several", []backend.Port{port("a", f32, -1, 1000), port("b", f32, -1, 1000)}, binding{},
			"label = argmax of a"},
		{"what is no class is passed over", []backend.Port{port("features", f32, -1, 2048), softmax}, binding{},
			"label = argmax of softmax:0 − 1 (the model has a background class)"},
		{"the output is said", []backend.Port{argmax, softmax}, binding{output: "softmax:0"},
			"label = argmax of softmax:0 − 1 (the model has a background class)"},
		{"the output is said, another has no background", []backend.Port{port("a", f32, -1, 1000), port("b", f32, -1, 1001)}, binding{output: "b"},
			"label = argmax of b − 1 (the model has a background class)"},
		{"the offset is said", []backend.Port{argmax, softmax}, binding{labelOffset: &two}, "label = ArgMax:0 + 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if out, err := bindClasses(test.outputs, test.override); err != nil || out.String() != test.want {
				t.Errorf("bindClasses = %v, %v; want %q", out, err, test.want)
			}
		})
	}
}

func TestBindClassesErrors(t *testing.T) {
	const f32 = tensor.Float32
	tests := []struct {
		name     string
		outputs  []backend.Port
		override binding
		want     string
	}{
		{"17 classes", []backend.Port{port("p", f32, -1, 17)}, binding{},
			"the model has no output with a class: expected integers [N] or 1000 or 1001 scores; it has p float32[? 17]"},
		{"scores of a type that is not read", []backend.Port{port("p", tensor.Bool, -1, 1000)}, binding{}, "it has p bool[? 1000]"},
		{"two without a shape", []backend.Port{{Name: "p", Type: f32, AnyShape: true}, {Name: "q", Type: f32, AnyShape: true}}, binding{}, "the model has no output with a class"},
		{"boxes", []backend.Port{port("boxes", f32, -1, -1, 4), port("labels", tensor.Int64, -1, -1)}, binding{},
			"it has boxes float32[? ? 4], labels int64[? ?]"},
		{"no such output", []backend.Port{port("p", f32, -1, 1000)}, binding{output: "q"},
			`the model has no output "q" with a class; it has p float32[? 1000]`},
		{"an output that tells no class", []backend.Port{port("p", f32, -1, 1000), port("f", f32, -1, 2048)}, binding{output: "f"},
			`the model has no output "f" with a class; it has p float32[? 1000], f float32[? 2048]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if out, err := bindClasses(test.outputs, test.override); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("bindClasses = %v, %v; want an error with %q", out, err, test.want)
			}
		})
	}
}

// Outputs of detectors as exporters call them, each with its role.
func TestBoxRoles(t *testing.T) {
	for _, c := range []struct {
		exporter string
		names    [3]string // boxes, scores, classes
	}{
		{"TensorFlow's detection API", [3]string{"detection_boxes:0", "detection_scores:0", "detection_classes:0"}},
		{"torchvision", [3]string{"boxes", "scores", "labels"}},
		{"the reference's SSD-ResNet34", [3]string{"bboxes", "scores", "labels"}},
		{"Triton's names of ensembles", [3]string{"BOXES", "SCORES", "CLASSES"}},
	} {
		for _, order := range [][3]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
			ports := make([]backend.Port, 3)
			for at, role := range order {
				ports[at] = backend.Port{Name: c.names[role], Type: []tensor.DType{tensor.Float32, tensor.Float32, tensor.Int64}[role], Shape: []tensor.Shape{{-1, 100, 4}, {-1, 100}, {-1, 100}}[role]}
			}
			for at, role := range order {
				if got := roleOf(ports[at]); got != role {
					t.Errorf("%s: %s has the role %d, want %d", c.exporter, ports[at].Name, got, role)
				}
			}
		}
	}
	for name, want := range map[string]int{"num_detections": 3, "num_boxes": 3, "box_scores": 1, "box_classes": 2, "raw": -1} {
		if got := namedRole(name); got != want {
			t.Errorf("%s has the role %d, want %d", name, got, want)
		}
	}
}

// Of names that are given each has to be there, and there have to be three or four.
func TestNamedBoxOutputs(t *testing.T) {
	ports := []backend.Port{
		{Name: "b", Type: tensor.Float32, Shape: tensor.Shape{-1, 10, 4}}, {Name: "s", Type: tensor.Float32, Shape: tensor.Shape{-1, 10}},
		{Name: "c", Type: tensor.Float32, Shape: tensor.Shape{-1, 10}}, {Name: "n", Type: tensor.Int32, Shape: tensor.Shape{-1}},
	}
	for names, want := range map[string]string{
		"b,s,c": "", "b, s , c,n": "", "b,s": "model-output: 2 outputs, expected those of boxes, scores, classes", "b,s,c,n,n": "model-output: 5 outputs, expected",
		"b,s,x": `model-output: the model has no output "x"; it has b float32`, "n,s,c": "output n has elements of type int32, not supported for the box", "": "model-output: 1 outputs, expected",
	} {
		got, err := namedPorts(ports, strings.Split(names, ","))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", names, err, want)
		} else if err == nil && (got[0].Name != "b" || got[2].Name != "c" || got.counted() != (len(got) == 4)) {
			t.Errorf("%q: %v", names, got.names())
		}
	}
}
