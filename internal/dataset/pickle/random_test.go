package pickle

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// described is a value as testdata/make_random.py describes it.
func described(v any) any {
	switch v := v.(type) {
	case int64:
		return map[string]any{"int": strconv.FormatInt(v, 10)}
	case float64:
		return map[string]any{"float": v}
	case []byte:
		return map[string]any{"bytes": hex.EncodeToString(v)}
	case []any:
		return describedAll(v)
	case Tuple:
		return map[string]any{"tuple": describedAll(v)}
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = described(item)
		}
		return map[string]any{"dict": out}
	case *Array:
		return describedArray(v)
	case *Frame:
		names, columns := []any{}, []any{}
		for _, name := range v.Names {
			column, _ := v.Column(name)
			names, columns = append(names, name), append(columns, describedAll(column))
		}
		return map[string]any{"frame": []any{names, float64(v.Rows), columns}}
	}
	return v // null, truth values and text
}

func describedAll(items []any) []any {
	out := []any{}
	for _, item := range items {
		out = append(out, described(item))
	}
	return out
}

// describedArray has the bytes in C order, whatever the array's own is.
func describedArray(a *Array) any {
	shape := []any{}
	for _, extent := range a.Shape {
		shape = append(shape, float64(extent))
	}
	if a.Type == "O8" {
		return map[string]any{"objects": []any{shape, describedAll(a.Objects)}}
	}
	data := a.Data
	if n := a.Len(); a.Fortran && n > 0 {
		size := len(a.Data) / n
		data = make([]byte, len(a.Data))
		for i := range n { // place i in C order
			from, step, rest := 0, 1, i
			places := make([]int, len(a.Shape))
			for axis := len(a.Shape) - 1; axis >= 0; axis-- {
				places[axis], rest = rest%a.Shape[axis], rest/a.Shape[axis]
			}
			for axis, extent := range a.Shape {
				from, step = from+places[axis]*step, step*extent
			}
			copy(data[i*size:][:size], a.Data[from*size:])
		}
	}
	return map[string]any{"array": []any{a.Type, shape, hex.EncodeToString(data)}}
}

// numbers puts numbers in the place of the hexadecimal ones that JSON has as text.
func numbers(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = numbers(t, v[i])
		}
	case map[string]any:
		for key, item := range v {
			v[key] = numbers(t, item)
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

// TestWhatPythonPicklesIsRead compares with what NumPy and pandas said of 400 random values.
func TestWhatPythonPicklesIsRead(t *testing.T) {
	cases := testfile.JSON[[]struct {
		Protocol int
		Pickle   []byte
		Value    any
	}](t, "testdata/random.json.gz")
	if len(cases) != 400 {
		t.Fatalf("%d cases, want 400", len(cases))
	}
	same := cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b })
	for i, c := range cases {
		v, err := Read(c.Pickle)
		if err != nil {
			t.Errorf("value %d, protocol %d: %v", i, c.Protocol, err)
			continue
		}
		if diff := cmp.Diff(numbers(t, c.Value), described(v), same); diff != "" {
			t.Errorf("value %d, protocol %d (-want +got):\n%s", i, c.Protocol, diff)
		}
	}
}

// TestEveryCutPickleIsRefused cuts the tables and arrays of Python everywhere: what is left is an error and no panic.
func TestEveryCutPickleIsRefused(t *testing.T) {
	for _, name := range []string{"frame_protocol2.pkl", "frame_protocol5.pkl", "frame_part.pkl", "case_protocol4.pkl", "list_protocol2.pkl"} {
		data := readFile(t, name)
		for n := range len(data) {
			if v, err := Read(data[:n]); err == nil || !strings.HasPrefix(err.Error(), "pickle: ") {
				t.Fatalf("the first %d of %d bytes of %s are %v, %v", n, len(data), name, v, err)
			}
		}
	}
}

// TestNoChangedByteIsAPanic changes each byte of tables and arrays: they are read or refused.
func TestNoChangedByteIsAPanic(t *testing.T) {
	var read, refused int
	for _, name := range []string{"frame_protocol4.pkl", "list_protocol4.pkl"} {
		data := readFile(t, name)
		for i := range data {
			for _, change := range []byte{1, 0x80, 0xff} {
				data[i] ^= change
				if v, err := Read(data); err != nil {
					refused++
				} else {
					read++
					_ = described(v)
				}
				data[i] ^= change
			}
		}
	}
	if read == 0 || refused == 0 {
		t.Errorf("%d changed files are read and %d refused", read, refused)
	}
}

func ExampleRead() {
	data, err := os.ReadFile("testdata/frame_part.pkl") // pandas.DataFrame.to_pickle
	if err != nil {
		panic(err)
	}
	v, err := Read(data)
	if err != nil {
		panic(err)
	}
	table := v.(*Frame)
	column, _ := table.Column("id")
	fmt.Println(table.Rows, column)

	_, err = Read([]byte("cos\nsystem\n(S'echo'\ntR."))
	fmt.Println(err)
	// Output:
	// 2 [a c]
	// pickle: byte 0, instruction 'c': the pickle asks for os.system, which is refused: want nothing but NumPy's arrays and pandas' tables of them
}
