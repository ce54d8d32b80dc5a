package onnx

import (
	"bufio"
	"fmt"
	"io"
	"math"
)

// maxFileSize is what protocol buffers, and so ONNX Runtime, accept in one file.
const maxFileSize = math.MaxInt32

// WriteTo writes the model as the content of an ONNX file: fields in the order of
// their numbers, elements of tensors always as raw bytes. Equal models give
// equal bytes. The weights pass through a small buffer on the way from their
// sources. It fails before the first byte if the file would exceed the 2 GiB that
// ONNX allows.
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	msg, err := encodeModel(m)
	if err != nil {
		return 0, err
	}
	out := &countingWriter{w: w}
	buffered := bufio.NewWriterSize(out, 64<<10)
	if err := msg.writeTo(buffered); err != nil {
		return out.n, fmt.Errorf("writing ONNX model: %w", err)
	}
	if err := buffered.Flush(); err != nil {
		return out.n, fmt.Errorf("writing ONNX model: %w", err)
	}
	return out.n, nil
}

// EncodedSize returns the size of the file that WriteTo makes, without making any
// weights.
func (m *Model) EncodedSize() (int64, error) {
	msg, err := encodeModel(m)
	if err != nil {
		return 0, err
	}
	return msg.size(), nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func encodeModel(m *Model) (*message, error) {
	var out message
	out.optionalInt(modelIRVersion, m.IRVersion)
	out.optionalString(modelProducerName, m.Producer)
	out.optionalString(modelProducerVersion, m.ProducerVersion)
	out.optionalString(modelDomain, m.Domain)
	out.optionalInt(modelModelVersion, m.Version)
	out.optionalString(modelDocString, m.Doc)
	if m.Graph != nil {
		out.message(modelGraph, m.Graph.encode)
	}
	for i := range m.Opsets {
		out.message(modelOpsetImport, m.Opsets[i].encode)
	}
	out.properties(modelMetadataProps, m.Metadata)
	out.extra(m.Extra)
	if out.err != nil {
		return nil, fmt.Errorf("encoding ONNX model: %w", out.err)
	}
	if out.size() > maxFileSize {
		return nil, fmt.Errorf("encoding ONNX model: %d bytes exceed the 2 GiB that one file may have", out.size())
	}
	return &out, nil
}

func (o *Opset) encode(out *message) {
	out.string(opsetDomain, o.Domain)
	out.int(opsetVersion, o.Version)
	out.extra(o.Extra)
}

func (p *Property) encode(out *message) {
	out.string(entryKey, p.Key)
	out.string(entryValue, p.Value)
	out.extra(p.Extra)
}

func (g *Graph) encode(out *message) {
	for _, n := range g.Nodes {
		out.message(graphNode, n.encode)
	}
	out.optionalString(graphName, g.Name)
	for _, t := range g.Initializers {
		out.message(graphInitializer, t.encode)
	}
	out.optionalString(graphDocString, g.Doc)
	for _, v := range g.Inputs {
		out.message(graphInput, v.encode)
	}
	for _, v := range g.Outputs {
		out.message(graphOutput, v.encode)
	}
	for _, v := range g.Values {
		out.message(graphValueInfo, v.encode)
	}
	for _, t := range g.SparseInitializers {
		out.message(graphSparseInitializer, t.encode)
	}
	out.properties(graphMetadataProps, g.Metadata)
	out.extra(g.Extra)
}

func (n *Node) encode(out *message) {
	out.strings(nodeInput, n.Inputs)
	out.strings(nodeOutput, n.Outputs)
	out.optionalString(nodeName, n.Name)
	out.optionalString(nodeOpType, n.Op)
	for i := range n.Attributes {
		out.message(nodeAttribute, n.Attributes[i].encode)
	}
	out.optionalString(nodeDocString, n.Doc)
	out.optionalString(nodeDomain, n.Domain)
	out.optionalString(nodeOverload, n.Overload)
	out.properties(nodeMetadataProps, n.Metadata)
	out.extra(n.Extra)
}

func (t *Tensor) encode(out *message) {
	out.ints(tensorDims, t.Dims)
	out.optionalInt(tensorDataType, int64(t.Type))
	out.strings(tensorStringData, t.Strings)
	out.optionalString(tensorName, t.Name)
	if t.Data != nil {
		out.data(tensorRawData, t)
	}
	out.optionalString(tensorDocString, t.Doc)
	if t.External != nil {
		out.properties(tensorExternalData, t.External)
		out.int(tensorDataLocation, locationExternal)
	}
	out.properties(tensorMetadataProps, t.Metadata)
	out.extra(t.Extra)
}

func (t *SparseTensor) encode(out *message) {
	if t.Values != nil {
		out.message(sparseValues, t.Values.encode)
	}
	if t.Indices != nil {
		out.message(sparseIndices, t.Indices.encode)
	}
	out.ints(sparseDims, t.Dims)
	out.extra(t.Extra)
}

func (v *Value) encode(out *message) {
	out.optionalString(valueName, v.Name)
	var typ message
	v.Type.encode(&typ)
	if typ.size() > 0 {
		out.message(valueType, v.Type.encode)
	}
	out.optionalString(valueDocString, v.Doc)
	out.properties(valueMetadataProps, v.Metadata)
	out.extra(v.Extra)
}

func (t *Type) encode(out *message) {
	if t.Elem != Undefined || t.Shape != nil || t.TensorExtra != "" {
		out.message(typeTensorType, func(out *message) {
			out.optionalInt(tensorTypeElemType, int64(t.Elem))
			if t.Shape != nil {
				out.message(tensorTypeShape, t.encodeShape)
			}
			out.extra(t.TensorExtra)
		})
	}
	out.optionalString(typeDenotation, t.Denotation)
	out.extra(t.Extra)
}

func (t *Type) encodeShape(out *message) {
	for i := range t.Shape {
		out.message(shapeDim, t.Shape[i].encode)
	}
	out.extra(t.ShapeExtra)
}

func (d *Dim) encode(out *message) {
	switch {
	case d.Param != "":
		out.string(dimParam, d.Param)
	case d.Size != -1:
		out.int(dimValue, d.Size)
	}
	out.optionalString(dimDenotation, d.Denotation)
	out.extra(d.Extra)
}
