package onnx

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A schema has the messages of ONNX files for the runtime of protocol buffers: the second implementation with which
// this package is compared.
type schema struct{ file protoreflect.FileDescriptor }

// schemaField is a field of testdata/schema.json: name, number, type, label and oneof.
type schemaField [5]any

// readSchema describes all messages; lists of numbers may be packed or not. Strings are bytes, which have the same encoding and need
// not be UTF-8.
func readSchema(t testing.TB, packed bool) schema {
	t.Helper()
	text, err := os.ReadFile("testdata/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var messages map[string][]schemaField
	if err := json.Unmarshal(text, &messages); err != nil {
		t.Fatal(err)
	}
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("onnx.proto"), Package: proto.String("onnx"), Syntax: proto.String("proto3")}
	for name, fields := range messages {
		file.MessageType = append(file.MessageType, describeMessage(name, fields, packed))
	}
	described, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return schema{described}
}

func flat(name string) string { return strings.ReplaceAll(name, ".", "_") }

func describeMessage(name string, fields []schemaField, packed bool) *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: proto.String(flat(name))}
	for _, f := range fields {
		field := &descriptorpb.FieldDescriptorProto{Name: proto.String(f[0].(string)), Number: proto.Int32(int32(f[1].(float64)))}
		field.Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
		if f[3] == "repeated" {
			field.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		kind, scalar := map[string]descriptorpb.FieldDescriptorProto_Type{
			"int32": descriptorpb.FieldDescriptorProto_TYPE_INT32, "int64": descriptorpb.FieldDescriptorProto_TYPE_INT64,
			"uint64": descriptorpb.FieldDescriptorProto_TYPE_UINT64, "float": descriptorpb.FieldDescriptorProto_TYPE_FLOAT,
			"double": descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, "string": descriptorpb.FieldDescriptorProto_TYPE_BYTES,
			"bytes": descriptorpb.FieldDescriptorProto_TYPE_BYTES,
		}[f[2].(string)]
		switch {
		case !scalar:
			kind = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
			field.TypeName = proto.String(".onnx." + flat(f[2].(string)))
		case f[3] == "repeated" && kind != descriptorpb.FieldDescriptorProto_TYPE_BYTES:
			field.Options = &descriptorpb.FieldOptions{Packed: proto.Bool(packed)}
		}
		field.Type = kind.Enum()
		if f[4] != "" {
			field.OneofIndex = proto.Int32(0) // no message has two
			m.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String(f[4].(string))}}
		}
		m.Field = append(m.Field, field)
	}
	return m
}

// message returns an empty message of a type.
func (s schema) message(name string) *dynamicpb.Message {
	return dynamicpb.NewMessage(s.file.Messages().ByName(protoreflect.Name(name)))
}

// read has the runtime read a model.
func (s schema) read(t testing.TB, data []byte) *dynamicpb.Message {
	t.Helper()
	m := s.message("ModelProto")
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// A protoMaker fills messages at random. Parts of a model that this package keeps as bytes may hold anything; in the
// others attributes, tensors and axes are such as ONNX has them.
type protoMaker struct {
	maker
	depth int  // of messages in messages
	wild  bool // anything goes
}

// fill gives a message fields.
func (r protoMaker) fill(m protoreflect.Message) {
	special := map[protoreflect.Name]func(protoreflect.Message){
		"ModelProto": r.modelProto, "AttributeProto": r.attributeProto, "TensorProto": r.tensorProto, "TensorShapeProto_Dimension": r.dimension,
		"SparseTensorProto": r.sparseProto,
	}[m.Descriptor().Name()]
	if special != nil && !r.wild {
		special(m)
		return
	}
	r.some(m)
}

// some gives a message some of its fields, but for those that are named.
func (r protoMaker) some(m protoreflect.Message, without ...protoreflect.Name) {
	fields := m.Descriptor().Fields()
skipped:
	for i := range fields.Len() {
		f := fields.Get(i)
		for _, name := range without {
			if f.Name() == name {
				continue skipped
			}
		}
		if r.often() && (r.depth < 9 || f.Message() == nil) {
			r.set(m, f)
		}
	}
}

// set gives a message a field.
func (r protoMaker) set(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	r.depth++
	switch name := f.Name(); {
	case name == "functions" || name == "training_info":
		r.wild = true
	case r.depth > 5 && (name == "g" || name == "graphs"):
		return
	}
	if !f.IsList() {
		m.Set(f, r.value(f, func() protoreflect.Value { return m.NewField(f) }))
		return
	}
	list := m.Mutable(f).List()
	for range 1 + r.IntN(2) {
		list.Append(r.value(f, list.NewElement))
	}
}

func (r protoMaker) value(f protoreflect.FieldDescriptor, empty func() protoreflect.Value) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.MessageKind:
		v := empty()
		r.fill(v.Message())
		return v
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(r.text()))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(r.float())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(r.float()))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(r.IntN(27)))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(r.number()))
	}
	return protoreflect.ValueOfInt64(r.number())
}

func fieldNamed(m protoreflect.Message, name string) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(protoreflect.Name(name))
}

// modelProto makes what every model has.
func (r protoMaker) modelProto(m protoreflect.Message) {
	r.some(m, "ir_version", "graph")
	m.Set(fieldNamed(m, "ir_version"), protoreflect.ValueOfInt64(1+r.Int64N(14)))
	r.set(m, fieldNamed(m, "graph"))
	if m.Mutable(fieldNamed(m, "opset_import")).List().Len() == 0 {
		r.set(m, fieldNamed(m, "opset_import"))
	}
}

// attributeProto makes an attribute of one kind.
func (r protoMaker) attributeProto(m protoreflect.Message) {
	kinds := []string{"", "f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs", "sparse_tensor", "sparse_tensors", "tp", "type_protos"}
	r.set(m, fieldNamed(m, "name"))
	if r.often() {
		r.set(m, fieldNamed(m, "doc_string"))
	}
	kind := 1 + r.IntN(len(kinds)-1)
	if r.depth > 4 {
		kind = 1 + r.IntN(4) // no graphs
	}
	r.set(m, fieldNamed(m, kinds[kind]))
	m.Set(fieldNamed(m, "type"), protoreflect.ValueOfInt32(int32(kind)))
}

// tensorProto makes a tensor whose elements come in one form.
func (r protoMaker) tensorProto(m protoreflect.Message) {
	r.some(m, "data_type", "float_data", "int32_data", "string_data", "int64_data", "raw_data", "external_data", "data_location", "double_data", "uint64_data")
	form := []string{"", "raw_data", "external_data", "string_data", "float_data", "double_data", "int32_data", "int64_data", "uint64_data"}[r.IntN(9)]
	types := map[string][]ElemType{
		"string_data": {String}, "float_data": {Float32, Complex64}, "double_data": {Float64, Complex128}, "int64_data": {Int64}, "uint64_data": {Uint32, Uint64},
		"int32_data": {Int32, Int16, Int8, Uint16, Uint8, Bool, Float16, BFloat16, Float8E5M2, Int4, Uint2},
	}[form]
	if types == nil {
		types = []ElemType{Float32, Uint8, Int64, 99}
	}
	m.Set(fieldNamed(m, "data_type"), protoreflect.ValueOfInt32(int32(types[r.IntN(len(types))])))
	if form != "" {
		r.set(m, fieldNamed(m, form))
	}
	if form == "external_data" {
		m.Set(fieldNamed(m, "data_location"), protoreflect.ValueOfInt32(locationExternal))
	}
}

// dimension makes an axis with an extent or a name.
func (r protoMaker) dimension(m protoreflect.Message) {
	switch r.IntN(3) {
	case 0:
		m.Set(fieldNamed(m, "dim_value"), protoreflect.ValueOfInt64([]int64{0, 1, 224, math.MaxInt64}[r.IntN(4)]))
	case 1:
		m.Set(fieldNamed(m, "dim_param"), protoreflect.ValueOfBytes([]byte("N"+r.text())))
	}
	r.some(m, "dim_value", "dim_param")
}

// sparseProto makes a sparse tensor, which has values at least.
func (r protoMaker) sparseProto(m protoreflect.Message) {
	r.some(m, "values")
	r.set(m, fieldNamed(m, "values"))
}

// asRaw makes raw bytes of the elements of every tensor that this package decodes, as it does, one number after the other.
func asRaw(m protoreflect.Message) {
	if m.Descriptor().Name() == "TensorProto" {
		tensorAsRaw(m)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.Name() == "functions" || f.Name() == "training_info":
		case !f.IsList():
			asRaw(v.Message())
		default:
			for i := range v.List().Len() {
				asRaw(v.List().Get(i).Message())
			}
		}
		return true
	})
}

func tensorAsRaw(m protoreflect.Message) {
	width := ElemType(m.Get(fieldNamed(m, "data_type")).Int()).Bits() / 8
	var raw []byte
	for _, name := range []string{"float_data", "double_data", "int32_data", "int64_data", "uint64_data"} {
		f := fieldNamed(m, name)
		for i, list := 0, m.Get(f).List(); i < list.Len(); i++ {
			switch v := list.Get(i).Interface().(type) {
			case float32:
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			case float64:
				raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
			default:
				var low [8]byte
				if u, ok := v.(uint64); ok {
					binary.LittleEndian.PutUint64(low[:], u)
				} else {
					binary.LittleEndian.PutUint64(low[:], uint64(list.Get(i).Int()))
				}
				raw = append(raw, low[:max(1, width)]...) // several elements share a byte, or one has several
			}
		}
		m.Clear(f)
	}
	if raw != nil {
		m.Set(fieldNamed(m, "raw_data"), protoreflect.ValueOfBytes(raw))
	}
}

// randomProto makes the file of a random model, with which it must agree whoever reads it.
func randomProto(t *testing.T, s schema, seed uint64) []byte {
	t.Helper()
	m := s.message("ModelProto")
	protoMaker{maker: maker{rand.New(rand.NewPCG(seed, 7))}}.fill(m)
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sameAs wants what this package makes of a file to be what the runtime of protocol buffers finds in it.
func sameAs(t *testing.T, s schema, data []byte, m *Model) {
	t.Helper()
	want, got := s.read(t, data), s.read(t, mustEncode(t, m))
	asRaw(want)
	if !proto.Equal(want, got) {
		t.Fatalf("the model is\n%v\nwant\n%v", prototext.Format(got), prototext.Format(want))
	}
}

// Every field that ONNX has is where it was after a round trip, whether this package knows it or not, and however lists of numbers
// are encoded.
func TestModelsAreReadAndWrittenAsByProtocolBuffers(t *testing.T) {
	for _, packed := range []bool{true, false} {
		s := readSchema(t, packed)
		for seed := range uint64(10) {
			data := randomProto(t, s, seed)
			m, err := Decode(data)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			sameAs(t, s, data, m)
			if m, err = readBytes(data); err != nil {
				t.Fatalf("seed %d, from a file: %v", seed, err)
			}
			sameAs(t, s, data, m)
		}
	}
}

// Two files one after the other are one: of single fields the last one holds, lists are joined, and so are the graphs.
func TestFilesThatFollowEachOtherAreMergedAsByProtocolBuffers(t *testing.T) {
	s := readSchema(t, true)
	for seed := range uint64(8) {
		both := append(randomProto(t, s, seed), randomProto(t, s, 100+seed)...)
		m, err := readBytes(both)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		sameAs(t, s, both, m)
		sameAs(t, s, both, mustDecode(t, both))
	}
}

// What this package takes for a model is one for others, too, however it is damaged; but for damage in what it keeps as bytes, of
// which there is nothing here.
func TestWhatProtocolBuffersRefuseIsRefused(t *testing.T) {
	s := readSchema(t, true)
	r := rand.New(rand.NewPCG(3, 1))
	taken := 0
	for seed := range uint64(200) {
		data := mustEncode(t, maker{rand.New(rand.NewPCG(seed, 3))}.model())
		damaged := bytes.Clone(data)
		for range 1 + r.IntN(3) {
			damaged[r.IntN(len(damaged))] = byte(r.Uint32())
		}
		if r.IntN(4) == 0 {
			damaged = damaged[:r.IntN(len(damaged))]
		}
		m, err := Decode(damaged)
		if err != nil {
			continue
		}
		taken++
		if err := proto.Unmarshal(damaged, s.message("ModelProto")); err != nil {
			t.Errorf("a file is read that protocol buffers refuse: %v", err)
		}
		if err := proto.Unmarshal(mustEncode(t, m), s.message("ModelProto")); err != nil {
			t.Errorf("a file is written that protocol buffers refuse: %v", err)
		}
	}
	if taken < 100 {
		t.Errorf("%d of 600 damaged files are read: they prove nothing", taken)
	}
}

// ReadHead finds in a file what protocol buffers find there.
func TestAHeadIsWhatProtocolBuffersSayOfAFile(t *testing.T) {
	s := readSchema(t, true)
	for seed := range uint64(20) {
		data := randomProto(t, s, seed)
		h, err := (&fileReader{file: bytes.NewReader(data), size: int64(len(data))}).head()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		m := s.read(t, data)
		graph := m.Get(fieldNamed(m, "graph")).Message()
		if want := string(m.Get(fieldNamed(m, "producer_name")).Bytes()); h.Producer != want {
			t.Errorf("seed %d: the producer is %q, want %q", seed, h.Producer, want)
		}
		if got, want := len(h.Opsets), m.Get(fieldNamed(m, "opset_import")).List().Len(); got != want {
			t.Errorf("seed %d: %d operator sets, want %d", seed, got, want)
		}
		constant := map[string]bool{}
		for i, list := 0, graph.Get(fieldNamed(graph, "initializer")).List(); i < list.Len(); i++ {
			constant[nameOf(list.Get(i).Message())] = true
		}
		for i, list := 0, graph.Get(fieldNamed(graph, "sparse_initializer")).List(); i < list.Len(); i++ {
			sparse := list.Get(i).Message()
			constant[nameOf(sparse.Get(fieldNamed(sparse, "values")).Message())] = true
		}
		var want, got []string
		for i, list := 0, graph.Get(fieldNamed(graph, "input")).List(); i < list.Len(); i++ {
			if name := nameOf(list.Get(i).Message()); !constant[name] {
				want = append(want, name)
			}
		}
		for _, v := range h.Inputs {
			got = append(got, v.Name)
		}
		if strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
			t.Errorf("seed %d: inputs %q, want %q", seed, got, want)
		}
	}
}

// nameOf is the field name of a message.
func nameOf(m protoreflect.Message) string { return string(m.Get(fieldNamed(m, "name")).Bytes()) }
