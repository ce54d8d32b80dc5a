package clip

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// A cleaning is a caption with what words are cut from, and why; web is what open_clip makes of it, if that is something else.
type cleaning struct{ claim, text, want, web string }

func checkCleanings(t *testing.T, cases []cleaning) {
	t.Helper()
	for _, c := range cases {
		for _, web := range []bool{false, true} {
			want := c.want
			if web && c.web != "" {
				want = c.web
			}
			if got := clean(c.text, web); got != want {
				t.Errorf("%s: clean(%q, %t) = %q, want %q", c.claim, c.text, web, got, want)
			}
			note(t, c.text, want, web)
		}
	}
}

// note appends a case to the file CLIP_TABLES, for tables.py, if there is to be one.
func note(t *testing.T, text, want string, web bool) {
	t.Helper()
	testfile.Note(t, "CLIP_TABLES", map[string]any{"text": text, "clean": want, "web": web})
}

func TestCapitalsAndBlanksOfCaptions(t *testing.T) {
	checkCleanings(t, []cleaning{
		{claim: "capitals become small", text: "A Man", want: "a man"},
		{claim: "of other scripts", text: "ΟΔΟΣ Улица ÄÖ", want: "οδος улица äö"},
		{claim: "the dotted I becomes two", text: "İ", want: "i\u0307"},
		{claim: "blanks become one", text: "  a \t b\n\nc ", want: "a b c"},
		{claim: "blanks of Unicode", text: "a\u00a0b\u3000c\u2003d", want: "a b c d"},
		{claim: "separators of Python", text: "a\x1cb\x1fc", want: "abc"},
		{claim: "nothing", text: "", want: ""},
		{claim: "nothing but blanks", text: " \n ", want: ""},
		{claim: "what is plain stays", text: "a dog's 2 balls, (red)!", want: "a dog's 2 balls, (red)!"},
	})
}

func TestMarksThatAreMeantOtherwise(t *testing.T) {
	checkCleanings(t, []cleaning{
		{claim: "curly quotes become straight", text: "“a” ‘b’ „c‟ ‚d‛", want: `"a" 'b' "c" 'd'`},
		{claim: "an apostrophe that is a letter", text: "donʼt", want: "don't"},
		{claim: "other marks stay", text: "«a» – b — c… •", want: "«a» – b — c… •"},
		{claim: "ligatures are taken apart", text: "ﬁre ﬂy oﬃce ﬆ", want: "fire fly office st"},
		{claim: "and letters of two", text: "ĳ ŉ ǆ ǈ", want: "ij 'n dž lj"},
		{claim: "but not those of Danish and French", text: "æ œ ß", want: "æ œ ß"},
		{claim: "wide letters become narrow", text: "ＡＢ１！", want: "ab1!"},
		{claim: "narrow kana become wide", text: "ｶﾅ", want: "カナ"},
		{claim: "a wide blank", text: "a　b", want: "a b"},
		{claim: "a letter and its mark become one", text: "cafe\u0301", want: "café"},
		{claim: "fractions and powers stay", text: "½ x² ①", want: "½ x² ①"},
	})
}

func TestSignsThatNoCaptionHas(t *testing.T) {
	checkCleanings(t, []cleaning{
		{claim: "control characters go", text: "a\x00b\x07c\x0bd\x7fe", want: "abcde"},
		{claim: "colours of a terminal go", text: "\x1b[31mred\x1b[0m and \x1b[1;32mgreen", want: "red and green"},
		{claim: "half of one", text: "\x1b[31", want: "[31"},
		{claim: "marks of byte order go", text: "\ufeffa\ufeffb", want: "ab"},
		{claim: "joiners stay", text: "a\u200db\u200bc", want: "a\u200db\u200bc"},
		{claim: "ends of lines are blanks", text: "a\r\nb\rc\u2028d\u2029e\u0085f", want: "a b c d e…f"},
		{claim: "control characters of Latin-1 are those of Windows", text: "\u0093a\u0094 \u0080 \u0099", want: "\"a\" € ™"},
		{claim: "what is replaced stays", text: "a\ufffdb", want: "a\ufffdb"},
	})
	if got := clean("a\xffb\xc3", false); got != "a\ufffdb\ufffd" {
		t.Errorf("bytes that are no text become %q", got)
	}
}

func TestEntitiesOfHTML(t *testing.T) {
	checkCleanings(t, []cleaning{
		{claim: "by name", text: "black &amp; white &eacute; &hellip;", want: "black & white é …"},
		{claim: "by number", text: "&#233; &#xe9; &#39;", want: "é é '"},
		{claim: "names in capitals are capitals", text: "&EACUTE;T", want: "ét"},
		{claim: "twice", text: "&amp;amp;", want: "&"},
		{claim: "three times", text: "&amp;amp;lt;", want: "<"},
		{claim: "names that there are not", text: "&nosuch; &;", want: "&nosuch; &;"},
		{claim: "without a semicolon only HTML has them", text: "&amp b &copy", want: "&amp b &copy", web: "& b ©"},
		{claim: "names with more behind", text: "&notit;", want: "&notit;", web: "¬it;"},
		{claim: "where there is a tag, it is HTML, where they are meant", text: "<b> &amp;", want: "<b> &amp;", web: "<b> &"},
		{claim: "on later lines too", text: "<b>\n&amp;", want: "<b> &amp;", web: "<b> &"},
		{claim: "but not on those before", text: "&amp;\n<b> &amp;", want: "& <b> &amp;", web: "& <b> &"},
		{claim: "a quote by its name", text: "&quot;a&quot; &#8220;b&#8221;", want: `"a" "b"`},
	})
}

// Cleaning what is clean changes nothing, whatever text it was.
func TestWhatIsCleanStaysClean(t *testing.T) {
	for _, c := range readCases(t) {
		once := clean(c.Text, false)
		if again := clean(once, false); again != once && !strings.ContainsAny(once, "&<") {
			t.Errorf("%q becomes %q, and that %q", c.Text, once, again)
		}
	}
}

// What a caption's tokens look like, for each reader.
func TestRowsOfTokens(t *testing.T) {
	for _, c := range []struct {
		claim   string
		kind    Kind
		caption string
		fill    func(*Tokenizer) int32
	}{
		{"the first encoder fills with the end", First, "a dog", func(t *Tokenizer) int32 { return t.end }},
		{"the second one with a mark", Second, "a dog", func(t *Tokenizer) int32 { id, _ := t.words.ID("!"); return id }},
		{"open_clip with nothing", OpenCLIP, "a dog", func(*Tokenizer) int32 { return 0 }},
		{"no caption", First, "", func(t *Tokenizer) int32 { return t.end }},
		{"a caption of blanks", OpenCLIP, " \n ", func(*Tokenizer) int32 { return 0 }},
	} {
		tok := open(t, c.kind)
		ids := slices.Repeat([]int64{-7}, Length)
		if whole, err := tok.Encode(ids, c.caption); err != nil || !whole {
			t.Errorf("%s: whole is %t, %v", c.claim, whole, err)
		}
		end := slices.Index(ids, int64(tok.end))
		if ids[0] != int64(tok.start) || end < 1 || (end == 1) != (strings.TrimSpace(c.caption) == "") {
			t.Errorf("%s: the tokens are %d", c.claim, ids)
		}
		for i, id := range ids[end+1:] {
			if id != int64(c.fill(tok)) {
				t.Errorf("%s: token %d is %d, want %d", c.claim, end+1+i, id, c.fill(tok))
			}
		}
	}
}

func TestSpecialTokensInCaptions(t *testing.T) {
	count := func(kind Kind, caption, token string) (n int) {
		tok, ids := open(t, kind), make([]int64, Length)
		if _, err := tok.Encode(ids, caption); err != nil {
			t.Fatal(err)
		}
		id, _ := tok.words.ID(token)
		for _, got := range ids[1 : slices.Index(ids[1:], int64(tok.end))+2] {
			if got == int64(id) {
				n++
			}
		}
		return n
	}
	if n := count(First, "a<|startoftext|>b", startToken); n != 1 {
		t.Errorf("the start within a caption is there %d times, want once", n)
	}
	if n := count(OpenCLIP, "a<|startoftext|>b", startToken); n != 0 {
		t.Errorf("to open_clip the start is text like any other: it is there %d times", n)
	}
	if n := count(First, "a<|STARTOFTEXT|>b", startToken); n != 0 {
		t.Errorf("in capitals it is text: it is there %d times", n)
	}
	if n := count(Second, "wow!!", fillToken); n != 2 {
		t.Errorf("to the second encoder each ! is a token: there are %d of 2", n)
	}
	if n := count(First, "wow!!", fillToken); n != 1 {
		t.Errorf("to the first one the last mark is the end of a word: there are %d others", n)
	}
	if n := count(First, "a<|endoftext|>b", endToken); n != 1 { // up to the first end
		t.Errorf("the end within a caption: %d", n)
	}
}

func TestByteNamesAreAllDifferent(t *testing.T) {
	names := ByteNames()
	if len(names) != 256 || names[0] != "Ā" || names['a'] != "a" || !slices.Contains(names, "Ġ") {
		t.Errorf("%d names, of which the first is %q", len(names), names[0])
	}
	slices.Sort(names)
	if n := len(slices.Compact(names)); n != 256 {
		t.Errorf("%d of them differ", n)
	}
}

func TestATokenizerIsForSeveralGoroutines(t *testing.T) {
	tok := open(t, Second)
	want := make([]int64, Length)
	if _, err := tok.Encode(want, "Two dogs!"); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			ids := make([]int64, Length)
			for range 50 {
				if _, err := tok.Encode(ids, "Two dogs!"); err != nil || !slices.Equal(ids, want) {
					t.Errorf("%d, %v, want %d", ids, err, want)
				}
			}
		})
	}
	wait.Wait()
}
