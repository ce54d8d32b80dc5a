package prompts

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/testenv"
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

func TestJSONForms(t *testing.T) {
	lines := strings.ReplaceAll(strings.Trim(two, "[]"), ",\n", "\n\n") + "\n"
	for name, text := range map[string]string{
		"a list": two, "lines": lines, "a list with a byte order mark": "\ufeff" + two, "lines with a byte order mark": "\ufeff" + lines,
		"one line per object, without blank lines": strings.ReplaceAll(lines, "\n\n", "\r\n"),
		"a list in an object":                      "{\n\"version\": 1,\n\"data\": " + two + "}",
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
				t.Errorf("output %q, want an error for null", text)
			}
			if first, err := Parse([]byte(text), "file", Options{Count: 1}); err != nil || first.Len() != 1 {
				t.Errorf("count 1: %+v, %v", first, err)
			}
		})
	}
}

func TestPickles(t *testing.T) {
	data, err := os.ReadFile("../../tensor/pickle/testdata/frame_protocol4.pkl")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "prompts.pkl.gz")
	if err := os.WriteFile(path, []byte(zipped(string(data))), 0o600); err != nil {
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

func TestPickledValues(t *testing.T) {
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

// The library panics on some of these files. The program must not end.
func TestDamagedParquet(t *testing.T) {
	good := parquetFile(t, []parquetRow{{Input: "a", Tokens: []int32{1, 2}}, {Input: "b"}, {Input: "c", Names: []string{"x"}}})
	for i := 4; i < len(good); i += 3 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x80
		if table, err := Parse(bad, "file", Options{Count: 10}); err == nil && table.Len() == 0 {
			t.Errorf("byte %d changed: neither rows nor an error", i)
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

func TestParquet(t *testing.T) {
	text := "m"
	rows := []parquetRow{{Input: "a", Tokens: []int32{1, 2}, Length: 7, Share: .5, Good: true, Part: .25, Large: []int64{1, 1 << 40, 2}, Deep: struct{ A, B int32 }{4, 5}}, {Input: "é", Maybe: &text, Names: []string{"x", "y"}}, {Input: "c", Tokens: []int32{3}}}
	table := parse(t, string(parquetFile(t, rows)))
	want := []row{
		{"text_input": "a", "tok_input": []int32{1, 2}, "length": int64(7), "share": .5, "good": true, "names": []int32{}, "part": .25, "large": []any{int64(1), int64(1 << 40), int64(2)}, "deep.A": int64(4), "deep.B": int64(5)},
		{"text_input": "é", "tok_input": []int32{}, "length": int64(0), "share": 0., "good": false, "maybe": "m", "names": []any{"x", "y"}, "part": 0., "large": []int32{}, "deep.A": int64(0), "deep.B": int64(0)},
		{"text_input": "c", "tok_input": []int32{3}, "length": int64(0), "share": 0., "good": false, "names": []int32{}, "part": 0., "large": []int32{}, "deep.A": int64(0), "deep.B": int64(0)},
	}
	if diff := cmp.Diff(want, table.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	first, err := Parse(parquetFile(t, rows), "file", Options{Count: 1})
	if err != nil || first.Len() != 1 {
		t.Errorf("count 1: %v, %v", first, err)
	}
}

func TestParquetOfAnotherWriter(t *testing.T) {
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

func TestErrorsNameThePlace(t *testing.T) {
	good := string(parquetFile(t, []parquetRow{{Input: "a"}}))
	for _, c := range []struct {
		name, text string
		parts      []string
	}{
		{"a list with half a value", `[{"a":1,"b":`, []string{"line 1", "unexpected EOF"}},
		{"a list without an end", `[{"a":1}`, []string{"line 1, row 1", "unexpected EOF"}},
		{"a number too large", `[{"a":[{"b":[1e999]}]}]`, []string{"line 1", "1e999"}},
		{"an object that is cut off", "{\n\"a\":[1", []string{"unexpected EOF"}},
		{"a pickle that is cut off", "\x80\x04](}", []string{"file: "}},
		{"a pickle with an array of parts", pickledArray("f8", "\x00\x00\x00\x00\x00\x00\xf8?"), []string{"row 0", "column a"}},
		{"a list that ends early", `[{"a":1},`, []string{"line 1, row 1", "unexpected EOF"}},
		{"a list of numbers", `[1]`, []string{"line 1", "expected an object, got number"}},
		{"a list with null", `[null]`, []string{"line 1", "null"}},
		{"data after the list", `[{"a":1}] x`, []string{"more data after the list"}},
		{"a bad line", "{\"a\":1}\n{\"a\":}\n", []string{"line 2: ", "invalid character"}},
		{"an object without a list", "{\n\"a\":1}", []string{"no list of rows"}},
		{"an object with two lists", "{\n\"a\":[],\"b\":[]}", []string{"one of several lists"}},
		{"a pickle that calls", "\x80\x04cos\nsystem\n\x8c\x02ls\x85R.", []string{"os.system", "refused"}},
		{"a pickle of a number", "\x80\x04K\x01.", []string{"neither a table"}},
		{"a pickle of a list of numbers", "\x80\x04](K\x01e.", []string{"nor a list of dictionaries"}},
		{"a pickle of a list of texts", "\x80\x04](\x8c\x01ae.", []string{"row 0", "dictionary"}},
		{"Parquet with a footer of 4 GB", good[:len(good)-8] + "\xff\xff\xff\xffPAR1", []string{"the footer claims 4294967295 bytes"}},
		{"the beginning of Parquet", "PAR1", []string{"too early"}},
		{"half of Parquet", good[:len(good)/2], []string{"file"}},
		{"a broken .gz", "\x1f\x8b\x08\x00", []string{"file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), "file", Options{})
			var placed *Error
			if !errors.As(err, &placed) || placed.File != "file" {
				t.Fatalf("error %v, want an *Error of the file", err)
			}
			for _, part := range c.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q, want %q", err, part)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(two))
	f.Add([]byte("{\"a\":1}\n{\"a\":[1,2]}"))
	f.Add(parquetFile(f, []parquetRow{{Input: "a", Tokens: []int32{1}}}))
	f.Add([]byte("Timestamp,Request tokens,Response tokens\n5,472,18\n45,1,0\n\"4\n5\",1,2"))
	f.Add([]byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10"))
	f.Add([]byte(`{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}`))
	if data, err := os.ReadFile("../../tensor/pickle/testdata/frame_protocol4.pkl"); err == nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse(data, "file", Options{Count: 10})
		if err != nil {
			return
		}
		for i := range table.Len() {
			for _, name := range table.columns {
				if text, err := table.Text(i, name); err == nil {
					if _, ok := table.Value(i, name); !ok {
						t.Errorf("row %d, column %s: text %q of no value", i, name, text)
					}
				}
			}
			if r, err := table.Request(i); err == nil && r != nil && (r.Tokens < 1 || r.Answer < 1) {
				t.Errorf("row %d: %+v", i, r)
			}
			if table.lines != nil && (table.lines[i] < 1 || table.lines[i] > 1+bytes.Count(data, []byte("\n"))) {
				t.Errorf("row %d is in line %d", i, table.lines[i])
			}
		}
		if list, err := table.Schedule(); err == nil && (!slices.IsSorted(list) || list[0] != 0) {
			t.Errorf("schedule %v", list)
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

func TestTextAndTokens(t *testing.T) {
	for _, c := range []struct{ value, text, tokens string }{
		{`2.0`, "2.0", "expected a list of tokens, got the number 2"},
		{`9223372036854775807`, "9223372036854775807", "expected a list of tokens, got the number 9223372036854775807"},
		{`"a b"`, "a b", "expected a list of tokens, got a text"},
		{`""`, "", "expected a list of tokens, got a text"},
		{`7`, "7", "expected a list of tokens, got the number 7"},
		{`-1.5`, "-1.5", "expected a list of tokens, got the number -1.5"},
		{`true`, "expected a text, got a truth value", "expected a list of tokens, got a truth value"},
		{`[1,2,3]`, "expected a text, got a list of 3 numbers", "[1 2 3]"},
		{`[]`, "expected a text, got a list of 0 numbers", "[]"},
		{`[1,-2]`, "expected a text, got a list of 2 numbers", "token 1 is -2"},
		{`["a"]`, "expected a text, got a list of 1 values", "expected a list of tokens, got a list of 1 values"},
		{`[1,2.5]`, "expected a text, got a list of 2 values", "expected a list of tokens, got a list of 2 values"},
		{`{"a":1}`, "expected a text, got an object", "expected a list of tokens, got an object"},
		{`null`, "no value; the columns of the file are v", "no value; the columns of the file are v"},
	} {
		table := parse(t, `[{"v":`+c.value+`}]`)
		said := func(v any, err error) string {
			var placed *Error
			if errors.As(err, &placed) {
				if placed.File != "file" || placed.Line != 1 || placed.Column != "v" || !testenv.Names(err, "file … line 1 … column v … "+placed.Err.Error()) {
					t.Errorf("%s: the place of %v is %+v", c.value, err, placed)
				}
				return placed.Err.Error()
			}
			return fmt.Sprint(v)
		}
		if got := said(table.Text(0, "v")); got != c.text {
			t.Errorf("the text of %s is %q, want %q", c.value, got, c.text)
		}
		if got := said(table.Tokens(0, "v")); got != c.tokens {
			t.Errorf("the tokens of %s are %s, want %s", c.value, got, c.tokens)
		}
	}
	if _, err := parse(t, `[{"v":1,"w":2}]`).Text(0, "x"); !testenv.Names(err, "file … line 1 … column x … v … w") {
		t.Errorf("an unknown column: error %v", err)
	}
}

// claiming returns a Parquet file with three rows and n in its footer.
func claiming(t *testing.T, n uint64) []byte {
	t.Helper()
	good := parquetFile(t, []parquetRow{{Input: "a"}, {Input: "b"}, {Input: "c"}})
	size := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	start := len(good) - 8 - size
	body, footer := good[:start], good[start:len(good)-8]
	three := []byte{0x16, 3 << 1, 0x19} // Thrift's field of rows, and the beginning of the next
	if bytes.Count(footer, three) != 1 {
		t.Fatalf("the footer % X does not have one number of rows", footer)
	}
	said := append(binary.AppendUvarint([]byte{0x16}, n<<1), 0x19)
	footer = bytes.Replace(footer, three, said, 1)
	file := append(bytes.Clone(body), footer...)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(footer)))
	return append(file, "PAR1"...)
}

// Memory must not follow the footer of a small file.
func TestParquetClaimsTooManyRows(t *testing.T) {
	if table, err := Parse(claiming(t, 3), "file", Options{}); err != nil || table.Len() != 3 {
		t.Fatalf("3 rows: %v", err)
	}
	for n, want := range map[uint64]string{
		1 << 40: "1099511627776 rows",
		1 << 62: "4611686018427387904 rows",
		4:       "4 rows … 3",
	} {
		if table, err := Parse(claiming(t, n), "file", Options{}); !testenv.Names(err, want) {
			t.Errorf("%d rows: %v, %v, want an error with %q", n, table, err, want)
		}
	}
	if table, err := Parse(claiming(t, 2), "file", Options{}); err != nil || table.Len() != 2 {
		t.Errorf("2 rows claimed: %v", err)
	}
}

func TestCountTakesTheFirstRows(t *testing.T) {
	frame, err := os.ReadFile("../../tensor/pickle/testdata/frame_protocol4.pkl")
	if err != nil {
		t.Fatal(err)
	}
	rows := []parquetRow{{Input: "a", Tokens: []int32{1}}, {Input: "b", Tokens: []int32{2, 3}}, {Input: "c", Tokens: []int32{4}}}
	for kind, data := range map[string][]byte{
		"a table of pandas":   frame,
		"a pickled list":      []byte("\x80\x04](}\x8c\x01aK\x01s}\x8c\x01aK\x02s}\x8c\x01aK\x03se."),
		"Parquet":             parquetFile(t, rows),
		"a list":              []byte(`[{"a":1},{"a":2},{"a":3}]`),
		"lines":               []byte("{\"a\":1}\r\n\r\n{\"a\":2}\r\n{\"a\":3}"),
		"a list in an object": []byte("{\n\"rows\": [{\"a\":1},{\"a\":2},{\"a\":3}]}"),
		"lines with an error": []byte("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\nnonsense"),
	} {
		for count := range 5 {
			table, err := Parse(data, "file", Options{Count: count})
			if kind == "lines with an error" && (count == 0 || count == 4) {
				if err == nil || !strings.Contains(err.Error(), "line 4: ") {
					t.Errorf("%s, count %d: %v", kind, count, err)
				}
				continue
			}
			want := 3
			if count > 0 {
				want = min(count, 3)
			}
			if err != nil || table.Len() != want {
				t.Errorf("%s, count %d: %v, want %d rows", kind, count, err, want)
			}
		}
	}
}

func TestListsOfIntegersAreTokens(t *testing.T) {
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

func TestFormatFollowsFromContent(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a list after white space", strings.Repeat(" \n", 2000) + `[{"a":1}]`, ""},
		{"a pickle of protocol 6", "\x80\x06].", "JSON … JSONL … CSV … Parquet … pickle"},
		{"half a pickle", "\x80", "JSON … JSONL … CSV … Parquet … pickle"},
		{"CSV", "instruction,input\na,b\n", ""}, {"a text", "Hello, world", "no rows"}, {"a quote of CSV without an end", "\",", "line 1"},
		{"a zipped text", zipped("instruction"), "JSON … JSONL … CSV … Parquet … pickle"},
		{"zipped twice", zipped(zipped(`[{"a":1}]`)), "JSON … JSONL … CSV … Parquet … pickle"},
		{"a zipped list cut off", zipped(`[{"a":1}]`)[:25], "unexpected EOF"},
		{"an empty list", "[]", "no rows"},
		{"only a byte order mark", "\ufeff", "JSON … JSONL … CSV … Parquet … pickle"},
		{"an empty object", "{}", ""},
		{"empty rows", "{}\n{}\n", ""},
	} {
		_, err := Parse([]byte(c.data), "file.json", Options{})
		if (err != nil) != (c.want != "") || err != nil && !testenv.Names(err, "file.json … "+c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

func ExampleParse() {
	data := []byte(`{"question": "How many?", "tok_input": [1, 2, 3], "answer": 4}` + "\n")
	table, err := Parse(data, "questions.jsonl", Options{})
	if err != nil {
		panic(err)
	}
	ids, err := table.Tokens(0, "tok_input")
	fmt.Println(table.Len(), table.Columns(), ids, err)
	answer, err := table.Text(0, "answer")
	fmt.Println(answer, err)
	_, err = table.Text(0, "tok_input")
	fmt.Println(err)
	// Output:
	// 1 [answer question tok_input] [1 2 3] <nil>
	// 4 <nil>
	// questions.jsonl: line 1, column tok_input: expected a text, got a list of 3 numbers
}

// A small file may unpack to more than the memory has.
func TestUnpackedFileHasToFitTheMemory(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	lying := append(bytes.Clone(b.Bytes()[:b.Len()-4]), 0xff, 0xff, 0xff, 0xff) // about its size
	for _, file := range [][]byte{b.Bytes(), lying} {
		if _, err := unpack(file, 1<<20-1); err == nil || !strings.Contains(err.Error(), "more than 1048575 bytes after unpacking") {
			t.Errorf("error %v", err)
		}
	}
	if data, err := unpack(b.Bytes(), 1<<20); err != nil || len(data) != 1<<20 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if free := machine.AvailableMemory(); free > 0 && uint64(mostBytes()) > free/2 {
		t.Errorf("files of %d bytes may be read into %d bytes of free memory", mostBytes(), free)
	}
}
