package arch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// formatVersion is part of every Key. It has to be raised with any change that makes
// another file of the same architecture, options and seed.
const formatVersion = 1

// An Architecture is a network that this package can write: the layers of a published
// model, with weights that are drawn at random from a seed instead of trained. Names,
// shapes and types of inputs and outputs are those of the official ONNX file, or where
// there is none of the TFLite file, so programs cannot tell the two apart, and take as
// long with either. What it says about an image means nothing.
type Architecture struct {
	Name     string // as in the catalogue
	Title    string
	Official string // where the official file is

	Inputs  []onnx.Value // of the official model
	Outputs []onnx.Value

	// The last layer turns Features, of FeatureSize numbers for each sample, into
	// Classes scores. Both numbers are 0 if there is no such layer.
	Features    string // name of the value
	FeatureSize int64
	Classes     int64

	Layers int64 // of which Options may ask for fewer; 0: they are what they are

	Rows int64 // of the tables of pieces, of which Options may ask for fewer; 0: there are none

	Seed uint64 // of the weights, unless Options has another

	// Metadata is what the file says of itself beside its architecture; nil: nothing.
	Metadata func(Options) []onnx.Property

	layers func(*Builder, Options)
}

// Options chooses between variants of an architecture. The zero Options mean the
// official one with seeded weights.
type Options struct {
	Seed    uint64 // 0: the architecture's own
	Classes int64  // 0: as many as the official model, or as Classifier has
	Layers  int64  // 0: as many as the official model
	Rows    int64  // likewise

	// Outputs names the values to give out instead of the official outputs; what they
	// do not need is left out. Architecture.Features and the output of any
	// layer, "stage1/block1/add:0", will do.
	Outputs []string

	// Classifier holds the weights of the last layer, instead of seeded ones.
	Classifier *Classifier

	// Weights, if given, returns those of each tensor of weights, instead of seeded ones, by
	// its name and extents. Rows is then as many as they have. Key does not know them.
	Weights func(name string, dims []int64) (onnx.Source, error)
}

// A Classifier is the last layer of a network that classifies:
// score[c] = Σ Weights[c·FeatureSize+i]·feature[i] + Bias[c].
type Classifier struct {
	Weights []float32 // [classes, features], one row for each class
	Bias    []float32 // [classes]
}

// Build returns the model and its counts. The weights are not made until the model is
// written.
func (a Architecture) Build(o Options) (*onnx.Model, Stats, error) {
	o, err := a.resolve(o)
	if err != nil {
		return nil, Stats{}, err
	}
	b := NewBuilder(a.Name, o.Seed)
	b.given = o.Weights
	a.layers(b, o)
	m, stats, err := b.Model(o.Outputs...)
	if err != nil {
		return nil, Stats{}, err
	}
	m.Doc = a.Title + " with weights drawn at random. It is as fast as the trained model and knows nothing."
	m.Metadata = []onnx.Property{
		{Key: "architecture", Value: a.Name},
		{Key: weightsKey, Value: fmt.Sprintf("%s%d", drawnWeights, o.Seed)},
	}
	if o.Weights != nil {
		m.Doc, m.Metadata[1].Value = a.Title+" with weights of a checkpoint.", "given"
	}
	if a.Metadata != nil {
		m.Metadata = append(m.Metadata, a.Metadata(o)...)
	}
	return m, stats, nil
}

// What a model says of its weights, as a property.
const weightsKey, drawnWeights = "weights", "random, seed "

// Untrained reports whether the properties of a model say that its weights were drawn at random.
func Untrained(properties []onnx.Property) bool {
	return slices.ContainsFunc(properties, func(p onnx.Property) bool {
		return p.Key == weightsKey && strings.HasPrefix(p.Value, drawnWeights)
	})
}

// resolve puts the architecture's own values in the place of zeros.
func (a Architecture) resolve(o Options) (Options, error) {
	if o.Classifier != nil {
		o.Classes = cmp.Or(o.Classes, int64(len(o.Classifier.Bias)))
	}
	o.Seed, o.Classes = cmp.Or(o.Seed, a.Seed), cmp.Or(o.Classes, a.Classes)
	o.Layers, o.Rows = cmp.Or(o.Layers, a.Layers), cmp.Or(o.Rows, a.Rows)
	switch {
	case o.Rows < 0 || o.Rows > a.Rows && o.Weights == nil:
		return o, fmt.Errorf("building %s: %d rows, it has %d", a.Name, o.Rows, a.Rows)
	case o.Layers < 0 || o.Layers > a.Layers:
		return o, fmt.Errorf("building %s: %d layers, it has %d", a.Name, o.Layers, a.Layers)
	case a.FeatureSize == 0 && (o.Classes != 0 || o.Classifier != nil):
		return o, fmt.Errorf("building %s: it has no classes to choose", a.Name)
	case o.Classes < 0:
		return o, fmt.Errorf("building %s: %d classes", a.Name, o.Classes)
	}
	if c := o.Classifier; c != nil && (int64(len(c.Bias)) != o.Classes || int64(len(c.Weights)) != o.Classes*a.FeatureSize) {
		return o, fmt.Errorf("building %s: the classifier has %d weights and %d biases, expected %d×%d and %d",
			a.Name, len(c.Weights), len(c.Bias), o.Classes, a.FeatureSize, o.Classes)
	}
	return o, nil
}

// classifierFillers returns the weights and biases of the last layer.
func (o Options) classifierFillers() (weights, bias Filler) {
	if o.Classifier == nil {
		return He{}, Constant(0)
	}
	return Given(o.Classifier.Weights), Given(o.Classifier.Bias)
}

// Key returns a name for the model that Build makes of these options, fit for a file
// name: the architecture's and a hash of everything on which the content
// depends. Equal keys mean equal files, byte by byte. It fails where Build would
// refuse the options.
func (a Architecture) Key(o Options) (string, error) {
	o, err := a.resolve(o)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "networks %d\narchitecture %q\nseed %d\nclasses %d\noutputs %q\n",
		formatVersion, a.Name, o.Seed, o.Classes, o.Outputs)
	if o.Layers != a.Layers {
		fmt.Fprintf(h, "layers %d\n", o.Layers)
	}
	if o.Rows != a.Rows {
		fmt.Fprintf(h, "rows %d\n", o.Rows)
	}
	if o.Classifier != nil {
		hashFloats(h, "weights", o.Classifier.Weights)
		hashFloats(h, "bias", o.Classifier.Bias)
	}
	return a.Name + "-" + hex.EncodeToString(h.Sum(nil)[:10]), nil
}

func hashFloats(h hash.Hash, what string, floats []float32) {
	fmt.Fprintf(h, "%s %d\n", what, len(floats))
	_, _ = given(floats).WriteTo(h) // a hash accepts everything
}
