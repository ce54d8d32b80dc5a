package prompts

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

func parse(t *testing.T, text string) *Table {
	t.Helper()
	table, err := Parse([]byte(text), "file", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

const two = `[{"instruction":"Sum up","input":"A b.","tok_input":[1,2,3],"output":"c"},
 {"instruction":"Sum up","input":"Ü","tok_input":[],"output":null,"n":2.0}]`

func TestJSONIsReadAsAListOrAsLines(t *testing.T) {
	lines := strings.ReplaceAll(strings.Trim(two, "[]"), ",\n", "\n\n") + "\n"
	for name, text := range map[string]string{
		"a list": two, "lines": lines, "a mark of its bytes": "\ufeff" + two, "lines with one": "\ufeff" + lines,
		"a list in an object": "{\n\"version\": 1,\n\"data\": " + two + "}",
	} {
		t.Run(name, func(t *testing.T) {
			table := parse(t, text)
			if table.Len() != 2 || strings.Join(table.Columns(), " ") != "input instruction n output tok_input" {
				t.Fatalf("%d rows of %q", table.Len(), table.columns)
			}
			if ids, err := table.Tokens(0, "tok_input"); err != nil || !cmp.Equal(ids, []int32{1, 2, 3}) {
				t.Errorf("tokens %v, %v", ids, err)
			}
			if text, err := table.Text(1, "input"); err != nil || text != "Ü" {
				t.Errorf("text %q, %v", text, err)
			}
			if text, err := table.Text(1, "output"); err == nil {
				t.Errorf("output %q where there is none", text)
			}
			if first, err := Parse([]byte(text), "file", Options{Count: 1}); err != nil || first.Len() != 1 {
				t.Errorf("the first row: %+v, %v", first, err)
			}
		})
	}
}

func TestPicklesAreReadAsTables(t *testing.T) {
	data, err := os.ReadFile("testdata/frame_protocol4.pkl") // ../pickle/testdata/make_frames.py
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(data); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "prompts.pkl.gz")
	if err := os.WriteFile(path, zipped.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := Read(path, Options{Count: 3})
	if err != nil || table.Len() != 3 {
		t.Fatalf("%+v, %v", table, err)
	}
	for i, want := range [][]int32{{1, 29871}, {3}, {4, 5, 6}} {
		if ids, err := table.Tokens(i, "tok_input"); err != nil || !cmp.Equal(ids, want) {
			t.Errorf("tokens of row %d are %v, %v, want %v", i, ids, err, want)
		}
	}
	if text, err := table.Text(2, "n"); text != "3" || err != nil {
		t.Errorf("n is %q, %v", text, err)
	}
	list := parse(t, "\x80\x02](}X\x05\x00\x00\x00inputX\x01\x00\x00\x00xse.")
	if text, err := list.Text(0, "input"); text != "x" || err != nil {
		t.Errorf("the text of a list is %q, %v", text, err)
	}
}

// pickledArray is a list of a dictionary of an array of one number, as protocol 4 writes it.
func pickledArray(code, number string) string {
	return "\x80\x04](}\x8c\x01acnumpy.core.multiarray\n_reconstruct\n)R(K\x01K\x01\x85cnumpy\ndtype\n\x8c\x02" + code + "\x85R\x89C\x08" + number + "tbse."
}

func TestValuesOfPicklesAreTextsAndTokens(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want any
	}{
		"an array": {pickledArray("i8", "\x07\x00\x00\x00\x00\x00\x00\x00"), []int32{7}},
		"a tuple":  {"\x80\x04](}\x8c\x01aK\x01K\x02\x86se.", []int32{1, 2}},
		"bytes":    {"\x80\x04](}\x8c\x01aC\x02abse.", "ab"},
	} {
		if got, _ := parse(t, c.text).Value(0, "a"); !cmp.Equal(got, c.want) {
			t.Errorf("%s is %#v, want %#v", name, got, c.want)
		}
	}
}

func TestAFileThatIsNotThereIsNamed(t *testing.T) {
	_, err := Read(filepath.Join(t.TempDir(), "prompts.json"), Options{})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "prompts.json") {
		t.Errorf("error %v", err)
	}
}

// The library panics on some of these files, which must not end the program.
func TestDamagedParquetIsRefusedOrRead(t *testing.T) {
	good := parquetFile(t, []parquetRow{{Input: "a", Tokens: []int32{1, 2}}, {Input: "b"}, {Input: "c", Names: []string{"x"}}})
	for i := 4; i < len(good); i += 3 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x80
		if table, err := Parse(bad, "file", Options{Count: 10}); err == nil && table.Len() == 0 {
			t.Errorf("with byte %d changed there is no row and no error", i)
		}
	}
}

type parquetRow struct {
	Input  string   `parquet:"text_input"`
	Tokens []int32  `parquet:"tok_input,list"`
	Length int64    `parquet:"length"`
	Share  float64  `parquet:"share"`
	Maybe  *string  `parquet:"maybe,optional"`
	Good   bool     `parquet:"good"`
	Names  []string `parquet:"names"`
	Large  []int64  `parquet:"large"`
	Part   float32  `parquet:"part"`
	Deep   struct {
		A, B int32
	} `parquet:"deep"`
}

func parquetFile(t testing.TB, rows []parquetRow) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[parquetRow](&b, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(2))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestParquetIsRead(t *testing.T) {
	text := "m"
	rows := []parquetRow{{Input: "a", Tokens: []int32{1, 2}, Length: 7, Share: .5, Good: true, Part: .25, Large: []int64{1, 1 << 40, 2}}, {Input: "é", Maybe: &text, Names: []string{"x", "y"}}, {Input: "c", Tokens: []int32{3}}}
	table := parse(t, string(parquetFile(t, rows)))
	want := []row{
		{"text_input": "a", "tok_input": []int32{1, 2}, "length": int64(7), "share": .5, "good": true, "names": []int32{}, "part": .25, "large": []any{int64(1), int64(1 << 40), int64(2)}},
		{"text_input": "é", "tok_input": []int32{}, "length": int64(0), "share": 0., "good": false, "maybe": "m", "names": []any{"x", "y"}, "part": 0., "large": []int32{}},
		{"text_input": "c", "tok_input": []int32{3}, "length": int64(0), "share": 0., "good": false, "names": []int32{}, "part": 0., "large": []int32{}},
	}
	if diff := cmp.Diff(want, table.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	first, err := Parse(parquetFile(t, rows), "file", Options{Count: 1})
	if err != nil || first.Len() != 1 {
		t.Errorf("the first row: %v, %v", first, err)
	}
}

func TestParquetOfAnotherWriterIsRead(t *testing.T) {
	table, err := Read("testdata/hyparquet.parquet", Options{}) // testdata/make_parquet.mjs
	if err != nil {
		t.Fatal(err)
	}
	want := []row{
		{"prompt": "first", "n": int64(1), "x": 1.5}, {"prompt": "zweite Zeile ü", "n": int64(-2), "x": 2.5}, {"prompt": "", "n": int64(3), "x": -1.}}
	if diff := cmp.Diff(want, table.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestBadFilesAreNamedWithTheirPlace(t *testing.T) {
	good := string(parquetFile(t, []parquetRow{{Input: "a"}}))
	for _, c := range []struct {
		claim, text string
		parts       []string
	}{
		{"nothing", "", []string{"neither JSON"}},
		{"an empty list", "[]", []string{"no row"}},
		{"a picture", "\x89PNG", []string{"neither JSON"}},
		{"a list with half a value", `[{"a":1,"b":`, []string{"row 0", "too early"}},
		{"a list without an end", `[{"a":1}`, []string{"row 1", "too early"}},
		{"a number that nothing holds", `[{"a":[{"b":[1e999]}]}]`, []string{"row 0", "1e999"}},
		{"an object that is cut off", "{\n\"a\":[1", []string{"unexpected end of JSON input"}},
		{"a pickle that is cut off", "\x80\x04](}", []string{"file: "}},
		{"a pickle with an array of parts", pickledArray("f8", "\x00\x00\x00\x00\x00\x00\xf8?"), []string{"row 0", "column a"}},
		{"a list that ends early", `[{"a":1},`, []string{"row 1", "too early"}},
		{"a list of numbers", `[1]`, []string{"row 0", "want an object, got number"}},
		{"a list with null", `[null]`, []string{"row 0", "null"}},
		{"something after the list", `[{"a":1}] x`, []string{"after the list"}},
		{"a bad line", "{\"a\":1}\n{\"a\":}\n", []string{"row 1", "line 2"}},
		{"two objects on a line", "{\"a\":1} {\"a\":2}\n", []string{"line 1", "after the object"}},
		{"an object without a list", "{\n\"a\":1}", []string{"no list of rows"}},
		{"an object with two lists", "{\n\"a\":[],\"b\":[]}", []string{"several lists"}},
		{"a pickle that calls", "\x80\x04cos\nsystem\n\x8c\x02ls\x85R.", []string{"os.system", "refused"}},
		{"a pickle of a number", "\x80\x04K\x01.", []string{"neither a table"}},
		{"a pickle of a list of numbers", "\x80\x04](K\x01e.", []string{"row 0", "dictionary"}},
		{"Parquet with a footer of 4 GB", good[:len(good)-8] + "\xff\xff\xff\xffPAR1", []string{"its footer has 4294967295 bytes"}},
		{"the beginning of Parquet", "PAR1", []string{"too early"}},
		{"half of Parquet", good[:len(good)/2], []string{"file"}},
		{"a broken .gz", "\x1f\x8b\x08\x00", []string{"file"}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			_, err := Parse([]byte(c.text), "file", Options{})
			var placed *Error
			if !errors.As(err, &placed) || placed.File != "file" {
				t.Fatalf("error %v is no *Error", err)
			}
			for _, part := range c.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestValuesOfAnotherTypeAreNamed(t *testing.T) {
	table := parse(t, `[{"a":"x","ids":[1,-2],"big":[3000000000],"o":{},"b":true,"f":1.5,"null":null}]`)
	text := func(c string) error { _, err := table.Text(0, c); return err }
	tokens := func(c string) error { _, err := table.Tokens(0, c); return err }
	for _, c := range []struct {
		err  error
		part string
	}{
		{text("none"), "file: row 0, column none: there is no value; the columns of the file are a, b, big, f, ids, null, o"},
		{text("null"), "no value"}, {text("ids"), "a list of 2 numbers"}, {text("o"), "an object"}, {text("b"), "a truth value"},
		{tokens("a"), "got a text"}, {tokens("ids"), "token 1 is -2"}, {tokens("big"), "a list of 1 values"},
		{tokens("f"), "the number 1.5"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.part) {
			t.Errorf("error %v, want %q", c.err, c.part)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(two))
	f.Add([]byte("{\"a\":1}\n{\"a\":[1,2]}"))
	f.Add(parquetFile(f, []parquetRow{{Input: "a", Tokens: []int32{1}}}))
	if data, err := os.ReadFile("testdata/frame_protocol4.pkl"); err == nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse(data, "file", Options{Count: 10})
		if err != nil {
			return
		}
		for i := range table.Len() {
			for _, name := range table.columns {
				if text, err := table.Text(i, name); err == nil && table.rows[i][name] == nil {
					t.Errorf("row %d has %q in column %s, and nothing", i, text, name)
				}
			}
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	one := `{"instruction":"Sum up","input":"` + strings.Repeat("word ", 700) + `","tok_input":[` + strings.Repeat("12345,", 800) + `1],"output":"c"}`
	data := []byte("[" + strings.Repeat(one+",", 50) + one + "]")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data, "file", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// What CPython 3.11 writes for str of these numbers.
func TestNumbersAreTextsAsPythonWritesThem(t *testing.T) {
	for _, c := range []struct {
		number float64
		want   string
	}{
		{0x1.0000000000000p+1, "2.0"},
		{0x0.0p+0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{0x1.8000000000000p+0, "1.5"},
		{0x1.e848000000000p+19, "1000000.0"},
		{0x1.d6f3454000000p+26, "123456789.0"},
		{0x1.c6bf526340000p+49, "1000000000000000.0"},
		{0x1.1c37937e08000p+53, "1e+16"},
		{0x1.b69b4ba630f35p+56, "1.2345678901234568e+17"},
		{0x1.a36e2eb1c432dp-14, "0.0001"},
		{0x1.4f8b588e368f1p-17, "1e-05"},
		{-0x1.ad7f29abcaf48p-24, "-1e-07"},
		{0x1.0f0cf064dd592p+73, "1e+22"},
		{0x0.0000000000001p-1022, "5e-324"},
		{0x1.fffffffffffffp+1023, "1.7976931348623157e+308"},
		{0x1.3333333333334p-2, "0.30000000000000004"},
		{-0x1.1170000000000p+16, "-70000.0"},
		{-0x1.f3caf59d0f39dp+28, "-524070745.81621724"},
		{-0x1.135b41e8ef8b1p+36, "-73915440782.97145"},
		{-0x1.eee3b750eb645p+28, "-518929269.0574687"},
		{-0x1.2a90f8ad22877p-27, "-8.689422815203739e-09"},
		{0x1.f30bc003cba2bp+22, "8176368.003706495"},
		{-0x1.8a463df5996c4p-5, "-0.04812919713439848"},
		{-0x1.c09245170d60dp+45, "-61651179200940.1"},
		{-0x1.a694babbf656ep+55, "-5.947298495510411e+16"},
		{0x1.f04fc99f71060p+9, "992.6233405401108"},
		{0x1.d2a29f842c255p-16, "2.781362810883239e-05"},
		{-0x1.c1c29f3952f66p-15, "-5.3615598924665675e-05"},
		{0x1.18cbd95b6f27ap+26, "73609061.42865935"},
		{-0x1.2e8a25b64461bp-29, "-2.2012655822557426e-09"},
		{0x1.701a7484cfebdp-22, "3.428229507391851e-07"},
		{-0x1.9606e3b4c11edp+32, "-6812001204.754376"},
		{math.Inf(1), "inf"}, {math.Inf(-1), "-inf"}, {math.NaN(), "nan"},
	} {
		table := &Table{rows: []row{{"n": c.number}}}
		if got, err := table.Text(0, "n"); err != nil || got != c.want {
			t.Errorf("Text of %g = %q, %v, want %q", c.number, got, err, c.want)
		}
	}
	for text, want := range map[string]string{"7": "7", "-0": "0", "2.0": "2.0", "1e3": "1000.0", "9223372036854775807": "9223372036854775807"} {
		if got, err := parse(t, `[{"n": `+text+`}]`).Text(0, "n"); err != nil || got != want {
			t.Errorf("Text of %s = %q, %v, want %q", text, got, err, want)
		}
	}
}

// saying is a Parquet file of three rows that says in its footer that it has n.
func saying(t *testing.T, n uint64) []byte {
	t.Helper()
	good := parquetFile(t, []parquetRow{{Input: "a"}, {Input: "b"}, {Input: "c"}})
	size := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	start := len(good) - 8 - size
	body, footer := good[:start], good[start:len(good)-8]
	three := []byte{0x16, 3 << 1, 0x19} // Thrift's field of rows, and the beginning of the next
	if bytes.Count(footer, three) != 1 {
		t.Fatalf("the footer % X has not one number of rows", footer)
	}
	said := append(binary.AppendUvarint([]byte{0x16}, n<<1), 0x19)
	footer = bytes.Replace(footer, three, said, 1)
	file := append(bytes.Clone(body), footer...)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(footer)))
	return append(file, "PAR1"...)
}

// A kilobyte once took as many gigabytes as its footer asked for.
func TestParquetThatSaysItHasMoreRowsThanItCanIsRefused(t *testing.T) {
	if table, err := Parse(saying(t, 3), "file", Options{}); err != nil || table.Len() != 3 {
		t.Fatalf("the file as it is: %v", err)
	}
	for n, want := range map[uint64]string{
		1 << 40: "the file says that it has 1099511627776 rows, want at most 1",
		1 << 62: "the file says that it has 4611686018427387904 rows, want at most 1",
		4:       "there are values of 3 rows, want 4",
	} {
		if table, err := Parse(saying(t, n), "file", Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d rows: %v, %v, want an error with %q", n, table, err, want)
		}
	}
	if table, err := Parse(saying(t, 2), "file", Options{}); err != nil || table.Len() != 2 {
		t.Errorf("fewer rows than there are: %v", err)
	}
}

func TestTheFirstRowsAreReadOfAnyKind(t *testing.T) {
	frame, err := os.ReadFile("testdata/frame_protocol4.pkl")
	if err != nil {
		t.Fatal(err)
	}
	rows := []parquetRow{{Input: "a", Tokens: []int32{1}}, {Input: "b", Tokens: []int32{2, 3}}, {Input: "c", Tokens: []int32{4}}}
	for kind, data := range map[string][]byte{
		"a table of pandas":     frame,
		"a pickled list":        []byte("\x80\x04](}\x8c\x01aK\x01s}\x8c\x01aK\x02s}\x8c\x01aK\x03se."),
		"Parquet":               parquetFile(t, rows),
		"a list":                []byte(`[{"a":1},{"a":2},{"a":3}]`),
		"lines":                 []byte("{\"a\":1}\r\n\r\n{\"a\":2}\r\n{\"a\":3}"),
		"a list in an object":   []byte("{\n\"rows\": [{\"a\":1},{\"a\":2},{\"a\":3}]}"),
		"what follows is wrong": []byte("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\nnonsense"),
	} {
		for count := range 5 {
			table, err := Parse(data, "file", Options{Count: count})
			if kind == "what follows is wrong" && (count == 0 || count == 4) {
				if err == nil || !strings.Contains(err.Error(), "row 3: line 4") {
					t.Errorf("all of %s: %v", kind, err)
				}
				continue
			}
			want := 3
			if count > 0 {
				want = min(count, 3)
			}
			if err != nil || table.Len() != want {
				t.Errorf("%d rows of %s: %v, want %d", count, kind, err, want)
			}
		}
	}
}

func TestListsOfNumbersAreTokensIfTheyAreSmallAndWhole(t *testing.T) {
	for text, want := range map[string]any{
		"[]":                       []int32{},
		"[ 1 , 2 ]":                []int32{1, 2},
		"[2147483647,-2147483648]": []int32{1<<31 - 1, -1 << 31},
		"[2147483648]":             []any{int64(1 << 31)},
		"[-2147483649]":            []any{int64(-1<<31 - 1)},
		"[1.0]":                    []any{1.0},
		"[1,\"a\"]":                []any{int64(1), "a"},
		"[[1,2],[]]":               []any{[]int32{1, 2}, []int32{}},
		"{\"a\":[1,2.5]}":          map[string]any{"a": []any{int64(1), 2.5}},
		"9223372036854775808":      9223372036854775808.0,
	} {
		if got, ok := parse(t, `[{"a": `+text+`}]`).Value(0, "a"); !ok || !cmp.Equal(got, want) {
			t.Errorf("%s is %#v, want %#v", text, got, want)
		}
	}
}
