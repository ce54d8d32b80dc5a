package pickle

import (
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
		{"a function that is never called", "cnumpy\nndarray\n.", "a value is pickle.function"},
		{"an instruction of classes", "\x80\x04(i__main__\nX\n.", "not known here"},
		{"a protocol of the future", "\x80\x09N.", "protocol is 9"},
		{"an array without content", array + ".", "an array has no content"},
		{"too few bytes", array + "(K\x01K\x03\x85" + dtype + "\x89C\x04....tb.", `an array of "f4" with shape [3] has 4 bytes, want 12`},
		{"a huge shape", array + "(K\x01J\xff\xff\xff\x7fJ\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x87" + dtype + "\x89C\x00tb.", "an array has shape"},
		{"an array of objects", array + "(K\x01K\x01\x85cnumpy\ndtype\n\x8c\x02O8\x85R\x89]tb.", "not as NumPy writes it"},
		{"big-endian", array + "(K\x01K\x01\x85" + dtype + "(K\x03\x8c\x01>NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89C\x04....tb.", "an array is big-endian"},
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
	if _, err := Read([]byte(data + ".")); err == nil || !strings.Contains(err.Error(), "more than 1048576 values") {
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

func FuzzRead(f *testing.F) {
	for _, name := range []string{"case_protocol2.pkl", "case_protocol4.pkl", "case_protocol5.pkl", "list_protocol2.pkl", "list_protocol4.pkl"} {
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
