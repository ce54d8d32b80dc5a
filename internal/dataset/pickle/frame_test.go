package pickle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readFrame(t *testing.T, name string) *Frame {
	t.Helper()
	v, err := Read(readFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*Frame)
}

func column(t *testing.T, f *Frame, name string) []any {
	t.Helper()
	c, ok := f.Column(name)
	if !ok {
		t.Fatalf("there is no column %s among %q", name, f.Names)
	}
	return c
}

func TestTablesOfAllProtocolsAreRead(t *testing.T) {
	for _, protocol := range []string{"2", "4", "5"} {
		t.Run("protocol "+protocol, func(t *testing.T) {
			f := readFrame(t, "frame_protocol"+protocol+".pkl")
			if f.Rows != 3 || strings.Join(f.Names, " ") != "id input tok_input n f origin ok m" {
				t.Fatalf("%d rows of %q", f.Rows, f.Names)
			}
			for name, want := range map[string][]any{
				"id": {"a", "b", "c"}, "input": {"x é", "", "z\n"}, "n": {int64(2), int64(1), int64(3)}, "f": {1.5, 2.5, -3.5},
				"origin": {"cot", nil, "t0"}, "ok": {true, false, true}, "m": {int64(20), int64(10), int64(30)},
			} {
				if diff := cmp.Diff(want, column(t, f, name)); diff != "" {
					t.Errorf("column %s (-want +got):\n%s", name, diff)
				}
			}
			tokens := column(t, f, "tok_input")
			if diff := cmp.Diff([]any{int64(1), int64(29871)}, tokens[0]); diff != "" {
				t.Errorf("the first tokens (-want +got):\n%s", diff)
			}
			ids, err := tokens[2].(*Array).Integers()
			if diff := cmp.Diff([]int64{4, 5, 6}, ids); diff != "" || err != nil {
				t.Errorf("the last tokens are %v, %v", ids, err)
			}
			if _, ok := f.Column("output"); ok {
				t.Error("there is a column output")
			}
		})
	}
}

func TestPartsOfTablesAreRead(t *testing.T) {
	f := readFrame(t, "frame_part.pkl")
	if diff := cmp.Diff([]any{"a", "c"}, column(t, f, "id")); diff != "" || f.Rows != 2 {
		t.Errorf("%d rows, ids (-want +got):\n%s", f.Rows, diff)
	}
}

func TestTablesOfOtherTypesAreRefusedByName(t *testing.T) {
	_, err := Read(readFile(t, "frame_dates.pkl"))
	if err == nil || !strings.Contains(err.Error(), "datetime") && !strings.Contains(err.Error(), "DatetimeArray") && !strings.Contains(err.Error(), "pandas") {
		t.Errorf("a column of dates: %v", err)
	}
}

func TestDamagedTablesAreErrors(t *testing.T) {
	whole := string(readFile(t, "frame_protocol4.pkl"))
	for claim, replace := range map[string][2]string{
		"rows that are not there":    {"stop\x94K\x03", "stop\x94K\x04"},
		"an endless range":           {"step\x94K\x01", "step\x94K\x00"},
		"columns beyond the last":    {"K\x04K\x05K\x01", "K\x04K\x09K\x01"},
		"a place twice":              {"K\x04K\x05K\x01", "K\x03K\x04K\x01"},
		"a name that is no text":     {"\x8c\x06origin\x94", "K\x01K\x02K\x030000"},
		"another name than a module": {"pandas.core.frame", "pandas.core.evilx"},
	} {
		t.Run(claim, func(t *testing.T) {
			damaged := strings.Replace(whole, replace[0], replace[1], 1)
			if damaged == whole {
				t.Fatal("the text to be replaced is not there")
			}
			if v, err := Read([]byte(damaged)); err == nil {
				t.Errorf("Read = %v, want an error", v)
			}
		})
	}
}

// tableOf is the pickle of a table of two columns, a and b, in one block, but for what is given: the block's
// values, its places, and the index of rows.
func tableOf(values, places, rows string) string {
	names := "cpandas.core.indexes.base\n_new_Index\n(cpandas.core.indexes.base\nIndex\n}\x8c\x04data" + objectsOf("\x8c\x01a\x8c\x01b", "(K\x02t") + "stR"
	return "cpandas.core.frame\nDataFrame\n)R}\x8c\x04_mgrcpandas.core.internals.managers\nBlockManager\n(" +
		"(cpandas.core.internals.blocks\nnew_block\n(" + values + places + "K\x02tRt" + "](" + names + rows + "etRsb."
}

// objectsOf is an array of objects.
func objectsOf(items, shape string) string {
	return arrayCall + "(K\x01" + shape + "cnumpy\ndtype\n\x8c\x02O8\x85R\x89](" + items + "etb"
}

// rangeOf is the index of so many rows.
func rangeOf(rows string) string {
	return "cpandas.core.indexes.base\n_new_Index\n(cpandas.core.indexes.range\nRangeIndex\n}(\x8c\x05startK\x00\x8c\x04stop" + rows + "\x8c\x04stepK\x01utR"
}

// bytesOf is an array of bytes of the shape given.
func bytesOf(data, shape string) string {
	return "cnumpy.core.numeric\n_frombuffer\n(C" + string(rune(len(data))) + data + "cnumpy\ndtype\n\x8c\x02u1\x85R" + shape + "\x8c\x01CtR"
}

func TestTablesOfAnyPlacesAndRowsAreRead(t *testing.T) {
	values := bytesOf("\x01\x02\x03\x04", "K\x02K\x02\x86")
	for _, c := range []struct {
		name, data string
		a, b       []any
	}{
		{"places in order", tableOf(values, "cbuiltins\nslice\n(K\x00K\x02NtR", rangeOf("K\x02")), []any{int64(1), int64(2)}, []any{int64(3), int64(4)}},
		{"places backwards", tableOf(values, "cbuiltins\nslice\n(K\x01J\xff\xff\xff\xffJ\xff\xff\xff\xfftR", rangeOf("K\x02")), []any{int64(3), int64(4)}, []any{int64(1), int64(2)}},
		{"places in an array", tableOf(values, bytesOf("\x01\x00", "K\x02\x85"), rangeOf("K\x02")), []any{int64(3), int64(4)}, []any{int64(1), int64(2)}},
		{"no rows", tableOf(bytesOf("", "K\x02K\x00\x86"), bytesOf("\x00\x01", "K\x02\x85"), rangeOf("K\x00")), []any{}, []any{}},
	} {
		v, err := Read([]byte(c.data))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		f := v.(*Frame)
		if f.Rows != len(c.a) {
			t.Errorf("%s: %d rows, want %d", c.name, f.Rows, len(c.a))
		}
		if d := cmp.Diff([][]any{c.a, c.b}, [][]any{column(t, f, "a"), column(t, f, "b")}); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestTablesThatPandasDoesNotWriteAreRefusedByWhatIsWrong(t *testing.T) {
	values, both, two := bytesOf("\x01\x02\x03\x04", "K\x02K\x02\x86"), bytesOf("\x00\x01", "K\x02\x85"), rangeOf("K\x02")
	const foreign = "a table is not as pandas writes it"
	manager := "cpandas.core.internals.managers\nBlockManager\n"
	for _, c := range []struct{ name, data, want string }{
		{"another number of rows", tableOf(values, both, rangeOf("K\x03")), "a block of columns is not one of 3 rows"},
		{"a block of one axis", tableOf(bytesOf("\x01\x02", "K\x02\x85"), both, two), "a block of columns is not one of 2 rows"},
		{"a block without content", tableOf(arrayCall, both, two), "a block of columns is not one of 2 rows"},
		{"fewer places than columns", tableOf(values, bytesOf("\x00", "K\x01\x85"), two), "a block has 2 columns and 1 places for them"},
		{"a place behind the last", tableOf(values, bytesOf("\x00\x02", "K\x02\x85"), two), "a column has place 2 of 2"},
		{"a place before the first", tableOf(values, "cbuiltins\nslice\n(J\xff\xff\xff\xffK\x01NtR", two), "a column has place -1 of 2"},
		{"one place twice", tableOf(values, bytesOf("\x01\x01", "K\x02\x85"), two), `column "b" has values twice`},
		{"a column without values", tableOf(bytesOf("\x01\x02", "K\x01K\x02\x86"), bytesOf("\x01", "K\x01\x85"), two), `column "a" has no values`},
		{"places that are no numbers", tableOf(values, objectsOf("NN", "(K\x02t"), two), foreign},
		{"places of float16", tableOf(values, "cnumpy.core.numeric\n_frombuffer\n(C\x04....cnumpy\ndtype\n\x8c\x02f2\x85RK\x02\x85\x8c\x01CtR", two), "want whole numbers, float32 or float64"},
		{"places that are nothing", tableOf(values, "N", two), foreign},
		{"rows that are nothing", tableOf(values, both, "N"), foreign},
		{"values that are a list", tableOf("]", both, two), "columns are *pickle.list, want an array of numbers or objects"},
		{"a value that is a class", tableOf(objectsOf("cnumpy\nndarray\nNNN", "(K\x02K\x02t"), both, two), "a value is pickle.maker"},
		{"a table without state", "cpandas.core.frame\nDataFrame\n)R.", foreign},
		{"a table that is a list", "cpandas.core.frame\nDataFrame\n)R]b.", foreign},
		{"a table of an old pandas", "cpandas.core.frame\nDataFrame\n)R}b.", "a table has no manager of blocks: it was written by a pandas before 1.3"},
		{"a manager of nothing", manager + ")R.", foreign},
		{"a manager of lists", manager + "]]\x86R.", foreign},
		{"a manager of one axis", manager + ")]Na\x86R.", foreign},
		{"a block of nothing", "cpandas.core.internals.blocks\nnew_block\n)R.", foreign},
		{"an index of nothing", "cpandas.core.indexes.base\n_new_Index\n)R.", foreign},
		{"an index of a list", "cpandas.core.indexes.base\n_new_Index\nN]\x86R.", foreign},
		{"an index of an array without content", "cpandas.core.indexes.base\n_new_Index\nN}\x8c\x04data" + arrayCall + "s\x86R.", "an index is neither an array nor a range"},
		{"an index as the value", rangeOf("K\x02") + ".", "a value is *pickle.index"},
		{"a block as the value", "cpandas.core.internals.blocks\nnew_block\n(" + values + "NtR.", "a value is *pickle.block"},
		{"an index called by its name", "cpandas.core.indexes.base\nIndex\n)R.", "a class is called that is only named otherwise"},
	} {
		if v, err := Read([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Read = %v, %v, want an error with %q", c.name, v, err, c.want)
		}
	}
}
