// Package pb has the messages of the protocol as protobuf's own library writes and reads
// them, from structs with its tags: what generated code is made of. Tests compare the codec
// of package oip with it, and benchmarks measure against it.
package pb

import "google.golang.org/protobuf/protoadapt"

// InferRequest is ModelInferRequest.
type InferRequest struct {
	ModelName    string                `protobuf:"bytes,1,opt,name=model_name,proto3"`
	ModelVersion string                `protobuf:"bytes,2,opt,name=model_version,proto3"`
	ID           string                `protobuf:"bytes,3,opt,name=id,proto3"`
	Parameters   map[string]*Parameter `protobuf:"bytes,4,rep,name=parameters,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"bytes,2,opt,name=value,proto3"`
	Inputs       []*Tensor             `protobuf:"bytes,5,rep,name=inputs,proto3"`
	Outputs      []*Wanted             `protobuf:"bytes,6,rep,name=outputs,proto3"`
	Raw          [][]byte              `protobuf:"bytes,7,rep,name=raw_input_contents,proto3"`
}

// InferResponse is ModelInferResponse.
type InferResponse struct {
	ModelName    string    `protobuf:"bytes,1,opt,name=model_name,proto3"`
	ModelVersion string    `protobuf:"bytes,2,opt,name=model_version,proto3"`
	ID           string    `protobuf:"bytes,3,opt,name=id,proto3"`
	Outputs      []*Tensor `protobuf:"bytes,5,rep,name=outputs,proto3"`
	Raw          [][]byte  `protobuf:"bytes,6,rep,name=raw_output_contents,proto3"`
}

// StreamResponse is ModelStreamInferResponse.
type StreamResponse struct {
	Error    string         `protobuf:"bytes,1,opt,name=error_message,proto3"`
	Response *InferResponse `protobuf:"bytes,2,opt,name=infer_response,proto3"`
}

// Tensor is InferInputTensor and InferOutputTensor.
type Tensor struct {
	Name       string                `protobuf:"bytes,1,opt,name=name,proto3"`
	Datatype   string                `protobuf:"bytes,2,opt,name=datatype,proto3"`
	Shape      []int64               `protobuf:"varint,3,rep,packed,name=shape,proto3"`
	Parameters map[string]*Parameter `protobuf:"bytes,4,rep,name=parameters,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"bytes,2,opt,name=value,proto3"`
	Contents   *Contents             `protobuf:"bytes,5,opt,name=contents,proto3"`
}

// Wanted is InferRequestedOutputTensor.
type Wanted struct {
	Name       string                `protobuf:"bytes,1,opt,name=name,proto3"`
	Parameters map[string]*Parameter `protobuf:"bytes,2,rep,name=parameters,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"bytes,2,opt,name=value,proto3"`
}

// Contents is InferTensorContents.
type Contents struct {
	Bool   []bool    `protobuf:"varint,1,rep,packed,name=bool_contents,proto3"`
	Int    []int32   `protobuf:"varint,2,rep,packed,name=int_contents,proto3"`
	Int64  []int64   `protobuf:"varint,3,rep,packed,name=int64_contents,proto3"`
	Uint   []uint32  `protobuf:"varint,4,rep,packed,name=uint_contents,proto3"`
	Uint64 []uint64  `protobuf:"varint,5,rep,packed,name=uint64_contents,proto3"`
	FP32   []float32 `protobuf:"fixed32,6,rep,packed,name=fp32_contents,proto3"`
	FP64   []float64 `protobuf:"fixed64,7,rep,packed,name=fp64_contents,proto3"`
	Bytes  [][]byte  `protobuf:"bytes,8,rep,name=bytes_contents,proto3"`
}

// Parameter is InferParameter, as far as it is needed.
type Parameter struct {
	Int64   int64  `protobuf:"varint,2,opt,name=int64_param,proto3"`
	String_ string `protobuf:"bytes,3,opt,name=string_param,proto3"`
}

// ModelMetadata is ModelMetadataResponse.
type ModelMetadata struct {
	Name     string    `protobuf:"bytes,1,opt,name=name,proto3"`
	Versions []string  `protobuf:"bytes,2,rep,name=versions,proto3"`
	Platform string    `protobuf:"bytes,3,opt,name=platform,proto3"`
	Inputs   []*Tensor `protobuf:"bytes,4,rep,name=inputs,proto3"`
	Outputs  []*Tensor `protobuf:"bytes,5,rep,name=outputs,proto3"`
}

func (m *InferRequest) Reset()         { *m = InferRequest{} }
func (m *InferRequest) String() string { return "request " + m.ModelName }
func (*InferRequest) ProtoMessage()    {}

func (m *InferResponse) Reset()         { *m = InferResponse{} }
func (m *InferResponse) String() string { return "answer " + m.ModelName }
func (*InferResponse) ProtoMessage()    {}

func (m *StreamResponse) Reset()         { *m = StreamResponse{} }
func (m *StreamResponse) String() string { return "answer of a stream " + m.Error }
func (*StreamResponse) ProtoMessage()    {}

func (m *Tensor) Reset()         { *m = Tensor{} }
func (m *Tensor) String() string { return "tensor " + m.Name }
func (*Tensor) ProtoMessage()    {}

func (m *Wanted) Reset()         { *m = Wanted{} }
func (m *Wanted) String() string { return "output " + m.Name }
func (*Wanted) ProtoMessage()    {}

func (m *Contents) Reset()         { *m = Contents{} }
func (m *Contents) String() string { return "contents" }
func (*Contents) ProtoMessage()    {}

func (m *Parameter) Reset()         { *m = Parameter{} }
func (m *Parameter) String() string { return "parameter " + m.String_ }
func (*Parameter) ProtoMessage()    {}

func (m *ModelMetadata) Reset()         { *m = ModelMetadata{} }
func (m *ModelMetadata) String() string { return "model " + m.Name }
func (*ModelMetadata) ProtoMessage()    {}

// A Message is any of them.
type Message = protoadapt.MessageV1
