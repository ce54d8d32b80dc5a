package pickle

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// described is a value as testdata/make_random.py describes it.
func described(v any) any {
	list := func(items []any) []any {
		out := []any{}
		for _, item := range items {
			out = append(out, described(item))
		}
		return out
	}
	switch v := v.(type) {
	case int64:
		return map[string]any{"int": strconv.FormatInt(v, 10)}
	case float64:
		return map[string]any{"float": v}
	case []byte:
		return map[string]any{"bytes": hex.EncodeToString(v)}
	case []any:
		return list(v)
	case []int64:
		out := []any{}
		for _, n := range v {
			out = append(out, described(n))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = described(item)
		}
		return map[string]any{"dict": out}
	case *Array:
		shape := []any{}
		for _, extent := range v.Shape {
			shape = append(shape, float64(extent))
		}
		if v.Type == "O8" {
			return map[string]any{"objects": []any{shape, list(v.Objects)}}
		}
		size, inOrder := elementSize(v.Type), make([]byte, len(v.Data))
		v.order(func(to, from int) { copy(inOrder[to*size:], v.Data[from*size:][:size]) })
		return map[string]any{"array": []any{v.Type, shape, hex.EncodeToString(inOrder)}}
	case *Frame:
		names, columns := []any{}, []any{}
		for i, name := range v.Names {
			names, columns = append(names, name), append(columns, list(v.Columns[i]))
		}
		return map[string]any{"frame": []any{names, float64(v.Rows), columns}}
	}
	return v // null, truth values and text
}

// withNumbers replaces the hexadecimal numbers that JSON has as text.
func withNumbers(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withNumbers(t, v[i])
		}
	case map[string]any:
		for key, item := range v {
			v[key] = withNumbers(t, item)
		}
		if text, ok := v["float"].(string); ok && len(v) == 1 {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			v["float"] = n
		}
	}
	return v
}

// TestReadPython compares with what NumPy and pandas have in 400 random values.
func TestReadPython(t *testing.T) {
	same := cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b })
	for _, name := range []string{"numpy1", "numpy2"} {
		cases := testenv.JSON[[]struct {
			Protocol int
			Pickle   []byte
			Value    any
		}](t, "testdata/"+name+".json.gz")
		if len(cases) != 200 {
			t.Fatalf("%s has %d cases, want 200", name, len(cases))
		}
		for i, c := range cases {
			v, err := Read(c.Pickle)
			if err != nil {
				t.Errorf("%s: value %d, protocol %d: %v", name, i, c.Protocol, err)
				continue
			}
			if diff := cmp.Diff(withNumbers(t, c.Value), described(v), same); diff != "" {
				t.Errorf("%s: value %d, protocol %d (-want +got):\n%s", name, i, c.Protocol, diff)
			}
		}
	}
}

// TestReadCut cuts a file as a full disk or a broken connection does.
func TestReadCut(t *testing.T) {
	whole := testenv.Read(t, "testdata/frame_protocol4.pkl")
	for n := range whole {
		if v, err := Read(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are %v", n, len(whole), v)
		}
	}
	if _, err := Read(append(whole, "more"...)); err != nil {
		t.Errorf("with bytes after the end: %v", err)
	}
}

const (
	newArray  = "cnumpy.core.multiarray\n_reconstruct\n)R"
	floatType = "cnumpy\ndtype\n\x8c\x02f4\x85R"
)

func TestReadRefuses(t *testing.T) {
	multiplied := "]\x94" // list 0; each further list has the one before ten times
	for i := range 40 {
		multiplied += "](" + strings.Repeat("h"+string(rune(i)), 10) + "e\x94"
	}
	bytes256 := "B\x00\x01\x00\x00" + strings.Repeat("x", 256)
	for _, c := range []struct{ name, data, want string }{
		{"nothing", "", "the file ends too early"},
		{"a function", "\x80\x04cos\nsystem\n\x8c\x02ls\x85R.", "asks for os.system, which is refused"},
		{"a function by strings", "\x80\x04\x8c\x08builtins\x8c\x04eval\x93.", "asks for builtins.eval, which is refused"},
		{"an instance", "\x80\x04(i__main__\nX\n.", "byte 3: instruction 'i': not expected"},
		{"an extension", "\x82\x01.", "not expected"},
		{"a class as a value", "cnumpy\nndarray\n.", "a value is pickle.function"},
		{"an object of a class", "ccopy_reg\n_reconstructor\nc__builtin__\nobject\nc__builtin__\nobject\nN\x87R.", "pickle: "},
		{"a protocol of the future", "\x80\x09N.", "unsupported pickle protocol: 9"},
		{"bytes of 2^62", "\x8e\x00\x00\x00\x00\x00\x00\x00\x40x.", "byte 0: the file ends too early"},
		{"a string of 4 GB", "X\xff\xff\xff\xffx.", "byte 0: the file ends too early"},
		{"a frame of 2^40", "\x95\x00\x00\x00\x00\x00\x01\x00\x00N.", "byte 0: the file ends too early"},
		{"many marks", strings.Repeat("(", 1001) + "N.", "more than 1000 open marks"},
		{"a list in itself", "]\x94(h\x00e.", "more than 50 inside each other"},
		{"lists that multiply", multiplied + ".", "more values than the file has bytes"},
		{"bytes that multiply", bytes256 + "\x940](" + strings.Repeat("h\x00", 5000) + "e.", "more values than the file has bytes"},
		{"deep tuples", strings.Repeat("N\x85", 1) + strings.Repeat("\x85", 60) + ".", "more than 50 inside each other"},
		{"a key without a value", "}(\x8c\x01au.", "damaged"},
		{"keys that are numbers", "}K\x01K\x02s.", "a key is int"},
		{"a large integer", "\x8a\x09123456789.", "a value is *big.Int"},
		{"an empty stack", ".", "the stack is empty"},
		{"an array without content", newArray + ".", "an array has no content"},
		{"an array of too few bytes", newArray + "(K\x01K\x03\x85" + floatType + "\x89C\x04....tb.", `an array of "f4" with shape [3] has 4 bytes or objects, expected 12`},
		{"an array of a huge shape", newArray + "(K\x01J\xff\xff\xff\x7fJ\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x87" + floatType + "\x89C\x00tb.", "an array has shape"},
		{"an array of too few objects", newArray + "(K\x01K\x01\x85cnumpy\ndtype\n\x8c\x02O8\x85R\x89]tb.", "has 0 bytes or objects, expected 1"},
		{"an array of dates", newArray + "(K\x01)cnumpy\ndtype\n\x8c\x02M8\x85R\x89C\x04....tb.", `elements of type "M8", expected plain numbers`},
		{"a big-endian array", newArray + "(K\x01)" + floatType + "(K\x03\x8c\x01>tb\x89C\x04....tb.", `an array of "f4" is big-endian`},
		{"a float16", "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\n\x8c\x02f2\x85RC\x02..\x86R.", "a number is a float16"},
		{"a table of dates", string(testenv.Read(t, "testdata/frame_dates.pkl")), "which is refused"},
		{"a table of an old pandas", "cpandas.core.frame\nDataFrame\n)R}b.", "it is from pandas before 1.3"},
	} {
		if v, err := Read([]byte(c.data)); err == nil || !strings.HasPrefix(err.Error(), "pickle: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Read = %v, %v, want an error with %q", c.name, v, err, c.want)
		}
	}
}

func TestReadDamagedTables(t *testing.T) {
	whole := string(testenv.Read(t, "testdata/frame_protocol4.pkl"))
	for claim, replace := range map[string][2]string{
		"more rows than values":   {"stop\x94K\x03", "stop\x94K\x04"},
		"an endless range":        {"step\x94K\x01", "step\x94K\x00"},
		"columns beyond the last": {"K\x04K\x05K\x01", "K\x04K\x09K\x01"},
		"a place twice":           {"K\x04K\x05K\x01", "K\x03K\x04K\x01"},
		"a name that is a number": {"\x8c\x06origin\x94", "K\x01K\x02K\x030000"},
	} {
		damaged := strings.Replace(whole, replace[0], replace[1], 1)
		if damaged == whole {
			t.Fatalf("%s: the text to be replaced is not there", claim)
		}
		if v, err := Read([]byte(damaged)); err == nil {
			t.Errorf("%s: Read = %v, want an error", claim, v)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(testenv.Read(f, "testdata/frame_protocol4.pkl"))
	f.Add([]byte("]\x94(h\x00e."))
	f.Add([]byte(newArray + "(K\x01K\x01\x85" + floatType + "\x89C\x04....tb."))
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, err := Read(data); err == nil {
			_ = described(v) // reads all elements of arrays
		}
	})
}

func ExampleRead() {
	data, err := os.ReadFile("testdata/frame_protocol4.pkl") // pandas.DataFrame.to_pickle
	if err != nil {
		panic(err)
	}
	v, err := Read(data)
	if err != nil {
		panic(err)
	}
	table := v.(*Frame)
	fmt.Println(table.Rows, table.Names[0], table.Columns[0])

	_, err = Read([]byte("\x80\x04cos\nsystem\n\x8c\x02ls\x85R."))
	fmt.Println(err)
	// Output:
	// 3 id [a b c]
	// pickle: the pickle asks for os.system, which is refused: only NumPy arrays and pandas tables of them
}

// archive writes an archive of entries; a name that ends with "!" is compressed.
func archive(t testing.TB, entries ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := 0; i < len(entries); i += 2 {
		name, compressed := strings.CutSuffix(entries[i], "!")
		h := &zip.FileHeader{Name: name}
		if compressed {
			h.Method = zip.Deflate
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(entries[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// tensorOf is the pickle of a tensor of float32 named 0.
func tensorOf(count, first, shape, strides string) string {
	return "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu" +
		count + "tQ" + first + shape + strides + "\x89ccollections\nOrderedDict\n)RtR."
}

func TestReadTorch(t *testing.T) {
	a, err := ReadTorch(testenv.Read(t, "testdata/torch_float.pt"))
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, 24)
	if err := a.Floats(values); err != nil || values[0] != 0 || values[23] != 23 || !cmp.Equal(a.Shape, []int{1, 2, 3, 4}) {
		t.Errorf("the tensor is %v %v, %v", a.Shape, values, err)
	}
	const two4, strides = "(K\x02K\x04t", "(K\x04K\x01t"
	memory := strings.Repeat("\x00", 32)
	good := tensorOf("K\x08", "K\x00", two4, strides)
	if a, err := ReadTorch(archive(t, "x/data.pkl", good, "x/data/0", memory)); err != nil || a.Len() != 8 {
		t.Fatalf("%v, %v", a, err)
	}
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"another file", "not an archive of torch.save", []byte("\x80\x02.")},
		{"no pickle", "the archive has no data.pkl", archive(t, "x/y/data.pkl", good)},
		{"no memory", "the archive has no x/data/0", archive(t, "x/data.pkl", good)},
		{"too little memory", "the tensor has 31 bytes, expected 8 numbers of 4", archive(t, "x/data.pkl", good, "x/data/0", memory[:31])},
		{"compressed memory", "x/data/0: compressed", archive(t, "x/data.pkl", good, "x/data/0!", memory)},
		{"another type", "torch.HalfStorage, which is refused", archive(t, "x/data.pkl", strings.Replace(good, "Float", "Half", 1), "x/data/0", memory)},
		{"a function", "os.system, which is refused", archive(t, "x/data.pkl", "cos\nsystem\n.")},
		{"a dictionary", "Dict, expected a tensor", archive(t, "x/data.pkl", "}.")},
		{"turned axes", "it must be contiguous", archive(t, "x/data.pkl", tensorOf("K\x08", "K\x00", two4, "(K\x01K\x02t"), "x/data/0", memory)},
		{"a part beyond the end", "starts at element 1 of 8", archive(t, "x/data.pkl", tensorOf("K\x08", "K\x01", two4, strides), "x/data/0", memory)},
		{"a part before the first", "starts at element -1 of 8", archive(t, "x/data.pkl", tensorOf("K\x08", "J\xff\xff\xff\xff", two4, strides), "x/data/0", memory)},
	} {
		if a, err := ReadTorch(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: ReadTorch = %v, %v, want an error with %q", c.name, a, err, c.want)
		}
	}
	// Eight names of the directory that are led to the place of the first ask for the same bytes eight times.
	program, entries := "(", []string{"x/data.pkl", ""}
	for key := range "01234567" {
		k := strconv.Itoa(key)
		program += "(X\x07\x00\x00\x00storagectorch\nFloatStorage\n\x8c\x01" + k + "\x8c\x03cpuJ\x00\x04\x00\x00tQ"
		entries = append(entries, "x/data/"+k, strings.Repeat("m", 4096))
	}
	entries[1] = program + "t."
	data := archive(t, entries...)
	first, directory := bytes.Index(data, []byte("x/data/0"))-30, bytes.Index(data, []byte("PK\x01\x02"))
	for key := 1; key < 8; key++ {
		at := directory + bytes.Index(data[directory:], []byte("x/data/"+strconv.Itoa(key))) - 46
		binary.LittleEndian.PutUint32(data[at+42:], uint32(first))
	}
	cut := bytes.Index(data, []byte("x/data/3")) - 30
	moved := append(bytes.Clone(data[:cut]), data[directory:]...)
	binary.LittleEndian.PutUint32(moved[bytes.LastIndex(moved, []byte("PK\x05\x06"))+16:], uint32(cut))
	if _, err := ReadTorch(moved); err == nil || !strings.Contains(err.Error(), "longer than the archive") {
		t.Errorf("eight entries in the place of one: %v", err)
	}
}

func FuzzReadTorch(f *testing.F) {
	f.Add(testenv.Read(f, "testdata/torch_float.pt"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := ReadTorch(data); err == nil && len(a.Data) > len(data) {
			t.Errorf("%d bytes became a tensor of %d", len(data), len(a.Data))
		}
	})
}
