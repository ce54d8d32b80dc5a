package prompts

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// drawnRows are rows of a data set, as encoding/json writes them.
func drawnRows(rng *rand.Rand, n int) (rows []map[string]any) {
	text := func() string {
		return strings.Repeat([]string{"word ", "é", "\"\\", "\n\t", "語", "\u2028", "</b>"}[rng.IntN(7)], rng.IntN(4))
	}
	for range n {
		r := map[string]any{"input": text(), "tok_input": tokens(rng), "n": rng.Int64() >> rng.IntN(64)}
		if rng.IntN(2) == 0 {
			r["share"] = rng.NormFloat64()
		}
		if rng.IntN(3) == 0 {
			r["none"], r["good"] = nil, rng.IntN(2) == 0
		}
		if rng.IntN(3) == 0 {
			r["choices"] = []any{text(), text()}
		}
		if rng.IntN(4) == 0 {
			r["about"] = map[string]any{"a": []any{1.5, "x"}, "b": nil}
		}
		rows = append(rows, r)
	}
	return rows
}

func tokens(rng *rand.Rand) []int32 {
	ids := make([]int32, rng.IntN(6))
	for i := range ids {
		ids[i] = rng.Int32()
	}
	return ids
}

// asRows is what a table has of such rows.
func asRows(t *testing.T, rows []map[string]any) (out []row) {
	t.Helper()
	for _, r := range rows {
		got := row{}
		for name, v := range r {
			switch v := v.(type) {
			case float64:
				got[name] = v
				if v == float64(int64(v)) { // which JSON does not tell from a whole number
					got[name] = int64(v)
				}
			default:
				got[name] = v
			}
		}
		out = append(out, got)
	}
	return out
}

// inForms writes rows in all the forms of JSON that are read.
func inForms(t *testing.T, rng *rand.Rand, rows []map[string]any) map[string][]byte {
	t.Helper()
	list, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	indented, err := json.MarshalIndent(rows, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	var lines, crlf bytes.Buffer
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s\n%s", line, strings.Repeat("\n", rng.IntN(2)))
		fmt.Fprintf(&crlf, " %s \r\n", line)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(lines.Bytes()); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"a list": list, "a list with blanks": indented, "lines": lines.Bytes(), "lines of Windows": crlf.Bytes(), "packed lines": packed.Bytes(),
		"lines, the last without end": bytes.TrimRight(lines.Bytes(), "\n"), "a list in an object": slices.Concat([]byte("{\"version\":\n1,\"rows\":"), indented, []byte("}")),
		"a list behind a mark of its order": slices.Concat([]byte("\ufeff"), list),
	}
}

func TestRowsAreTheSameInAllForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	for range 60 {
		rows := drawnRows(rng, 1+rng.IntN(6))
		want := asRows(t, rows)
		for form, data := range inForms(t, rng, rows) {
			table, err := Parse(data, "file", Options{})
			if err != nil {
				t.Fatalf("%s: %v in\n%s", form, err, data)
			}
			if diff := cmp.Diff(want, table.rows); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", form, diff)
			}
			count := 1 + rng.IntN(len(rows)+2)
			if first, err := Parse(data, "file", Options{Count: count}); err != nil || !cmp.Equal(first.rows, want[:min(count, len(want))]) {
				t.Fatalf("the first %d of %d rows of %s: %v", count, len(rows), form, err)
			}
		}
	}
}

func TestColumnsAreThoseOfAnyRow(t *testing.T) {
	table := parse(t, `[{"b":1},{},{"a":2,"c":null}]`)
	if got := table.Columns(); !slices.Equal(got, []string{"a", "b", "c"}) || table.Len() != 3 {
		t.Errorf("columns %q of %d rows", got, table.Len())
	}
	for i, want := range []string{"b", "", "a"} { // null is nothing
		for _, name := range []string{"a", "b", "c", "d"} {
			if _, ok := table.Value(i, name); ok != (name == want) {
				t.Errorf("row %d has column %s: %v", i, name, ok)
			}
		}
	}
}

// Of each kind of value what it is as a text and as tokens, and how it is called where it is neither.
func TestValuesOfAllKinds(t *testing.T) {
	for _, c := range []struct{ value, text, tokens string }{
		{`"a b"`, "a b", "want a list of tokens, got a text"},
		{`""`, "", "want a list of tokens, got a text"},
		{`7`, "7", "want a list of tokens, got the number 7"},
		{`-1.5`, "-1.5", "want a list of tokens, got the number -1.5"},
		{`true`, "want a text, got a truth value", "want a list of tokens, got a truth value"},
		{`[1,2,3]`, "want a text, got a list of 3 numbers", "[1 2 3]"},
		{`[]`, "want a text, got a list of 0 numbers", "[]"},
		{`[1,-2]`, "want a text, got a list of 2 numbers", "token 1 is -2"},
		{`["a"]`, "want a text, got a list of 1 values", "want a list of tokens, got a list of 1 values"},
		{`[1,2.5]`, "want a text, got a list of 2 values", "want a list of tokens, got a list of 2 values"},
		{`{"a":1}`, "want a text, got an object", "want a list of tokens, got an object"},
		{`null`, "there is no value; the columns of the file are v", "there is no value; the columns of the file are v"},
	} {
		table := parse(t, `[{"v":`+c.value+`}]`)
		said := func(v any, err error) string {
			var placed *Error
			if errors.As(err, &placed) {
				if placed.File != "file" || placed.Row != 0 || placed.Column != "v" || err.Error() != "file: row 0, column v: "+placed.Err.Error() {
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
	if _, err := parse(t, `[{"v":1,"w":2}]`).Text(0, "x"); err == nil || err.Error() != "file: row 0, column x: there is no value; the columns of the file are v, w" {
		t.Errorf("a column that no row has: %v", err)
	}
}

func TestErrorsNameTheirPlace(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		err  Error
		want string
	}{
		{Error{"f.json", -1, "", cause}, "f.json: cause"}, {Error{"f.json", 0, "", cause}, "f.json: row 0: cause"},
		{Error{"f.json", 3, "input", cause}, "f.json: row 3, column input: cause"}, {Error{"f.json", -1, "input", cause}, "f.json, column input: cause"},
	} {
		if c.err.Error() != c.want || !errors.Is(&c.err, cause) {
			t.Errorf("%q, want %q", c.err.Error(), c.want)
		}
	}
}

func TestATableIsReadByManyAtOnce(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "{\"input\":\"text %d\",\"tok_input\":[%d,%d]}\n", i, i, i+1)
	}
	table := parse(t, b.String())
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i := range table.Len() {
				text, err := table.Text(i, "input")
				ids, err2 := table.Tokens(i, "tok_input")
				if err != nil || err2 != nil || text != fmt.Sprint("text ", i) || !slices.Equal(ids, []int32{int32(i), int32(i + 1)}) {
					t.Errorf("row %d is %q, %v, %v, %v", i, text, ids, err, err2)
				}
			}
		})
	}
	wait.Wait()
}

// A flat row of Parquet, of columns that may be missing.
type flatRow struct {
	Prompt string   `parquet:"prompt"`
	Maybe  *int64   `parquet:"maybe,optional"`
	Tokens []int32  `parquet:"tokens,list"`
	Words  []string `parquet:"words"`
	Share  float64  `parquet:"share"`
	Good   bool     `parquet:"good"`
}

func drawnFlat(rng *rand.Rand, n int) (rows []flatRow, want []row) {
	for i := range n {
		r := flatRow{Prompt: strings.Repeat("é", rng.IntN(40)), Tokens: tokens(rng), Share: rng.NormFloat64(), Good: rng.IntN(2) == 0}
		w := row{"prompt": r.Prompt, "tokens": r.Tokens, "words": []int32{}, "share": r.Share, "good": r.Good}
		if rng.IntN(2) == 0 {
			v := int64(i)
			r.Maybe, w["maybe"] = &v, v
		}
		var words []any
		for range rng.IntN(3) {
			word := fmt.Sprint("w", rng.IntN(9))
			r.Words, words = append(r.Words, word), append(words, word)
		}
		if len(words) > 0 {
			w["words"] = words
		}
		rows, want = append(rows, r), append(want, w)
	}
	return rows, want
}

// Pages, row groups and compressions are the writer's own affair.
func TestParquetIsReadHoweverItIsDivided(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 2))
	for i := range 20 {
		rows, want := drawnFlat(rng, 1+rng.IntN(120))
		options := []parquet.WriterOption{
			parquet.MaxRowsPerRowGroup(int64(1 + rng.IntN(50))), parquet.PageBufferSize(64 + rng.IntN(1000)), parquet.DataPageVersion(1 + i%2),
			[]parquet.WriterOption{parquet.Compression(&parquet.Zstd), parquet.Compression(&parquet.Snappy), parquet.Compression(&parquet.Gzip), parquet.Compression(&parquet.Uncompressed)}[i%4],
		}
		var b bytes.Buffer
		w := parquet.NewGenericWriter[flatRow](&b, options...)
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		table, err := Parse(b.Bytes(), "file", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, table.rows); diff != "" {
			t.Fatalf("%d rows (-want +got):\n%s", len(rows), diff)
		}
		count := 1 + rng.IntN(len(rows))
		first, err := Parse(b.Bytes(), "file", Options{Count: count})
		if err != nil || !cmp.Equal(first.rows, want[:count]) {
			t.Fatalf("the first %d of %d rows: %v, or other rows", count, len(rows), err)
		}
	}
}

// A list that begins with small whole numbers stays one when something else follows.
func TestListsTakeWhatFollows(t *testing.T) {
	for _, c := range []struct {
		items []any
		want  any
	}{
		{[]any{int64(1), int64(2)}, []int32{1, 2}},
		{[]any{int64(1), int64(1 << 40)}, []any{int64(1), int64(1 << 40)}},
		{[]any{int64(1), "a", int64(2)}, []any{int64(1), "a", int64(2)}},
		{[]any{1.5, int64(2)}, []any{1.5, int64(2)}},
	} {
		r := row{"x": []int32{}}
		for _, item := range c.items {
			r.add("x", item, true)
		}
		if !cmp.Equal(r["x"], c.want) {
			t.Errorf("%v becomes %#v, want %#v", c.items, r["x"], c.want)
		}
	}
	r := row{}
	r.add("x", int64(7), false)
	r.add("x", "later", false)
	if r["x"] != "later" {
		t.Errorf("a single value is %v", r["x"])
	}
}

// What a file is follows from its content, whatever its name is.
func TestFilesAreKnownByTheirContent(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a list behind much nothing", strings.Repeat(" \n", 2000) + `[{"a":1}]`, ""},
		{"a list behind more", strings.Repeat(" ", 4096) + `[{"a":1}]`, "this is neither JSON, JSONL, Parquet nor a pickle of pandas"},
		{"a pickle of a protocol to come", "\x80\x06].", "this is neither JSON, JSONL, Parquet nor a pickle of pandas"},
		{"half of that", "\x80", "this is neither JSON, JSONL, Parquet nor a pickle of pandas"},
		{"a text", "instruction,input\na,b\n", "this is neither JSON, JSONL, Parquet nor a pickle of pandas"},
		{"packed text", zipped("instruction"), "this is neither JSON, JSONL, Parquet nor a pickle of pandas"},
		{"twice packed", zipped(zipped(`[{"a":1}]`)), "this is neither JSON, JSONL, Parquet nor a pickle of pandas"},
		{"something packed that is cut off", zipped(`[{"a":1}]`)[:25], "unexpected EOF"},
		{"a list of nothing", "[]", "there is no row"},
		{"nothing in lines", "{}"[:0] + "\ufeff", "this is neither JSON, JSONL, Parquet nor a pickle of pandas"},
		{"an object of nothing", "{}", ""},
		{"rows of nothing", "{}\n{}\n", ""},
	} {
		_, err := Parse([]byte(c.data), "file.json", Options{})
		if (err != nil) != (c.want != "") || err != nil && err.Error() != "file.json: "+c.want {
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
	// questions.jsonl: row 0, column tok_input: want a text, got a list of 3 numbers
}
