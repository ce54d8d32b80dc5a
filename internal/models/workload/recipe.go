package workload

import "github.com/mlperf-go/mlperf/internal/onnx/arch"

// A Recipe is the BuiltIn of a model whose files are networks with seeded weights, and whose
// data are made for them.
type Recipe struct {
	Parts   []Part // one for each file
	Samples int    // of the data set
	// Reference are options that make the FP32 reference faster with the same answers.
	Reference Values
	// TokenBytes are those of a token in a response, where responses are tokens.
	TokenBytes int
}

// Questions is the BuiltIn of a model that only servers of text can answer: it has data, and no
// files.
type Questions struct {
	Form    string // of the data
	Samples int
	Best    float64 // the score of right answers to all; 0: 100, as of percent
}

// A Part is a file of a built-in model.
type Part struct {
	Role    string
	Network arch.Architecture
	// Full is the network of the real size, if Network is a smaller stand-in; zero: the same.
	Full arch.Architecture

	// Layers and Rows are smaller than the real numbers, if the real file is too large by default; 0: the real ones.
	Layers, Rows int64
	// Usual is the extent of the free axes of a sample's tensors, where all samples have about the same; 0: they do not.
	Usual int64
	// Extents are those of free axes of the official data, by the axis's name, where these say more than Usual.
	Extents map[string]int64
	// Beside says that large tensors are in a file beside the model's, which engines map into memory.
	Beside bool
}

// Tables reports whether the model has tables with a choice of Rows.
func (r Recipe) Tables() bool {
	for _, p := range r.Parts {
		if p.Rows != 0 && p.Beside {
			return true
		}
	}
	return false
}
