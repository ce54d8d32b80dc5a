package workload

// A Recipe is the BuiltIn of a model whose files are networks with seeded weights, and whose
// data are made for them.
type Recipe struct {
	Parts   []Part // one for each file
	Samples int    // of the data set
	// Reference are options with which the FP32 reference gives the same answers sooner.
	Reference Values
	// TokenBytes are those of a token in a response, where responses are tokens.
	TokenBytes int
}

// Questions is the BuiltIn of a model that only servers of text can answer: it has data, and no
// files.
type Questions struct {
	Form    string // of the data
	Samples int
}

// A Part is a file of a built-in model.
type Part struct {
	Role         string
	Architecture string // of package arch
	// Full is the architecture of the real file, where that of Architecture stands in for it
	// until it is asked for; empty: it is the same.
	Full string

	// Layers and Rows are fewer than the real ones, where the real file is too large to be
	// made without being asked for; 0: they are the real ones.
	Layers, Rows int64
	// Beside is whether large tensors lie in a file of their own beside the model's, which engines map
	// into memory instead of reading it.
	Beside bool
}

// Tables reports whether the model has tables of which Rows can be chosen.
func (r Recipe) Tables() bool {
	for _, p := range r.Parts {
		if p.Rows != 0 && p.Beside {
			return true
		}
	}
	return false
}
