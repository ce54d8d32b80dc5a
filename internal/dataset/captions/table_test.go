package captions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// What pandas makes of tables with quotes everywhere (testdata/make_tables.py).
func TestTablesAreThoseOfPandas(t *testing.T) {
	cases := testenv.JSON[[]struct {
		Table    string
		Captions []string
	}](t, "testdata/tables.json.gz")
	if len(cases) != 300 {
		t.Fatalf("%d tables, want 300", len(cases))
	}
	for _, c := range cases {
		got, err := parse([]byte(c.Table), 0)
		if (err == nil) != (c.Captions != nil) || !slices.Equal(got, c.Captions) {
			t.Errorf("%q: %q, %v, want %q", c.Table, got, err, c.Captions)
		}
	}
}

// What is written as RFC 4180 says, with tabs, comes back, whatever is in the cells.
func TestCellsComeBackAsTheyWereQuoted(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 1))
	pieces := []string{"word", " ", `"`, "\t", "\n", "\r\n", "é", ",", "'", "\\"}
	for range 300 {
		var b strings.Builder
		end := []string{"\n", "\r\n"}[rng.IntN(2)]
		b.WriteString("caption\tid" + end)
		var want []string
		for i := range 1 + rng.IntN(5) {
			text := "x"
			for range rng.IntN(6) {
				text += pieces[rng.IntN(len(pieces))]
			}
			want = append(want, text)
			if rng.IntN(3) == 0 || strings.ContainsAny(text, "\t\r\n") {
				text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
			}
			fmt.Fprintf(&b, "%s\t%d%s", text, i, end)
		}
		if got, err := parse([]byte(b.String()), 0); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q: %q, %v, want %q", b.String(), got, err, want)
		}
	}
}

func TestErrorsNameTheLineInWhichARowBegins(t *testing.T) {
	for table, want := range map[string]string{
		"caption\n\"a\nb\nc\"\n\n\"d":            "line 6: the quote that opens a cell is not closed",
		"caption\r\n\"a\r\nb\"\r\n \r\nx\ty\r\n": "line 5: there are 2 cells, want 1",
		"caption\ta\rx\t1\r \t2\r":               "line 3: the caption of sample 1 is empty",
		"\"caption":                              "the first line names the columns: line 1: the quote that opens a cell is not closed",
		"\n \n":                                  "the first line names the columns: there is nothing",
		"a\tcaption\nx\ty\n\nz\n":                "line 4: the caption of sample 1 is empty",
	} {
		if got, err := parse([]byte(table), 0); err == nil || err.Error() != want {
			t.Errorf("%q: %q, %v, want %q", table, got, err, want)
		}
	}
}

// A count ends the reading: what is wrong behind it is not looked at.
func TestOnlyAsManyRowsAreReadAsAreWanted(t *testing.T) {
	table := "caption\na\nb\n\"c"
	for count, want := range map[int]int{1: 1, 2: 2, 3: -1, 0: -1} {
		got, err := parse([]byte(table), count)
		if want < 0 && err == nil || want >= 0 && (err != nil || len(got) != want) {
			t.Errorf("the first %d: %q, %v", count, got, err)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add("caption\n\"a \"\"b\"\"\"\tc\r\n\n\"d\ne\"f\n")
	f.Add("\ufeffid\tcaption\r1\tx\r")
	f.Fuzz(func(t *testing.T, text string) {
		r := newTableReader([]byte(text))
		for begin := 0; ; {
			row, err := r.row()
			if err != nil || row == nil {
				return
			}
			if r.begin <= begin || r.pos > len(r.data) {
				t.Fatalf("a row begins in line %d, behind one of line %d", r.begin, begin)
			}
			begin = r.begin
		}
	})
}
