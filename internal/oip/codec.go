package oip

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// Service is the protocol's name of the service.
const Service = "inference.GRPCInferenceService"

// marshaler and unmarshaler are messages that Codec writes and reads.
type marshaler interface {
	marshal() (mem.BufferSlice, error)
}

type unmarshaler interface {
	unmarshal(mem.BufferSlice) error
}

// Codec writes and reads the messages of this package, and leaves those of other services,
// health for instance, to the usual codec.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// Name implements encoding.CodecV2.
func (Codec) Name() string { return proto.Name }

// Marshal implements encoding.CodecV2.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(marshaler); ok {
		return m.marshal()
	}
	return usual().Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (Codec) Unmarshal(s mem.BufferSlice, v any) error {
	if m, ok := v.(unmarshaler); ok {
		return m.unmarshal(s)
	}
	return usual().Unmarshal(s, v)
}

// usual is the codec that the import of package proto has registered.
func usual() encoding.CodecV2 { return encoding.GetCodecV2(proto.Name) }

// MethodName is the full name of a method of the service.
func MethodName(method string) string { return "/" + Service + "/" + method }
