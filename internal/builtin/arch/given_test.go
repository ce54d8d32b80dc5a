package arch

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// zeroes is a source of so many bytes, of which none is wanted here.
type zeroes int64

func (z zeroes) Size() int64 { return int64(z) }

func (z zeroes) WriteTo(io.Writer) (int64, error) { return 0, errors.New("nobody should read this") }

// smallest is the smallest variant of an architecture.
func smallest(a Architecture) Options {
	return Options{Layers: min(a.Layers, 1), Rows: min(a.Rows, 64)}
}

// A checkpoint may lack any of the weights. Whichever it is, building ends with an error that names it.
func TestWeightsThatAreMissingEndTheBuilding(t *testing.T) {
	for _, a := range architectures() {
		t.Run(a.Name, func(t *testing.T) {
			var names []string
			o := smallest(a)
			o.Weights = func(name string, dims []int64) (onnx.Source, error) {
				names = append(names, name)
				return zeroes(4 * product(dims)), nil
			}
			_, _, err := a.Build(o)
			if err != nil {
				if !strings.Contains(err.Error(), "weights of a checkpoint") {
					t.Errorf("Build() = %v", err)
				}
				return
			}
			missing := errors.New("the checkpoint lacks it")
			n := len(names)
			for _, k := range []int{0, n / 4, n / 2, n - 1} {
				at := names[k]
				o.Weights = func(name string, dims []int64) (onnx.Source, error) {
					if name == at {
						return nil, missing
					}
					return zeroes(4 * product(dims)), nil
				}
				want := fmt.Sprintf("building %s: weights %q: ", a.Name, at)
				if _, _, err := a.Build(o); !errors.Is(err, missing) || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("Build() = %v, want %s…", err, want)
				}
			}
		})
	}
}

func TestGivenWeightsHaveToBeOfTheRightSize(t *testing.T) {
	a := lookup(t, "gnmt-encoder")
	o := smallest(a)
	o.Weights = func(name string, dims []int64) (onnx.Source, error) { return zeroes(4*product(dims) - 4), nil }
	if _, _, err := a.Build(o); err == nil || !strings.HasPrefix(err.Error(), "building gnmt-encoder: tensor ") || !strings.Contains(err.Error(), " bytes, want ") {
		t.Errorf("Build() = %v, want an error about the size of a tensor", err)
	}
}

func TestAModelSaysWhoseWeightsItHas(t *testing.T) {
	a := lookup(t, "gnmt-encoder")
	o := smallest(a)
	random, _ := build(t, a, o)
	o.Weights = func(name string, dims []int64) (onnx.Source, error) { return zeroes(4 * product(dims)), nil }
	given, _ := build(t, a, o)
	for _, c := range []struct {
		m         *onnx.Model
		doc, says string
	}{{random, "knows nothing", fmt.Sprintf("random, seed %d", a.Seed)}, {given, "with weights of a checkpoint", "given"}} {
		if !strings.Contains(c.m.Doc, c.doc) || !slices.ContainsFunc(c.m.Metadata, func(p onnx.Property) bool { return p.Key == "weights" && p.Value == c.says }) {
			t.Errorf("the model says %q and %v, want %q and %q", c.m.Doc, c.m.Metadata, c.doc, c.says)
		}
	}
}

func TestVariantsAreSmallerThanTheOfficialModel(t *testing.T) {
	for _, a := range architectures() {
		whole, err := a.resolve(Options{})
		if err != nil || whole.Layers != a.Layers || whole.Rows != a.Rows || whole.Seed != a.Seed || whole.Classes != a.Classes {
			t.Errorf("%s: the zero options mean %+v, %v", a.Name, whole, err)
		}
		for _, c := range []struct {
			o    Options
			want string
		}{
			{Options{Layers: a.Layers + 1}, fmt.Sprintf("building %s: %d layers, it has %d", a.Name, a.Layers+1, a.Layers)},
			{Options{Layers: -1}, fmt.Sprintf("building %s: -1 layers, it has %d", a.Name, a.Layers)},
			{Options{Rows: a.Rows + 1}, fmt.Sprintf("building %s: %d rows, it has %d", a.Name, a.Rows+1, a.Rows)},
			{Options{Rows: -1}, fmt.Sprintf("building %s: -1 rows, it has %d", a.Name, a.Rows)},
		} {
			if _, _, err := a.Build(c.o); err == nil || err.Error() != c.want {
				t.Errorf("Build(%+v) = %v, want %s", c.o, err, c.want)
			}
			if _, err := a.Key(c.o); err == nil || err.Error() != c.want {
				t.Errorf("Key(%+v) = %v, want %s", c.o, err, c.want)
			}
		}
		if a.Layers > 1 {
			fewer, stats := build(t, a, Options{Layers: 1, Rows: min(a.Rows, 64)})
			_, all := build(t, a, Options{Rows: min(a.Rows, 64)})
			if stats.Parameters >= all.Parameters || stats.MACs > all.MACs {
				t.Errorf("%s with one layer has %+v, whole %+v", a.Name, stats, all)
			}
			if err := fewer.Check(); err != nil {
				t.Errorf("%s with one layer: %v", a.Name, err)
			}
		}
	}
}

func TestKeysKnowLayersAndRows(t *testing.T) {
	a := lookup(t, "gnmt-encoder")
	seen := map[string]Options{}
	for _, o := range []Options{{}, {Rows: 64}, {Rows: 65}} {
		key, err := a.Key(o)
		if other, twice := seen[key]; err != nil || twice {
			t.Errorf("Key(%+v) = %s, %v, as of %+v", o, key, err, other)
		}
		seen[key] = o
	}
	layered := lookup(t, "bert")
	whole, err := layered.Key(Options{Layers: layered.Layers})
	zero, errZero := layered.Key(Options{})
	one, errOne := layered.Key(Options{Layers: 1})
	if err != nil || errZero != nil || errOne != nil || whole != zero || one == zero {
		t.Errorf("keys of all layers %s and %s, of one %s, %v", whole, zero, one, errors.Join(err, errZero, errOne))
	}
}
