package oip

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// The field numbers of ModelInferRequest and ModelInferResponse; those of the first four are
// the same in both.
const (
	fieldModel, fieldVersion, fieldID = 1, 2, 3

	fieldInputs, fieldWanted, fieldRawInputs = 5, 6, 7
	fieldOutputs, fieldRawOutputs            = 5, 6
)

// The field numbers of tensors in requests and answers.
const (
	fieldName, fieldDatatype, fieldShape = 1, 2, 3
	fieldParameters, fieldContents       = 4, 5
)

// A Sending is a request or an answer that is written for gRPC. The elements of its tensors are
// read from their own memory while it is sent.
type Sending struct {
	Head    *Head
	Tensors []tensor.Tensor
	Answer  bool // an answer; else a request

	// Buffer makes a buffer over the elements of a tensor; nil: one that does not tell
	// when it is no longer used.
	Buffer func(data []byte) mem.Buffer
	// Stream wraps an answer for ModelStreamInfer, or with Failed says what went wrong.
	Stream bool
	Failed string
}

// marshal implements marshaler.
func (m *Sending) marshal() (mem.BufferSlice, error) {
	if m.Failed != "" {
		return mem.BufferSlice{mem.SliceBuffer(appendText(nil, 1, m.Failed))}, nil
	}
	raw := protowire.Number(fieldRawInputs)
	if m.Answer {
		raw = fieldRawOutputs
	}
	list := mem.BufferSlice{nil} // for the head
	head := m.appendHead(make([]byte, 0, 256))
	for i, t := range m.Tensors {
		data := t.Bytes()
		if t.Type == tensor.String {
			data = AppendBytes(make([]byte, 0, BytesSize(t.Strings())), t.Strings())
		}
		tag := protowire.AppendVarint(protowire.AppendTag(nil, raw, protowire.BytesType), uint64(len(data)))
		if i == 0 {
			head = append(head, tag...)
		} else {
			list = append(list, mem.SliceBuffer(tag))
		}
		list = append(list, m.buffer(data, t.Type == tensor.String))
	}
	if m.Stream {
		n := len(head)
		for _, b := range list[1:] {
			n += b.Len()
		}
		head = append(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), uint64(n)), head...)
	}
	list[0] = mem.SliceBuffer(head)
	return list, nil
}

func (m *Sending) buffer(data []byte, own bool) mem.Buffer {
	if own || m.Buffer == nil {
		return mem.SliceBuffer(data)
	}
	return m.Buffer(data)
}

func (m *Sending) appendHead(dst []byte) []byte {
	h := m.Head
	dst = appendText(dst, fieldModel, h.Model)
	dst = appendText(dst, fieldVersion, h.Version)
	dst = appendText(dst, fieldID, h.ID)
	for _, s := range h.Tensors {
		t := appendText(make([]byte, 0, 64), fieldName, s.Name)
		t = appendText(t, fieldDatatype, Datatype(s.Type))
		t = appendShape(t, fieldShape, s.Shape)
		dst = protowire.AppendBytes(protowire.AppendTag(dst, fieldInputs, protowire.BytesType), t)
	}
	for _, name := range h.Wanted {
		dst = protowire.AppendBytes(protowire.AppendTag(dst, fieldWanted, protowire.BytesType), appendText(nil, 1, name))
	}
	return dst
}

// appendText appends a field of text, unless it is empty.
func appendText(dst []byte, number protowire.Number, text string) []byte {
	if text == "" {
		return dst
	}
	return protowire.AppendString(protowire.AppendTag(dst, number, protowire.BytesType), text)
}

// appendNumber appends a field that is a number, unless it is 0.
func appendNumber(dst []byte, number protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.VarintType), v)
}

func appendShape(dst []byte, number protowire.Number, shape []int64) []byte {
	if len(shape) == 0 {
		return dst
	}
	n := 0
	for _, d := range shape {
		n += protowire.SizeVarint(uint64(d))
	}
	dst = protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.BytesType), uint64(n))
	for _, d := range shape {
		dst = protowire.AppendVarint(dst, uint64(d))
	}
	return dst
}
