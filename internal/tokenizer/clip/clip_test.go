package clip

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A tokensCase is a text with what testdata/make_tokens.py makes of it.
type tokensCase struct {
	Text                string
	First, Second, Open []int64
}

// folder is that of vocab.json, merges.txt and cases.json. By hand it may be another: that of the
// real vocabulary with all captions of the benchmark.
func folder() string {
	if other := os.Getenv("CLIP_GOLDEN"); other != "" {
		return other
	}
	return "testdata"
}

func readCases(t testing.TB) (cases []tokensCase) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder(), "cases.json"))
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func open(t testing.TB, kind Kind) *Tokenizer {
	t.Helper()
	tok, err := Open(folder(), kind)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestEncode(t *testing.T) {
	for name, c := range map[string]struct {
		kind Kind
		want func(tokensCase) []int64
	}{
		"the first encoder":  {First, func(c tokensCase) []int64 { return c.First }},
		"the second encoder": {Second, func(c tokensCase) []int64 { return c.Second }},
		"open_clip":          {OpenCLIP, func(c tokensCase) []int64 { return c.Open }},
	} {
		t.Run(name, func(t *testing.T) {
			tok, ids := open(t, c.kind), make([]int64, Length)
			for _, example := range readCases(t) {
				want := c.want(example)
				if _, err := tok.Encode(ids, example.Text); err != nil || !slices.Equal(ids, want) {
					t.Errorf("%q becomes %d, %v, want %d", example.Text, ids, err, want)
				}
			}
		})
	}
}

func TestEncodeLongCaption(t *testing.T) {
	tok, ids := open(t, First), make([]int64, Length)
	for words, want := range map[int]bool{1: true, 75: true, 76: false, 10_000: false} {
		whole, err := tok.Encode(ids, strings.Repeat("7 ", words))
		if err != nil || whole != want || ids[0] != int64(tok.start) || ids[1+min(words, 75)] != int64(tok.end) {
			t.Errorf("%d words: whole is %v, %v, tokens %d", words, whole, err, ids)
		}
	}
	if _, err := tok.Encode(ids[:76], "a"); err == nil {
		t.Error("there was room for 76 tokens only")
	}
}

func TestNewErrors(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	vocabulary, merges := read(VocabularyFile), read(mergesFile)
	for _, c := range []struct{ name, vocabulary, merges, want string }{
		{"no JSON", "PK", merges, "vocab.json: must be an object of tokens"},
		{"a list", `["a"]`, merges, "vocab.json: must be an object of tokens"},
		{"no end", strings.Replace(vocabulary, endToken, "</s>", 1), merges, `vocab.json has no "<|endoftext|>"`},
		{"no byte", strings.Replace(vocabulary, `"~</w>"`, `"~~~~"`, 1), merges, `vocab.json has no "~</w>": expected a token for each byte`},
		{"a line with three tokens", vocabulary, "#version\na b c\n", "merges.txt: line 2: 3 tokens, expected 2"},
		{"merges of another tokenizer", vocabulary, "#version\nz q\n", `"zq" is not in the vocabulary`},
		{"a number twice", strings.Replace(vocabulary, `"!": 0`, `"!": 1`, 1), merges, "1"},
	} {
		if _, err := New([]byte(c.vocabulary), []byte(c.merges), First); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := New([]byte(vocabulary), nil, First); err != nil {
		t.Errorf("a tokenizer of bytes alone: %v", err)
	}
	if _, err := Open(t.TempDir(), First); err == nil || !strings.Contains(err.Error(), VocabularyFile) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := open(t, First).Fits(500); err == nil || !strings.Contains(err.Error(), "a vocabulary of 500") {
		t.Errorf("a model with fewer rows: %v", err)
	}
}

func FuzzTokenizerFiles(f *testing.F) {
	vocabulary, _ := os.ReadFile("testdata/vocab.json")
	merges, _ := os.ReadFile("testdata/merges.txt")
	f.Add(vocabulary, merges, "a caption!")
	f.Add([]byte(`{"a":-1}`), []byte("#\n! !"), "<|endoftext|>")
	f.Fuzz(func(t *testing.T, vocabulary, merges []byte, caption string) {
		for _, kind := range []Kind{First, Second, OpenCLIP} {
			tok, err := New(vocabulary, merges, kind)
			if err != nil {
				return
			}
			ids := make([]int64, Length)
			if _, err := tok.Encode(ids, caption); err != nil {
				continue
			}
			for _, id := range ids {
				if id < 0 || int(id) >= tok.bpe.Size() {
					t.Fatalf("token %d of %q is beyond the vocabulary of %d", id, caption, tok.bpe.Size())
				}
			}
		}
	})
}

// What was repaired once needs no repair any more.
func FuzzRepair(f *testing.F) {
	for _, c := range []string{"a &amp;amp; b", "“ﬁ”\r\nＡ\x85", "\x1b[\x1b[m", "&SZLIG; <b> &lt;\n&gt;"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := repair(strings.ToValidUTF8(text, "?"))
		if strings.Contains(once, "<") || strings.Contains(once, "&") {
			return // entities are meant from there on, or not any more
		}
		if again := repair(once); again != once {
			t.Errorf("%q becomes %q, and that %q", text, once, again)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	tok, ids := open(b, First), make([]int64, Length)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tok.Encode(ids, "Two dogs are standing in the snow next to a fence, and a cat's tail is seen behind it!"); err != nil {
			b.Fatal(err)
		}
	}
}
