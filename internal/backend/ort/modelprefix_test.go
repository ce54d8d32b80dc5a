package ort

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// named reports whether an error says that a file is no model, and which one.
func named(err error) bool {
	var model *modelError
	return errors.Is(err, format.ErrORTFormat) || errors.As(err, &model) && strings.HasPrefix(err.Error(), "model "+model.Path+": ") && model.Reason != ""
}

// A file that was cut off while it was copied has the head of the whole, or is no model: never other ports.
func TestAModelThatWasCutOffHasTheHeadOfTheWholeOrNone(t *testing.T) {
	g := doubled("N")
	g.weights = []message{weight("w", make([]float32, 20), 20)}
	whole := g.encode()
	want, err := headOf(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		head, err := headOf(t, whole[:n])
		switch {
		case err != nil && !named(err):
			t.Errorf("the first %d of %d bytes: %v", n, len(whole), err)
		case err == nil && fmt.Sprint(head.inputs, head.outputs) != fmt.Sprint(want.inputs, want.outputs):
			t.Errorf("the first %d of %d bytes have the ports %v and %v", n, len(whole), head.inputs, head.outputs)
		}
	}
}

func TestADamagedHeadIsAHeadOrAnErrorThatNamesTheFile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	whole := doubled("N").encode()
	for range 400 {
		damaged := slices.Clone(whole)
		for range 1 + random.IntN(4) {
			damaged[random.IntN(len(damaged))] ^= byte(1 << random.IntN(8))
		}
		head, err := headOf(t, damaged)
		if err != nil {
			if !named(err) {
				t.Fatalf("%x: %v", damaged, err)
			}
			continue
		}
		if _, _, err := head.choose(nil); err == nil && len(head.outputs) == 0 {
			t.Fatalf("%x: a model without outputs", damaged)
		}
	}
}

func TestOutputsAreChosenByTheirNamesOnceEach(t *testing.T) {
	g := onnxGraph{
		inputs:  []message{onnxPort("x", tensor.Float32, "N")},
		outputs: []message{onnxPort("a", tensor.Float32, "N"), onnxPort("b", tensor.Int64, "N"), onnxPort("c", tensor.Bool, "N")},
	}
	head, err := headOf(t, g.encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names []string
		want  string // of the outputs, or of the error
	}{
		{nil, "a, b, c"}, {[]string{"b"}, "b"}, {[]string{"c", "a"}, "c, a"}, {[]string{"a", "b", "c"}, "a, b, c"},
		{[]string{"d"}, `no output "d"; it has a, b, c`}, {[]string{"a", "A"}, `no output "A"; it has a, b, c`}, {[]string{""}, `no output ""; it has a, b, c`},
		{[]string{"a", "a"}, `the output "a" is asked for twice`}, {[]string{"c", "b", "c"}, `the output "c" is asked for twice`},
	} {
		_, out, err := head.choose(c.names)
		got := portNames(out)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("of %q: %s, want %s", c.names, got, c.want)
		}
	}
}
