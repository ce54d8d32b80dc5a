package onnx

import "testing"

func TestKindTellsWhatAValueIs(t *testing.T) {
	for _, c := range []struct {
		name string
		typ  Type
		want string
	}{
		{"nothing is known", Type{}, ""},
		{"an element type", Type{Elem: Float32}, "tensor"},
		{"only a shape", Type{Shape: Shape{}}, "tensor"},
		{"only what a newer version says of tensors", Type{TensorExtra: "\x22\x00"}, "tensor"},
		{"a sequence", Type{Extra: "\x22\x00"}, "sequence"},
		{"a map", Type{Extra: "\x2a\x00"}, "map"},
		{"an opaque value", Type{Extra: "\x3a\x00"}, "opaque"},
		{"a sparse tensor", Type{Extra: "\x42\x00"}, "sparse tensor"},
		{"an optional value", Type{Extra: "\x4a\x00"}, "optional"},
		{"a sequence behind what a newer version says", Type{Extra: "\xc2\x3e\x03new\x22\x00"}, "sequence"},
		{"only what a newer version says", Type{Extra: "\xc2\x3e\x03new"}, ""},
		{"a field that is cut off", Type{Extra: "\xc2\x3e\x09new"}, ""},
	} {
		if got := c.typ.Kind(); got != c.want {
			t.Errorf("%s: Kind() = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestShapesCountWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		shape               Shape
		perSample, channels int64
	}{
		{nil, 1, 0},
		{Shape{}, 1, 0},
		{Batched(), 1, 0},
		{FixedShape([]int64{4}), 4, 0},
		{Batched(3, 224, 2), 3 * 224 * 2, 3},
		{Shape{Fixed(2), Free("C"), Fixed(5)}, 10, 0},
		{Shape{Fixed(2), {Size: 3, Param: "C"}}, 2, 0}, // a name wins
		{Shape{Fixed(2), Fixed(0)}, 0, 0},
	} {
		v := Value{Type: Type{Shape: c.shape}}
		if got := c.shape.PerSample(); got != c.perSample {
			t.Errorf("%v: PerSample() = %d, want %d", c.shape, got, c.perSample)
		}
		if got := v.Channels(); got != c.channels {
			t.Errorf("%v: Channels() = %d, want %d", c.shape, got, c.channels)
		}
	}
}

func TestOnlyTypesOfAFixedSizeHaveBits(t *testing.T) {
	for typ, want := range map[ElemType]int{
		Float32: 32, Bool: 8, Int2: 2, Float4E2M1: 4, Complex128: 128, Float8E8M0: 8,
		String: 0, Undefined: 0, -1: 0, Int2 + 1: 0, 99: 0,
	} {
		if got := typ.Bits(); got != want {
			t.Errorf("%v has %d bits, want %d", typ, got, want)
		}
	}
}

func TestInputsThatANodeDoesNotHaveAreEmpty(t *testing.T) {
	n := &Node{Inputs: []string{"x", ""}}
	for i, want := range []string{"x", "", "", ""} {
		if got := n.Input(i); got != want {
			t.Errorf("Input(%d) = %q, want %q", i, got, want)
		}
	}
}
