package arch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

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
