package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Head is what a model file says of itself, without its nodes and weights.
type Head struct {
	Opsets   []Opset
	Producer string
	Inputs   []*Value // that a caller has to feed
	Outputs  []*Value
	Metadata []Property
}

// ErrORTFormat says that a model is in ONNX Runtime's own format, which this package does not read.
var ErrORTFormat = errors.New("a model in ORT format")

// ReadHead reads the head of a model file. It steps over nodes and weights, so that it takes a
// moment whatever the size of the file.
func ReadHead(path string) (*Head, error) {
	var h *Head
	err := openModel(path, func(r *fileReader) (err error) {
		h, err = r.head()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
	}
	return h, nil
}

func (r *fileReader) head() (*Head, error) {
	if r.isORT() {
		return nil, ErrORTFormat
	}
	var m Model
	var g *Graph
	var rest []byte
	err := r.eachField(span{0, r.size}, func(f place) error {
		switch {
		case f.isMessage(modelGraph):
			g = cmp.Or(g, &Graph{})
			return r.graphHead(f.content, g)
		case slices.Contains(headFields, f.num):
			return r.appendTo(&rest, f.whole)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := m.decode(rest, 0); err != nil {
		return nil, err
	}
	if m.Graph = g; m.validate() != nil {
		return nil, m.validate()
	}
	return &Head{Opsets: m.Opsets, Producer: m.Producer, Inputs: g.FreeInputs(), Outputs: g.Outputs, Metadata: m.Metadata}, nil
}

func (r *fileReader) isORT() bool {
	magic, err := r.peek(0, min(8, r.size))
	return err == nil && strings.HasSuffix(string(magic), "ORTM")
}

// headFields are the fields of a model that ReadHead decodes. A graph is among them if it is none.
var headFields = []protowire.Number{modelIRVersion, modelProducerName, modelOpsetImport, modelMetadataProps, modelGraph}

// graphHead reads the inputs and outputs of a graph, and the names of its initializers.
func (r *fileReader) graphHead(msg span, g *Graph) error {
	var ports []byte
	err := r.eachField(msg, func(f place) error {
		switch f.num {
		case graphInput, graphOutput:
			return r.appendTo(&ports, f.whole)
		case graphInitializer:
			name, err := r.tensorName(f.content)
			g.Initializers = append(g.Initializers, &Tensor{Name: name})
			return err
		case graphSparseInitializer:
			name, err := r.sparseName(f.content)
			g.SparseInitializers = append(g.SparseInitializers, &SparseTensor{Values: &Tensor{Name: name}})
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return g.decode(ports, 0)
}

func (r *fileReader) tensorName(msg span) (name string, err error) {
	err = r.eachField(msg, func(f place) error {
		if f.num != tensorName {
			return nil
		}
		text, err := r.peek(f.content.begin, f.content.len())
		name = string(text)
		return err
	})
	return name, err
}

func (r *fileReader) sparseName(msg span) (name string, err error) {
	err = r.eachField(msg, func(f place) (err error) {
		if f.num == sparseValues {
			name, err = r.tensorName(f.content)
		}
		return err
	})
	return name, err
}

// Opset describes the operator sets, as "opset 17, com.microsoft 1".
func (h *Head) Opset() string {
	var parts []string
	for _, o := range h.Opsets {
		domain := canonicalDomain(o.Domain)
		if domain == "" {
			domain = "opset"
		}
		parts = append(parts, fmt.Sprintf("%s %d", domain, o.Version))
	}
	slices.SortFunc(parts, func(a, b string) int { // opset first
		if first := strings.HasPrefix(a, "opset "); first != strings.HasPrefix(b, "opset ") {
			if first {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return strings.Join(parts, ", ")
}

// Kind says what a value is: tensor, sequence, map, sparse tensor, optional or opaque; empty if
// the type is missing.
func (t Type) Kind() string {
	if t.Elem != Undefined || t.Shape != nil || t.TensorExtra != "" {
		return "tensor"
	}
	for rest := []byte(t.Extra); len(rest) > 0; {
		f, err := nextField(rest)
		if err != nil {
			return ""
		}
		if kind, ok := kinds[f.num]; ok {
			return kind
		}
		rest = rest[len(f.raw):]
	}
	return ""
}

// kinds are the kinds of a TypeProto that are no tensors, by the number of the field.
var kinds = map[protowire.Number]string{4: "sequence", 5: "map", 7: "opaque", 8: "sparse tensor", 9: "optional"}
