package oip

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// described has the messages of questions and their answers as the protocol's file describes them, field by field, for
// protobuf's own library: a second reader and writer, which shares nothing with this package.
const described = `
name: "oip.proto" package: "oip" syntax: "proto3"
message_type { name: "Inquiry"
  field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "version" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL } }
message_type { name: "State"
  field { name: "on" number: 1 type: TYPE_BOOL label: LABEL_OPTIONAL } }
message_type { name: "Server"
  field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "version" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "extensions" number: 3 type: TYPE_STRING label: LABEL_REPEATED } }
message_type { name: "Port"
  field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "datatype" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "shape" number: 3 type: TYPE_INT64 label: LABEL_REPEATED } }
message_type { name: "Model"
  field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "versions" number: 2 type: TYPE_STRING label: LABEL_REPEATED }
  field { name: "platform" number: 3 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "inputs" number: 4 type: TYPE_MESSAGE type_name: ".oip.Port" label: LABEL_REPEATED }
  field { name: "outputs" number: 5 type: TYPE_MESSAGE type_name: ".oip.Port" label: LABEL_REPEATED } }
message_type { name: "Region"
  field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "key" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "offset" number: 3 type: TYPE_UINT64 label: LABEL_OPTIONAL }
  field { name: "byte_size" number: 4 type: TYPE_UINT64 label: LABEL_OPTIONAL } }
`

// messageOf makes messages of a name as protobuf's library knows them.
func messageOf(t testing.TB, name string) func() *dynamicpb.Message {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{}
	if err := prototext.Unmarshal([]byte(described), file); err != nil {
		t.Fatal(err)
	}
	d, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := d.Messages().ByName(protoreflect.Name(name))
	return func() *dynamicpb.Message { return dynamicpb.NewMessage(of) }
}

// A question is a message, or its answer.
type question interface {
	marshaler
	unmarshaler
}

func texts(random *rand.Rand) string {
	return []string{"", "m", "größe", strings.Repeat("long", 40), "a\x00b", "\n"}[random.IntN(6)]
}

func list(random *rand.Rand, n int) (all []string) {
	for range random.IntN(n) {
		all = append(all, texts(random))
	}
	return all
}

func ports(random *rand.Rand) (all []Port) {
	for i := range random.IntN(4) {
		p := Port{Name: fmt.Sprint(texts(random), i), Datatype: texts(random)}
		for range random.IntN(4) {
			p.Shape = append(p.Shape, []int64{-1, 0, 1, 127, 128, 1 << 16}[random.IntN(6)])
		}
		all = append(all, p)
	}
	return all
}

// questions are those with random contents, and empty ones to read them with.
var questions = map[string]struct {
	draw  func(random *rand.Rand) question
	empty func() question
}{
	"Inquiry": {func(r *rand.Rand) question { return &Inquiry{texts(r), texts(r)} }, func() question { return &Inquiry{} }},
	"State":   {func(r *rand.Rand) question { return &State{r.IntN(2) == 1} }, func() question { return &State{} }},
	"Server":  {func(r *rand.Rand) question { return &ServerMetadata{texts(r), texts(r), list(r, 4)} }, func() question { return &ServerMetadata{} }},
	"Model": {func(r *rand.Rand) question {
		return &ModelMetadata{texts(r), list(r, 4), texts(r), ports(r), ports(r)}
	}, func() question { return &ModelMetadata{} }},
	"Region": {func(r *rand.Rand) question {
		return &Region{texts(r), texts(r), r.Int64() >> r.IntN(63), r.Int64() >> r.IntN(63)}
	}, func() question { return &Region{} }},
}

func TestQuestionsAreWrittenAndReadAsProtobufDoes(t *testing.T) {
	for name, q := range questions {
		t.Run(name, func(t *testing.T) {
			random, theirs := rand.New(rand.NewPCG(7, 8)), messageOf(t, name)
			for range 200 {
				ours := q.draw(random)
				wire, err := ours.marshal()
				if err != nil {
					t.Fatal(err)
				}
				m := theirs()
				if err := proto.Unmarshal(wire.Materialize(), m); err != nil {
					t.Fatalf("%+v: protobuf's library reads %v", ours, err)
				}
				if unknown := m.GetUnknown(); len(unknown) > 0 {
					t.Fatalf("%+v: the fields %x are not the protocol's", ours, unknown)
				}
				again, err := proto.MarshalOptions{}.Marshal(m) // in whatever order of fields
				if err != nil {
					t.Fatal(err)
				}
				read := q.empty()
				if err := read.unmarshal(chopped(mem.BufferSlice{mem.SliceBuffer(shuffled(random, again))}, 1+random.IntN(7))); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(any(ours), any(read)); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// shuffled has the fields of a message in another order, those of one number in theirs, and one among them that nobody knows.
func shuffled(random *rand.Rand, b []byte) []byte {
	b = protowire.AppendVarint(protowire.AppendTag(b, 900, protowire.VarintType), 1)
	return torn(random, b, -1)
}

// Whatever arrives, a message is read, and written as something that reads the same, or refused.
func FuzzQuestions(f *testing.F) {
	random := rand.New(rand.NewPCG(9, 9))
	for _, q := range questions {
		wire, err := q.draw(random).marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire.Materialize())
	}
	f.Add([]byte{0x22, 0x04, 0x1a, 0x02, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		before := slices.Clone(b)
		for name, q := range questions {
			first, second := q.empty(), q.empty()
			if first.unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}) != nil {
				continue
			}
			wire, err := first.marshal()
			if err == nil {
				err = second.unmarshal(wire)
			}
			if diff := cmp.Diff(any(first), any(second)); err != nil || diff != "" {
				t.Errorf("%s of %x: %v\n%s", name, b, err, diff)
			}
		}
		if !slices.Equal(before, b) {
			t.Error("the message was changed")
		}
	})
}
