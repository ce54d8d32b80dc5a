package oip

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mlperf-go/mlperf/internal/oip/oiptest/pb"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A message is written field by field, as the description of the protocol numbers them.
type message []byte

func (m message) text(n protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, n, protowire.BytesType), s)
}

func (m message) number(n protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), v)
}

func (m message) fixed32(n protowire.Number, v uint32) message {
	return protowire.AppendFixed32(protowire.AppendTag(m, n, protowire.Fixed32Type), v)
}

func (m message) slice() mem.BufferSlice { return mem.BufferSlice{mem.SliceBuffer(m)} }

// sum is a StatisticDuration.
func sum(count, ns uint64) string { return string(message{}.number(1, count).number(2, ns)) }

func TestSmallMessagesHaveTheNumbersOfTheProtocol(t *testing.T) {
	durations := message{}.text(1, sum(1, 2)).text(2, sum(3, 4)).text(3, sum(5, 6)).text(4, sum(7, 8)).text(5, sum(9, 10)).text(6, sum(11, 12)).text(7, sum(13, 14)).text(8, sum(15, 16))
	region := message{}.text(1, "r").text(2, "/key").number(3, 4096).number(4, 1<<40)
	for _, c := range []struct {
		name  string
		of    marshaler
		empty unmarshaler
		wire  message
	}{
		{"what is asked of a model", &Inquiry{"m", "1"}, &Inquiry{}, message{}.text(1, "m").text(2, "1")},
		{"yes", &State{true}, &State{}, message{}.number(1, 1)},
		{"no", &State{}, &State{}, nil},
		{"a server", &ServerMetadata{"s", "2", []string{"a", "b"}}, &ServerMetadata{}, message{}.text(1, "s").text(2, "2").text(3, "a").text(3, "b")},
		{"a region", &Region{"r", "/key", 4096, 1 << 40}, &Region{}, region},
		{"statistics", &StatisticsList{[]ModelStatistics{{"m", "1", 17, 18, 19, InferenceSum{Sum{1, 2}, Sum{3, 4}, Sum{5, 6}, Sum{7, 8}, Sum{9, 10}, Sum{11, 12}, Sum{13, 14}, Sum{15, 16}}}}}, &StatisticsList{},
			message{}.text(1, string(message{}.text(1, "m").text(2, "1").number(3, 17).number(4, 18).number(5, 19).text(6, string(durations))))},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := c.of.marshal()
			if err != nil || !bytes.Equal(s.Materialize(), c.wire) {
				t.Errorf("written as %x, %v, want %x", s.Materialize(), err, []byte(c.wire))
			}
			// Fields that are not known are left out, of whatever kind they are.
			more := c.wire.text(14, "new").number(15, 7).fixed32(16, 8)
			more = protowire.AppendFixed64(protowire.AppendTag(more, 17, protowire.Fixed64Type), 9)
			if err := c.empty.unmarshal(chopped(more.slice(), 1)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(any(c.of), any(c.empty)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	s, err := (&RegionList{[]Region{{"r", "/key", 4096, 1 << 40}}}).marshal()
	if want := (message{}).text(1, string(message{}.text(1, "r").text(2, string(region)))); err != nil || !bytes.Equal(s.Materialize(), want) {
		t.Errorf("regions are written as %x, %v, want %x", s.Materialize(), err, []byte(want))
	}
}

func TestFieldsOfAnotherKindDoNotCount(t *testing.T) {
	var s State
	if err := s.unmarshal(message{}.text(1, "yes").slice()); err != nil || s.On {
		t.Errorf("a text for yes: %+v, %v", s, err)
	}
	var list StatisticsList
	wrong := message{}.text(3, "many").fixed32(4, 9).text(6, string(message{}.number(1, 5).text(2, string(message{}.text(1, "x").fixed32(2, 7)))))
	if err := list.unmarshal(message{}.text(1, string(wrong)).slice()); err != nil || !cmp.Equal(list.Models, []ModelStatistics{{}}) {
		t.Errorf("statistics in words: %+v, %v", list, err)
	}
	var g Region
	if err := g.unmarshal(message{}.text(3, "far").text(4, "long").slice()); err != nil || g != (Region{}) {
		t.Errorf("a region in words: %+v, %v", g, err)
	}
}

func TestFieldsOfAnotherKindThatMustBeTextsAreErrors(t *testing.T) {
	for name, to := range map[string]unmarshaler{"inquiry": &Inquiry{}, "server": &ServerMetadata{}, "model": &ModelMetadata{}, "region": &Region{}} {
		if err := to.unmarshal(message{}.number(1, 5).slice()); err == nil || err.Error() != "field 1 is of the wire type 0, want 2" {
			t.Errorf("%s: %v", name, err)
		}
		if err := to.unmarshal(message{}.text(2, "\xff").slice()); err == nil || !strings.Contains(err.Error(), "is not UTF-8") {
			t.Errorf("%s that is no text: %v", name, err)
		}
	}
	for name, b := range map[string]message{
		"a port that is a number":           message{}.number(4, 1),
		"an extent that is a fixed number":  message{}.text(4, string(message{}.fixed32(3, 1))),
		"an extent that ends early":         message{}.text(5, string(message{}.text(3, "\x80"))),
		"a port that ends early":            message{}.text(4, "\x0a\x05ab"),
		"a port without a name":             message{}.text(4, string(message{}.text(2, "FP32"))),
		"statistics that are numbers":       nil,
		"a name that is longer than it all": {0x0a, 0x7f, 'a'},
	} {
		var to unmarshaler = &ModelMetadata{}
		if b == nil {
			to, b = &StatisticsList{}, message{}.number(1, 1)
		}
		if err := to.unmarshal(b.slice()); err == nil {
			t.Errorf("%s is accepted: %+v", name, to)
		}
	}
}

func TestAnswersOfAStreamAreAnswersOrErrors(t *testing.T) {
	answer := &Receiving{Answer: true, Stream: true, Accept: freshFor}
	s, err := (&Sending{Answer: true, Stream: true, Failed: "no room"}).marshal()
	if err != nil {
		t.Fatal(err)
	}
	if got := oracle(t, s, &pb.StreamResponse{}); got.Error != "no room" || got.Response != nil {
		t.Errorf("an error is written as %+v", got)
	}
	if err := answer.unmarshal(chopped(s, 2)); err != nil || answer.Failed != "no room" || answer.Tensors != nil {
		t.Errorf("an error is read as %+v, %v", answer, err)
	}
	numbers := []tensor.Tensor{tensor.Of([]float32{1, 2}, 2), tensor.OfStrings([]string{"a", ""}, 2), tensor.Of([]int8{5}, 1)}
	s, err = (&Sending{Head: head(t, []string{"a", "b", "c"}, numbers), Tensors: numbers, Answer: true, Stream: true}).marshal()
	if err != nil {
		t.Fatal(err)
	}
	answer = &Receiving{Answer: true, Stream: true, Accept: freshFor}
	if err := answer.unmarshal(append(message{}.number(9, 1).slice(), s...)); err != nil || answer.Failed != "" {
		t.Fatal(err, answer.Failed)
	}
	if diff := cmp.Diff(plain(numbers), plain(answer.Tensors)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, b := range map[string]message{"nothing": nil, "a number": message{}.number(1, 1), "half an answer": {0x12, 0x09, 0x0a}, "half a number": {0x08}} {
		if err := (&Receiving{Answer: true, Stream: true, Accept: freshFor}).unmarshal(b.slice()); err == nil {
			t.Errorf("%s is taken for an answer", name)
		}
	}
}

func TestMemoryOfTensorsIsSentWhereItLies(t *testing.T) {
	list := []tensor.Tensor{tensor.Of([]float32{1, 2, 3}, 3), tensor.OfStrings([]string{"x"}, 1), tensor.Of([]int8{4}, 1)}
	var lent [][]byte
	m := &Sending{Head: head(t, []string{"a", "b", "c"}, list), Tensors: list, Buffer: func(data []byte) mem.Buffer {
		lent = append(lent, data)
		return mem.SliceBuffer(data)
	}}
	if _, err := m.marshal(); err != nil {
		t.Fatal(err)
	}
	if len(lent) != 2 || &lent[0][0] != &list[0].Bytes()[0] || &lent[1][0] != &list[2].Bytes()[0] {
		t.Errorf("%d buffers were made of the memory of tensors, want those of a and c", len(lent))
	}
}

func TestAnErrorIsKeptWhereTheCallShallGoOn(t *testing.T) {
	in := &Receiving{Accept: freshFor, KeepError: true}
	if err := in.unmarshal(message{0x0a}.slice()); err != nil || CodeOf(in.Err) != InvalidArgument {
		t.Errorf("unmarshal = %v, kept is %v", err, in.Err)
	}
	refused := Errorf(Unavailable, "no room")
	in = &Receiving{Accept: func(*Head) (Place, error) { return nil, refused }, KeepError: true}
	if err := in.unmarshal(message{}.text(1, "m").slice()); err != nil || in.Err != refused {
		t.Errorf("unmarshal = %v, kept is %v", err, in.Err)
	}
}

func TestMoreOfAMessageThanIsAllowedIsRefusedBeforeItIsRead(t *testing.T) {
	input := message{}.text(5, string(message{}.text(1, "a").text(2, "INT8")))
	for name, piece := range map[string]message{"raw contents": message{}.text(7, ""), "outputs": message{}.text(6, ""), "inputs": input} {
		b := message(bytes.Repeat(piece, 4))
		b = append(b, 0xff) // which nobody gets to see
		err := (&Receiving{Accept: freshFor, Limits: Limits{Tensors: 3}}).unmarshal(b.slice())
		if err == nil || err.Error() != "a message of gRPC: more than 3 tensors, outputs that are asked for, or raw contents" || CodeOf(err) != InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTypedElementsMayBePackedOrNot(t *testing.T) {
	numbers := protowire.AppendFixed32(protowire.AppendFixed32(nil, 0x3f800000), 0x40000000)
	unpacked := message{}.fixed32(6, 0x3f800000).fixed32(6, 0x40000000)
	packed := message{}.text(6, string(numbers))
	for name, contents := range map[string]message{"packed": packed, "not packed": unpacked, "in two parts": message{}.text(6, string(numbers[:4])).fixed32(6, 0x40000000)} {
		x := message{}.text(1, "x").text(2, "FP32").number(3, 2).text(5, string(contents))
		in := &Receiving{Accept: freshFor}
		if err := in.unmarshal(message{}.text(5, string(x)).slice()); err != nil || !slices.Equal(tensor.Data[float32](in.Tensors[0]), []float32{1, 2}) {
			t.Errorf("%s: %v, %v", name, in.Tensors, err)
		}
	}
	for name, contents := range map[string]message{"numbers of another size": message{}.number(6, 1), "half a number": message{}.text(6, "\x00\x00\x00")} {
		x := message{}.text(1, "x").text(2, "FP32").number(3, 1).text(5, string(contents))
		if err := (&Receiving{Accept: freshFor}).unmarshal(message{}.text(5, string(x)).slice()); err == nil {
			t.Errorf("%s are accepted", name)
		}
	}
}

// Protobuf's library says which numbers are right.
func TestNumbersAreReadAsProtobufReadsThem(t *testing.T) {
	for _, b := range [][]byte{{0}, {1}, {0x7f}, {0x80, 1}, {0x80}, {}, bytes.Repeat([]byte{0xff}, 9), append(bytes.Repeat([]byte{0xff}, 9), 1),
		append(bytes.Repeat([]byte{0xff}, 9), 2), bytes.Repeat([]byte{0x80}, 10), append(bytes.Repeat([]byte{0x80}, 9), 0), append(bytes.Repeat([]byte{0x80}, 9), 1)} {
		want, n := protowire.ConsumeVarint(b)
		s := newScanner(chopped(message(b).slice(), 3))
		got, err := s.varint()
		if (err == nil) != (n > 0) || err == nil && (got != want || s.left != len(b)-n) {
			t.Errorf("%x is %d, %v, with %d bytes left, want %d of %d bytes", b, got, err, s.left, want, n)
		}
	}
	for _, tag := range []uint64{0, 7, 1<<32 - 1, 1 << 32, 1<<64 - 1, 8*(1<<29) - 8} {
		b := append(protowire.AppendVarint(nil, tag), 0, 0, 0, 0, 0, 0, 0, 0)
		s := newScanner(message(b).slice())
		f, err := s.field()
		number, kind, n := protowire.ConsumeTag(b)
		right := n > 0 && number <= protowire.MaxValidNumber && kind != protowire.StartGroupType && kind != protowire.EndGroupType && kind <= protowire.Fixed32Type
		if (err == nil) != right || right && (f.number != number || f.kind != kind) {
			t.Errorf("tag %d is %+v, %v, want %d of kind %d", tag, f, err, number, kind)
		}
	}
}

func TestPiecesOfAMessageAreReadWhereverItIsCut(t *testing.T) {
	text := []byte("0123456789")
	for size := 1; size <= len(text); size++ {
		s := newScanner(chopped(message(text).slice(), size))
		a, err1 := s.bytes(3)
		err2 := s.skip(4)
		v, err3 := s.fixed(2)
		if err1 != nil || err2 != nil || err3 != nil || string(a) != "012" || v != uint64(binary.LittleEndian.Uint16([]byte("78"))) || s.left != 1 {
			t.Fatalf("pieces of %d: %q, %x, %d left, %v, %v, %v", size, a, v, s.left, err1, err2, err3)
		}
		if _, err := s.bytes(2); err == nil {
			t.Error("more bytes than there are are read")
		}
		if err := s.skip(2); err == nil {
			t.Error("more bytes than there are are left out")
		}
		if _, err := s.fixed(2); err == nil {
			t.Error("a number ends behind the message")
		}
	}
}

func TestMessagesOfOtherServicesAreProtobufs(t *testing.T) {
	var c Codec
	if c.Name() != "proto" || MethodName("ModelInfer") != "/inference.GRPCInferenceService/ModelInfer" {
		t.Errorf("the codec is %q, the method %q", c.Name(), MethodName("ModelInfer"))
	}
	in := &healthpb.HealthCheckRequest{Service: Service}
	s, err := c.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out := &healthpb.HealthCheckRequest{}
	if err := c.Unmarshal(s, out); err != nil || !proto.Equal(in, out) {
		t.Errorf("%v, %v, want %v", out, err, in)
	}
	if s, err = c.Marshal(&Inquiry{Name: "m"}); err != nil || !bytes.Equal(s.Materialize(), message{}.text(1, "m")) {
		t.Errorf("a message of ours is %x, %v", s.Materialize(), err)
	}
	var q Inquiry
	if err := c.Unmarshal(s, &q); err != nil || q.Name != "m" {
		t.Errorf("%+v, %v", q, err)
	}
	if _, err := c.Marshal(5); err == nil {
		t.Error("a number is a message")
	}
}
