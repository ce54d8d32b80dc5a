package pickle

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestArraysOfAllProtocolsAreRead(t *testing.T) {
	for _, protocol := range []string{"2", "3", "4", "5"} {
		t.Run("protocol "+protocol, func(t *testing.T) {
			v, err := Read(readFile(t, "case_protocol"+protocol+".pkl"))
			if err != nil {
				t.Fatal(err)
			}
			list, ok := v.([]any)
			if !ok || len(list) != 2 {
				t.Fatalf("value %#v, want a list of two", v)
			}
			floats, labels := make([]float32, 12), make([]uint8, 12)
			image, truth := list[0].(*Array), list[1].(*Array)
			if err := image.Floats(floats); err != nil || floats[0] != 0 || floats[7] != 7 || !cmp.Equal(image.Shape, []int{1, 2, 2, 3}) {
				t.Errorf("the image is %v %v, %v", image.Shape, floats, err)
			}
			// The bytes 0, 1, 2 … run along the first axis first.
			want := []uint8{0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11}
			if err := truth.Bytes(labels); err != nil || !cmp.Equal(labels, want) {
				t.Errorf("the labels are %v, %v; want %v", labels, err, want)
			}
			if image.Bytes(labels) == nil || truth.Floats(floats) == nil || image.Floats(floats[:3]) == nil {
				t.Error("arrays were read as another type or size")
			}
		})
	}
}

func TestDictionariesOfAllProtocolsAreRead(t *testing.T) {
	for _, protocol := range []string{"2", "3", "4", "5"} {
		v, err := Read(readFile(t, "list_protocol"+protocol+".pkl"))
		if err != nil {
			t.Fatal(err)
		}
		first := v.(map[string]any)["cases"].(map[string]any)["case_00000"].(map[string]any)
		if zoom := first["zoom_factor"].(*Array); zoom.Type != "f8" || zoom.Len() != 3 {
			t.Errorf("protocol %s: zoom_factor is %v", protocol, zoom)
		}
		delete(first, "zoom_factor")
		want := map[string]any{
			"file_list": []any{"case_00000", "case_00003"},
			"cases": map[string]any{
				"case_00000": map[string]any{"image_shape": Tuple{int64(1), int64(128), int64(192), int64(128)}, "count": int64(-7), "ratio": 0.125, "note": nil},
				"case_00003": map[string]any{
					"image_shape": []any{int64(192), int64(128), int64(128)}, "big": int64(1) << 40, "negative": int64(-5),
					"half": 0.5, "yes": true, "long": strings.Repeat("x", 300),
				},
			},
		}
		if d := cmp.Diff(want, v); d != "" {
			t.Errorf("protocol %s (-want +got):\n%s", protocol, d)
		}
	}
}

func TestWhatIsNotAnArrayIsRefused(t *testing.T) {
	array := "\x80\x04cnumpy.core.multiarray\n_reconstruct\n)R"
	dtype := "cnumpy\ndtype\n\x8c\x02f4\x85R"
	tests := []struct{ name, data, want string }{
		{"nothing", "", "the file ends too early"},
		{"another function", "\x80\x04cos\nsystem\n\x8c\x02ls\x85R.", "the pickle asks for os.system, which is refused"},
		{"another function by strings", "\x80\x04\x8c\x08builtins\x8c\x04eval\x93.", "the pickle asks for builtins.eval, which is refused"},
		{"a function that is never called", "cnumpy\nndarray\n.", "a value is pickle.maker"},
		{"an instruction of classes", "\x80\x04(i__main__\nX\n.", "not known here"},
		{"a protocol of the future", "\x80\x09N.", "protocol is 9"},
		{"an array without content", array + ".", "an array has no content"},
		{"too few bytes", array + "(K\x01K\x03\x85" + dtype + "\x89C\x04....tb.", `an array of "f4" with shape [3] has 4 bytes, want 12`},
		{"a huge shape", array + "(K\x01J\xff\xff\xff\x7fJ\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x87" + dtype + "\x89C\x00tb.", "an array has shape"},
		{"an array of objects", array + "(K\x01K\x01\x85cnumpy\ndtype\n\x8c\x02O8\x85R\x89]tb.", "has 0 objects, want 1"},
		{"a list in itself", "]\x94(h\x00e.", "more than 50 deep"},
		{"keys that are numbers", "}K\x01K\x02s.", "a key is int64"},
		{"an empty stack", ".", "there are too few values"},
		{"no mark", "Nt.", "there is no mark"},
		{"a value that was not kept", "h\x07.", "value 7 was not kept"},
		{"a string that is cut off", "X\xff\xff\xff\xffabc", "the file ends too early"},
		{"a large integer", "\x8a\x09123456789.", "an integer has 9 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if v, err := Read([]byte(test.data)); err == nil || !strings.HasPrefix(err.Error(), "pickle: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Read = %v, %v, want an error with %q", v, err, test.want)
			}
		})
	}
}

// A few bytes can stand for more values than there is memory for.
func TestListsThatMultiplyAreRefused(t *testing.T) {
	data := "]\x94" // list 0
	for i := range 40 {
		data += "](" + strings.Repeat("h"+string(rune(i)), 10) + "e\x94"
	}
	if _, err := Read([]byte(data + ".")); err == nil || !strings.Contains(err.Error(), "more values than the file has bytes") {
		t.Errorf("error %v", err)
	}
}

func TestNumbersOfOldProtocolsAreRead(t *testing.T) {
	for data, want := range map[string]any{
		"I12\n.": int64(12), "I01\n.": true, "L-5L\n.": int64(-5), "F0.5\n.": 0.5, "\x8a\x00.": int64(0), "\x8a\x01\xff.": int64(-1), "\x8a\x02\x00\x01.": int64(256),
	} {
		if v, err := Read([]byte(data)); err != nil || v != want {
			t.Errorf("Read(%q) = %v, %v, want %v", data, v, err, want)
		}
	}
}

func TestNumbersOfNumPyAreRead(t *testing.T) {
	number := func(code, data string) string {
		return "cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n\x8c\x02" + code + "\x85RC" + string(rune(len(data))) + data + "tR."
	}
	for _, c := range []struct {
		name, data string
		want       any
	}{
		{"float32", number("f4", "\x00\x00\x00\x3f"), 0.5},
		{"float64", number("f8", "\x00\x00\x00\x00\x00\x00\x00\x40"), 2.0},
		{"a negative int8", number("i1", "\xfe"), int64(-2)},
		{"uint8", number("u1", "\xfe"), int64(254)},
		{"a negative int16", number("i2", "\xfe\xff"), int64(-2)},
		{"uint32", number("u4", "\x01\x00\x00\x80"), int64(1<<31 + 1)},
		{"int64", number("i8", "\xff\xff\xff\xff\xff\xff\xff\xff"), int64(-1)},
	} {
		if v, err := Read([]byte(c.data)); err != nil || v != c.want {
			t.Errorf("%s: Read = %v, %v, want %v", c.name, v, err, c.want)
		}
	}
	for want, data := range map[string]string{
		"a number is a float16":             number("f2", "\x00\x00"),
		`a number of type "f4" has 2 bytes`: number("f4", "\x00\x00"),
		`a number of type "O8" has 1 bytes`: number("O8", "\x00"),
	} {
		if v, err := Read([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read = %v, %v, want %q", v, err, want)
		}
	}
}

// What protocols could write, and NumPy does not always.
func TestRareInstructionsAreRead(t *testing.T) {
	for data, want := range map[string]any{
		"\x8d\x02\x00\x00\x00\x00\x00\x00\x00ab.": "ab",
		"X\x02\x00\x00\x00ab.":                    "ab",
		"\x8e\x02\x00\x00\x00\x00\x00\x00\x00ab.": []byte("ab"),
		"\x96\x02\x00\x00\x00\x00\x00\x00\x00ab.": []byte("ab"),
		"U\x02ab.":             []byte("ab"),
		"T\x02\x00\x00\x00ab.": []byte("ab"),
		"c_codecs\nencode\n\x8c\x02\xc3\xbf\x85R.":     []byte{255},
		"K\x05r\x01\x00\x00\x00j\x01\x00\x00\x00\x86.": Tuple{int64(5), int64(5)},
		"K\x05q\x09h\x09\x86.":                         Tuple{int64(5), int64(5)},
		"(K\x01K\x02l.":                                []any{int64(1), int64(2)},
		"(\x8c\x01aK\x02d.":                            map[string]any{"a": int64(2)},
		"](K\x01e0N.":                                  nil,
		"]K\x01a.":                                     []any{int64(1)},
		"M\x01\x02.":                                   int64(513),
		"G\x3f\xe0\x00\x00\x00\x00\x00\x00.":           0.5,
	} {
		v, err := Read([]byte(data))
		if d := cmp.Diff(want, v); err != nil || d != "" {
			t.Errorf("Read(%q) %v (-want +got):\n%s", data, err, d)
		}
	}
	for data, want := range map[string]string{
		"K\x01K\x02a.":                           "there is no list to append to",
		"]K\x01K\x02s.":                          "there is no dictionary to put values into",
		"(K\x01d.":                               "there are too few values",
		"q\x01.":                                 "there are too few values",
		"\x85.":                                  "there are too few values",
		"r\x01":                                  "the file ends too early",
		"j\x01":                                  "the file ends too early",
		"I12":                                    "the file ends too early",
		"Ix\n.":                                  "invalid syntax",
		"Fx\n.":                                  "invalid syntax",
		"NNR.":                                   "what is called is no function",
		"cnumpy\ndtype\nNR.":                     "what is called is no function, or has no arguments",
		"N)R.":                                   "what is called is no function, or has no arguments",
		"NN\x93.":                                "a name is not a string",
		"NNb.":                                   "an object's state is not as NumPy writes it",
		"N)b.":                                   "an object's state is not as NumPy writes it",
		"cnumpy\ndtype\n\x8c\x02f4\x85R)b.":      "an object's state is not as NumPy writes it",
		"cnumpy\ndtype\n\x8c\x02f4\x85RNN\x86b.": "an object's state is not as NumPy writes it",
		"cnumpy\ndtype\n)R.":                     "a call with 0 arguments is not as NumPy writes it",
		"c_codecs\nencode\n\x8c\x03\xe2\x82\xac\x85R.": "is no byte",
		"cnumpy.core.numeric\n_frombuffer\n(NNNNtR.":   "an array is not as NumPy writes it",
		"cnumpy":      "the file ends too early",
		"cnumpy\ndty": "the file ends too early",
	} {
		if v, err := Read([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q) = %v, %v, want %q", data, v, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"case_protocol2.pkl", "case_protocol4.pkl", "case_protocol5.pkl", "list_protocol2.pkl", "list_protocol4.pkl", "frame_protocol2.pkl", "frame_protocol4.pkl"} {
		f.Add(readFile(f, name))
	}
	f.Add([]byte("]\x94(h\x00e."))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Read(data)
		if err == nil {
			checkArrays(t, v)
		}
	})
}

// checkArrays wants arrays to have as many bytes as their shape asks for.
func checkArrays(t *testing.T, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			checkArrays(t, item)
		}
	case *Array:
		if v.Type == "u1" && v.Len() <= 1<<16 {
			if err := v.Bytes(make([]uint8, v.Len())); err != nil {
				t.Error(err)
			}
		}
		if size := (dtype{code: v.Type}).size(); v.Len()*size != len(v.Data) {
			t.Errorf("array of %s with shape %v has %d bytes", v.Type, v.Shape, len(v.Data))
		}
	}
}

// A file that a full disk or a broken connection has cut off is an error wherever it ends.
func TestNoBeginningOfAPickleIsOne(t *testing.T) {
	for _, name := range []string{"case_protocol2.pkl", "case_protocol5.pkl", "list_protocol4.pkl", "frame_protocol5.pkl"} {
		whole := readFile(t, name)
		for n := range whole {
			if v, err := Read(whole[:n]); err == nil {
				t.Errorf("the first %d of %d bytes of %s are %v", n, len(whole), name, v)
			}
		}
		if _, err := Read(append(whole, "more"...)); err != nil {
			t.Errorf("%s with bytes behind its end: %v", name, err)
		}
	}
}

func TestErrorsSayWhereTheInstructionIs(t *testing.T) {
	for data, want := range map[string]string{
		"NNNi":             "pickle: byte 3, instruction 'i': not known here",
		"\x80\x04K\x01a.":  "pickle: byte 4, instruction 'a': there is no list to append to",
		"\x80\x04]}\x86R.": `pickle: byte 5, instruction 'R': there are too few values`,
		"N0.":              "pickle: byte 2: there are too few values",
		"(.":               "pickle: byte 1: a value is pickle.mark",
	} {
		if v, err := Read([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("Read(%q) = %v, %v, want the error %q", data, v, err, want)
		}
	}
}

func TestValuesMayBeFiftyDeepAndNotMore(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("(", depth) + "N" + strings.Repeat("t", depth) + "." }
	if _, err := Read([]byte(nested(50))); err != nil {
		t.Errorf("50 deep: %v", err)
	}
	if _, err := Read([]byte(nested(51))); err == nil || !strings.Contains(err.Error(), "more than 50 deep") {
		t.Errorf("51 deep: %v", err)
	}
	for name, data := range map[string]string{
		"dictionaries": strings.Repeat("}\x8c\x01k", 51) + "N" + strings.Repeat("s", 51) + ".",
		"arrays": strings.Repeat("cnumpy.core.multiarray\n_reconstruct\n)R(K\x01K\x01\x85cnumpy\ndtype\n\x8c\x02O8\x85R\x89](", 51) +
			"N" + strings.Repeat("etb", 51) + ".",
	} {
		if _, err := Read([]byte(data)); err == nil || !strings.Contains(err.Error(), "more than 50 deep") {
			t.Errorf("%s 51 deep: %v", name, err)
		}
	}
}

func TestIntegersReachTheirBounds(t *testing.T) {
	for data, want := range map[string]any{
		longInt(-1<<63) + ".":                int64(-1 << 63),
		longInt(1<<63-1) + ".":               int64(1<<63 - 1),
		"J\x00\x00\x00\x80.":                 int64(-1 << 31),
		"J\xff\xff\xff\x7f.":                 int64(1<<31 - 1),
		"\x8a\x01\x80.":                      int64(-128),
		"\x8a\x02\x80\x00.":                  int64(128),
		"L-9223372036854775808L\n.":          int64(-1 << 63),
		"I00\n.":                             false,
		"I0\n.":                              int64(0),
		"L7\n.":                              int64(7),
		"K\xff.":                             int64(255),
		"G\xff\xf0\x00\x00\x00\x00\x00\x00.": math.Inf(-1),
	} {
		if v, err := Read([]byte(data)); err != nil || v != want {
			t.Errorf("Read(%q) = %v, %v, want %v", data, v, err, want)
		}
	}
	for _, data := range []string{"L9223372036854775808L\n.", "I9223372036854775808\n.", "L\n.", "LL\n.", "F\n."} {
		if v, err := Read([]byte(data)); err == nil {
			t.Errorf("Read(%q) = %v, want an error", data, v)
		}
	}
}

// What is kept is the value itself, not a copy: what is added later is in both places.
func TestWhatIsKeptIsTheValueItself(t *testing.T) {
	v, err := Read([]byte("(]\x94h\x00K\x01at."))
	if d := cmp.Diff(Tuple{[]any{int64(1)}, []any{int64(1)}}, v); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	v, err = Read([]byte("(K\x01\x94K\x02q\x00h\x00t."))
	if d := cmp.Diff(Tuple{int64(1), int64(2), int64(2)}, v); err != nil || d != "" {
		t.Errorf("a number given twice stands for the later value: %v (-want +got):\n%s", err, d)
	}
}

func TestTheLaterOfTwoEqualKeysCounts(t *testing.T) {
	v, err := Read([]byte("}(\x8c\x01aK\x01\x8c\x01aK\x02u."))
	if d := cmp.Diff(map[string]any{"a": int64(2)}, v); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}
