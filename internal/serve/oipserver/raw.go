package oipserver

import (
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// rawDocument is the head of a request that is nothing but the only input of the model, of one
// sample, or the file of that.
func rawDocument(m Model, size int64) (*protocol.Document, error) {
	about := m.Metadata()
	if len(about.Inputs) != 1 {
		return nil, protocol.Errorf(protocol.InvalidArgument, "the model has %d inputs, a raw request is for models of one", len(about.Inputs))
	}
	port := about.Inputs[0]
	dtype, err := protocol.ParseDatatype(port.Datatype)
	if err != nil {
		return nil, err
	}
	shape := sampleShape(port, dtype)
	want := shape.Len() * int64(dtype.Size()) // negative where an extent is free, as no request is
	if dtype == tensor.String || want == size {
		return rawOf(about, dtype, shape, size), nil
	}
	if f, ok := m.(FileModel); ok && f.TakesFiles() {
		return rawOf(about, tensor.String, tensor.Shape{1}, size), nil
	}
	return nil, protocol.Errorf(protocol.InvalidArgument, "the request has %d bytes, one sample of %s%v has %d", size, port.Datatype, shape, max(want, 0))
}

// sampleShape is the shape of an input of one sample: of a single string, or the extents of the port.
func sampleShape(port protocol.Port, dtype tensor.DType) (shape tensor.Shape) {
	for i, d := range port.Shape {
		if i == 0 || dtype == tensor.String {
			d = 1
		}
		shape = append(shape, d)
	}
	return shape
}

// rawOf is the head of a request that is the only input of a model.
func rawOf(about *protocol.ModelMetadata, t tensor.DType, shape tensor.Shape, size int64) *protocol.Document {
	return protocol.RawDocument(protocol.Head{Model: about.Name, Version: version(about), Tensors: []protocol.Spec{{Name: about.Inputs[0].Name, Type: t, Shape: shape, Size: size}}})
}
