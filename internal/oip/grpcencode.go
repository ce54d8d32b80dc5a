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
	fieldRequestParameters            = 4

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

// Size is how many bytes the elements of the tensors take that are sent.
func (m *Sending) Size() (n int64) {
	for i, t := range m.Tensors {
		if m.Head.Tensors[i].Window.Region == "" {
			n += int64(wireSize(t))
		}
	}
	return n
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
		if m.Head.Tensors[i].Window.Region != "" {
			continue
		}
		data := m.buffer(t)
		tag := protowire.AppendVarint(protowire.AppendTag(nil, raw, protowire.BytesType), uint64(data.Len()))
		if len(list) == 1 {
			head = append(head, tag...)
		} else {
			list = append(list, mem.SliceBuffer(tag))
		}
		list = append(list, data)
	}
	if m.Stream {
		n := len(head) + list[1:].Len()
		head = append(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), uint64(n)), head...)
	}
	list[0] = mem.SliceBuffer(head)
	return list, nil
}

// buffer has the elements of a tensor: where they lie, or written anew.
func (m *Sending) buffer(t tensor.Tensor) mem.Buffer {
	if t.Type == tensor.String {
		return mem.SliceBuffer(AppendBytes(make([]byte, 0, BytesSize(t.Strings())), t.Strings()))
	}
	if m.Buffer == nil {
		return mem.SliceBuffer(t.Bytes())
	}
	return m.Buffer(t.Bytes())
}

func (m *Sending) appendHead(dst []byte) []byte {
	h := m.Head
	dst = appendText(dst, fieldModel, h.Model)
	dst = appendText(dst, fieldVersion, h.Version)
	dst = appendText(dst, fieldID, h.ID)
	for _, s := range h.Tensors {
		t := appendText(make([]byte, 0, 64), fieldName, s.Name)
		t = appendText(t, fieldDatatype, Datatype(s.Type))
		t = appendWindowTo(appendShape(t, fieldShape, s.Shape), fieldParameters, s.Window)
		dst = appendMessage(dst, fieldInputs, t)
	}
	for i, name := range h.Wanted {
		w := appendText(nil, 1, name)
		if h.Windows != nil {
			w = appendWindowTo(w, 2, h.Windows[i])
		}
		dst = appendMessage(dst, fieldWanted, w)
	}
	return dst
}

func appendMessage(dst []byte, number protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.BytesType), m)
}

// The field numbers of InferParameter.
const fieldInteger, fieldText = 2, 3

// appendWindowTo appends the parameters of a tensor that lies in shared memory.
func appendWindowTo(dst []byte, number protowire.Number, w Window) []byte {
	if w.Region == "" {
		return dst
	}
	entry := func(key string, value []byte) {
		dst = appendMessage(dst, number, appendMessage(appendText(nil, 1, key), 2, value))
	}
	entry(regionKey, appendText(nil, fieldText, w.Region))
	entry(offsetKey, appendNumber(nil, fieldInteger, uint64(w.Offset)))
	entry(sizeKey, appendNumber(nil, fieldInteger, uint64(w.Size)))
	return dst
}

// appendText appends a field of text, unless it is empty.
func appendText(dst []byte, number protowire.Number, text string) []byte {
	if text == "" {
		return dst
	}
	return protowire.AppendString(protowire.AppendTag(dst, number, protowire.BytesType), text)
}

// appendTexts appends a list of texts, the empty ones too.
func appendTexts(dst []byte, number protowire.Number, list []string) []byte {
	for _, text := range list {
		dst = protowire.AppendString(protowire.AppendTag(dst, number, protowire.BytesType), text)
	}
	return dst
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
