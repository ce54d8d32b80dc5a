package onnx

import (
	"errors"
	"fmt"
)

var errNoModel = errors.New("not an ONNX model")

// refusal explains why a file that begins with data is no model: by what it is, if
// that can be told, else by where it stopped making sense.
func refusal(data []byte, err error) error {
	if kind := guessFormat(data); kind != "" {
		return fmt.Errorf("%w: %s", errNoModel, kind)
	}
	return fmt.Errorf("%w: %w", errNoModel, err)
}

// validate refuses what happens to parse, as much garbage does, but lacks what
// every model has.
func (m *Model) validate() error {
	switch {
	case m.IRVersion <= 0:
		return errors.New("it names no version of the format")
	case m.Graph == nil:
		return errors.New("it has no graph")
	case m.IRVersion >= 3 && len(m.Opsets) == 0: // required since IR version 3
		return errors.New("it imports no operator set")
	}
	return nil
}

// maxDepth limits how deeply graphs may contain graphs, so that no file exhausts the
// stack. Protocol buffers' own limit of 100 messages allows 25.
const maxDepth = 32

// in says where in a model an error happened.
func in(what, name string, err error) error {
	if err == nil || errors.Is(err, errUnknownField) {
		return err
	}
	if name == "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s %q: %w", what, name, err)
}

func (m *Model) decode(msg []byte, depth int) error {
	return eachField(msg, &m.Extra, func(f field) error {
		switch f.num {
		case modelIRVersion:
			return f.int(&m.IRVersion)
		case modelProducerName:
			return f.string(&m.Producer)
		case modelProducerVersion:
			return f.string(&m.ProducerVersion)
		case modelDomain:
			return f.string(&m.Domain)
		case modelModelVersion:
			return f.int(&m.Version)
		case modelDocString:
			return f.string(&m.Doc)
		case modelGraph:
			return decodeInto(f, &m.Graph, (*Graph).decode, depth)
		case modelOpsetImport:
			return decodeElement(f, &m.Opsets, (*Opset).decode)
		case modelMetadataProps:
			return decodeElement(f, &m.Metadata, (*Property).decode)
		}
		return errUnknownField
	})
}

// decodeInto reads a message that occurs at most once. If it does come twice the
// second is merged into the first, as protocol buffers ask.
func decodeInto[T any](f field, dst **T, decode func(*T, []byte, int) error, depth int) error {
	return f.message(func(msg []byte) error {
		if *dst == nil {
			*dst = new(T)
		}
		return decode(*dst, msg, depth)
	})
}

// decodeOne reads an element of a repeated message.
func decodeOne[T any](f field, list *[]*T, decode func(*T, []byte, int) error, depth int) error {
	var one *T
	err := decodeInto(f, &one, decode, depth)
	*list = append(*list, one)
	return err
}

// decodeElement is decodeOne for small messages, which are kept by value.
func decodeElement[T any](f field, list *[]T, decode func(*T, []byte) error) error {
	return f.message(func(msg []byte) error {
		*list = append(*list, *new(T))
		return decode(&(*list)[len(*list)-1], msg)
	})
}

func (o *Opset) decode(msg []byte) error {
	return eachField(msg, &o.Extra, func(f field) error {
		switch f.num {
		case opsetDomain:
			return f.string(&o.Domain)
		case opsetVersion:
			return f.int(&o.Version)
		}
		return errUnknownField
	})
}

func (p *Property) decode(msg []byte) error {
	return eachField(msg, &p.Extra, func(f field) error {
		switch f.num {
		case entryKey:
			return f.string(&p.Key)
		case entryValue:
			return f.string(&p.Value)
		}
		return errUnknownField
	})
}

func (g *Graph) decode(msg []byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("graphs within graphs, more than %d deep", maxDepth)
	}
	return eachField(msg, &g.Extra, func(f field) error {
		switch f.num {
		case graphNode:
			return decodeOne(f, &g.Nodes, (*Node).decode, depth)
		case graphName:
			return f.string(&g.Name)
		case graphInitializer:
			return decodeOne(f, &g.Initializers, (*Tensor).decode, depth)
		case graphDocString:
			return f.string(&g.Doc)
		case graphInput:
			return decodeOne(f, &g.Inputs, (*Value).decode, depth)
		case graphOutput:
			return decodeOne(f, &g.Outputs, (*Value).decode, depth)
		case graphValueInfo:
			return decodeOne(f, &g.Values, (*Value).decode, depth)
		case graphSparseInitializer:
			return decodeOne(f, &g.SparseInitializers, (*SparseTensor).decode, depth)
		case graphMetadataProps:
			return decodeElement(f, &g.Metadata, (*Property).decode)
		}
		return errUnknownField
	})
}

func (n *Node) decode(msg []byte, depth int) error {
	err := eachField(msg, &n.Extra, func(f field) error {
		switch f.num {
		case nodeInput:
			return f.strings(&n.Inputs)
		case nodeOutput:
			return f.strings(&n.Outputs)
		case nodeName:
			return f.string(&n.Name)
		case nodeOpType:
			return f.string(&n.Op)
		case nodeAttribute:
			return decodeElement(f, &n.Attributes, func(a *Attribute, msg []byte) error {
				return a.decode(msg, depth)
			})
		case nodeDocString:
			return f.string(&n.Doc)
		case nodeDomain:
			return f.string(&n.Domain)
		case nodeOverload:
			return f.string(&n.Overload)
		case nodeMetadataProps:
			return decodeElement(f, &n.Metadata, (*Property).decode)
		}
		return errUnknownField
	})
	return in("node", n.Name, err)
}
