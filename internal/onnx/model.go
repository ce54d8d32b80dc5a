package onnx

// A Model is one ONNX file: a graph and what is needed to read it.
type Model struct {
	IRVersion int64   // version of the file format
	Opsets    []Opset // which version of each operator set the nodes mean

	Producer        string // the program that wrote the file
	ProducerVersion string
	Domain          string // reverse DNS name space of the model
	Version         int64
	Doc             string
	Graph           *Graph
	Metadata        []Property

	Extra Extra // local functions, training information, device configurations
}

// An Opset names one version of the operators of one domain. The empty domain is
// ONNX's own.
type Opset struct {
	Domain  string
	Version int64
	Extra   Extra
}

// A Property is one free-form entry of metadata.
type Property struct {
	Key, Value string
	Extra      Extra
}

// Extra holds the fields of a message that this package has no name for, in the
// encoding in which they were found. They are written back after the known ones,
// so a file of a newer ONNX version loses nothing by being rewritten.
type Extra string

// Opset returns the version of the operator set that the model imports for a
// domain, 0 if it imports none. "ai.onnx" is another name of the empty domain.
func (m *Model) Opset(domain string) int64 {
	for _, o := range m.Opsets {
		if canonicalDomain(o.Domain) == canonicalDomain(domain) {
			return o.Version
		}
	}
	return 0
}

func canonicalDomain(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}

// A Graph is a list of nodes, each before those that read its outputs, with the
// constants they use. Values are known by name: a name is defined once, by an
// input, an initializer or a node, and read any number of times.
type Graph struct {
	Name string
	Doc  string

	Nodes              []*Node
	Initializers       []*Tensor
	SparseInitializers []*SparseTensor
	Inputs             []*Value // up to IR version 3 they include the initializers
	Outputs            []*Value
	Values             []*Value // what is known of the types of other values
	Metadata           []Property

	Extra Extra // quantisation annotations
}

// A Node applies an operator. An empty name among the inputs or outputs stands for
// an optional one that is left out.
type Node struct {
	Name       string // for messages only; may be empty
	Op         string // for instance "Conv"
	Domain     string // of the operator; empty for ONNX's own
	Overload   string // which overload, if Op is one of the model's functions
	Inputs     []string
	Outputs    []string
	Attributes []Attribute
	Doc        string
	Metadata   []Property

	Extra Extra // device configurations
}

// FreeInputs returns the inputs that a caller has to feed: those that no
// initializer gives a value.
func (g *Graph) FreeInputs() []*Value {
	constant := make(map[string]bool, len(g.Initializers)+len(g.SparseInitializers))
	for _, t := range g.Initializers {
		constant[t.Name] = true
	}
	for _, t := range g.SparseInitializers {
		constant[t.Values.Name] = true
	}
	var free []*Value
	for _, v := range g.Inputs {
		if !constant[v.Name] {
			free = append(free, v)
		}
	}
	return free
}
