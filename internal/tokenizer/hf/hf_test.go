package hf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A golden is what make_golden.mjs wrote.
type golden struct {
	Tokenizers map[string]json.RawMessage
	Texts      []string
	Cases      map[string][]goldenCase
}

// A goldenCase is numbers of tokens, with and without special tokens around the text, and the
// text that they stand for, without special tokens and with them.
type goldenCase struct {
	ids, plain       []int32
	skipped, decoded string
}

func (c *goldenCase) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.ids, &c.plain, &c.skipped, &c.decoded})
}

// readGolden reads the golden values, and opens their tokenizers.
func readGolden(t testing.TB) (g golden, tokenizers map[string]*Tokenizer) {
	t.Helper()
	g = testenv.JSON[golden](t, cmp.Or(os.Getenv("HF_GOLDEN"), "testdata/golden.json.gz")) // or another seed of make_golden.mjs, or real tokenizers, by hand
	tokenizers = map[string]*Tokenizer{}
	for name, text := range g.Tokenizers {
		tok, err := Read(bytes.NewReader(text), name)
		if err != nil {
			t.Fatal(err)
		}
		tokenizers[name] = tok
	}
	return g, tokenizers
}

func TestTokensEqualTheLibrary(t *testing.T) {
	g, tokenizers := readGolden(t)
	for name, tok := range tokenizers {
		t.Run(name, func(t *testing.T) {
			for i, c := range g.Cases[name] {
				if i < len(g.Texts) { // the others are only decoded
					checkTokens(t, tok, g.Texts[i], AddSpecial, c.ids)
					checkTokens(t, tok, g.Texts[i], NoSpecial, c.plain)
				}
				checkText(t, tok, c.ids, SkipSpecial, c.skipped)
				checkText(t, tok, c.ids, KeepSpecial, c.decoded)
			}
		})
	}
}

// corners.json has tokenizers for one thing each that the library does (make_corners.mjs).
func TestCornersEqualTheLibrary(t *testing.T) {
	for _, c := range testenv.JSON[[]struct {
		Claim     string
		Tokenizer json.RawMessage
		Cases     []struct {
			Text             *string // nil where numbers are only decoded
			IDs, Plain       []int32
			Skipped, Decoded string
		}
	}](t, "testdata/corners.json") {
		t.Run(c.Claim, func(t *testing.T) {
			tok := read(t, string(c.Tokenizer))
			for _, want := range c.Cases {
				if want.Text != nil {
					checkTokens(t, tok, *want.Text, AddSpecial, want.IDs)
					checkTokens(t, tok, *want.Text, NoSpecial, want.Plain)
				}
				checkText(t, tok, want.IDs, SkipSpecial, want.Skipped)
				checkText(t, tok, want.IDs, KeepSpecial, want.Decoded)
			}
		})
	}
}

func checkTokens(t *testing.T, tok *Tokenizer, text string, special Special, want []int32) {
	t.Helper()
	if got, err := tok.Append(nil, text, special); err != nil || !slices.Equal(got, want) {
		t.Errorf("Append(%q, %t) = %s, %v, want %s", text, special, show(tok, got), err, show(tok, want))
	}
}

func checkText(t *testing.T, tok *Tokenizer, ids []int32, special Special, want string) {
	t.Helper()
	if got, err := tok.Decode(ids, special); err != nil || got != want {
		t.Errorf("Decode(%s, %t) = %q, %v, want %q", show(tok, ids), special, got, err, want)
	}
}

// show writes numbers with their tokens.
func show(tok *Tokenizer, ids []int32) string {
	out := ""
	for _, id := range ids {
		token, _ := tok.Token(id)
		out += fmt.Sprintf("%d:%q ", id, token)
	}
	return out
}

func read(t testing.TB, text string) *Tokenizer {
	t.Helper()
	tok, err := Read(strings.NewReader(text), "tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// small is a tokenizer into which a test puts what it is about.
func small(model, rest string) string {
	return `{"model":` + cmp.Or(model, `{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}`) + rest + `}`
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct {
		claim, text string
		parts       []string
	}{
		{"not JSON", "{\n\n]", []string{"line 3", "not a tokenizer.json"}},
		{"another type of JSON", "\n[1]", []string{"line 2", "not a tokenizer.json"}},
		{"a key that is there twice", small("", `,"normalizer":null,"normalizer":null`), []string{"not a tokenizer.json", `duplicate object member name "normalizer"`}},
		{"a token that is there twice", small(`{"type":"BPE","vocab":{"a":0,"a":1}}`, ""), []string{`duplicate object member name "a"`}},
		{"text that is not UTF-8", small(`{"type":"BPE","vocab":{"`+"\xff"+`":0}}`, ""), []string{"invalid UTF-8"}},
		{"no model", `{}`, []string{"model: there is no vocab"}},
		{"another model", small(`{"type":"WordLevel","vocab":{"a":0}}`, ""), []string{"model:", `"WordLevel" is not supported`, "BPE or Unigram"}},
		{"no unknown token", small(`{"type":"Unigram","vocab":[["a",-1]]}`, ""), []string{"model:", "unk_id", "0 to 0"}},
		{"an unknown token beyond the vocabulary", small(`{"type":"Unigram","unk_id":1,"vocab":[["a",-1]]}`, ""), []string{"model:", "unk_id", "0 to 0"}},
		{"scores that are none", small(`{"type":"Unigram","unk_id":0,"vocab":[["a"]]}`, ""), []string{"model: vocab", "a token and its score"}},
		{"an empty token", small(`{"type":"Unigram","unk_id":0,"vocab":[["",-1]]}`, ""), []string{"model: vocab[0]", "-1"}},
		{"a Unigram of no tokens", small(`{"type":"Unigram","unk_id":0,"vocab":[]}`, ""), []string{"model: vocab", "0 tokens"}},
		{"WordPiece without its type", small(`{"vocab":{"a":0},"max_input_chars_per_word":100}`, ""), []string{`type "" is not supported`}},
		{"an empty vocabulary", small(`{"type":"BPE","vocab":{},"merges":[]}`, ""), []string{"vocab", "0 tokens"}},
		{"a vocabulary that is a list", small(`{"type":"BPE","vocab":["a"],"merges":[]}`, ""), []string{"vocab", "object"}},
		{"two tokens with one number", small(`{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}`, ""), []string{`"a" and "b" both have number 0`}},
		{"a number below zero", small(`{"type":"BPE","vocab":{"a":-1},"merges":[]}`, ""), []string{`"a" has number -1`}},
		{"a number that needs gigabytes", small(`{"type":"BPE","vocab":{"a":2000000000},"merges":[]}`, ""), []string{"2000000000", "16777215"}},
		{"a vocabulary of holes", small(`{"type":"BPE","vocab":{"a":900000},"merges":[]}`, ""), []string{"1 tokens", "up to 900000"}},
		{"a number that is a string", small(`{"type":"BPE","vocab":{"a":"0"},"merges":[]}`, ""), []string{"vocab", "/a"}},
		{"a merge of a token that is not there", small(`{"type":"BPE","vocab":{"a":0,"ax":1},"merges":["a x"]}`, ""), []string{"merges[0]", `"x" is not in the vocabulary`}},
		{"a merge of an empty token", small(`{"type":"BPE","vocab":{"a":0,"":1},"merges":[["","a"]]}`, ""), []string{"merges[0]", "empty"}},
		{"a merge of three", small(`{"type":"BPE","vocab":{"a":0},"merges":["a a a"]}`, ""), []string{"a a a", "two tokens", "/model/merges/0"}},
		{"a pair of three", small(`{"type":"BPE","vocab":{"a":0},"merges":[["a","a","a"]]}`, ""), []string{"/model/merges/0", "array"}},
		{"dropout", small(`{"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]}`, ""), []string{"dropout is 0.1"}},
		{"a prefix of what goes on", small(`{"type":"BPE","continuing_subword_prefix":"##","vocab":{"a":0}}`, ""), []string{`continuing_subword_prefix "##"`}},
		{"an unknown token that is not there", small(`{"type":"BPE","unk_token":"<unk>","vocab":{"a":0},"merges":[]}`, ""), []string{"unk_token", "<unk>"}},
		{"another normalizer", small("", `,"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]}`), []string{"normalizer.normalizers[1]", `"Lowercase"`, "NFKC"}},
		{"a map that is not base64", small("", `,"normalizer":{"type":"Precompiled","precompiled_charsmap":"?"}`), []string{"normalizer: precompiled_charsmap", "base64"}},
		{"a map that is cut off", small("", `,"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAQAAAAA"}`), []string{"normalizer: precompiled_charsmap", "1024", "2"}},
		{"no map", small("", `,"normalizer":{"type":"Precompiled"}`), []string{"normalizer: precompiled_charsmap", "0 bytes"}},
		{"another pre-tokenizer", small("", `,"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"BertPreTokenizer"}]}`), []string{"pre_tokenizer.pretokenizers[0]", "BertPreTokenizer", "Metaspace"}},
		{"another post-processor", small("", `,"post_processor":{"type":"Sequence","processors":[{"type":"BertProcessing"}]}`), []string{"post_processor.processors[0]", "TemplateProcessing"}},
		{"another decoder", small("", `,"decoder":{"type":"Sequence","decoders":[{"type":"CTC"}]}`), []string{"decoder.decoders[0]", "CTC", "ByteFallback"}},
		{"an unknown behavior", small("", `,"pre_tokenizer":{"type":"Split","behavior":"Split","pattern":{"String":"a"}}`), []string{"behavior", "MergedWithNext"}},
		{"no pattern", small("", `,"pre_tokenizer":{"type":"Split","behavior":"Removed"}`), []string{"no pattern"}},
		{"an empty pattern", small("", `,"normalizer":{"type":"Replace","pattern":{"String":""},"content":"x"}`), []string{"pattern is empty"}},
		{"an invalid pattern", small("", `,"pre_tokenizer":{"type":"Split","behavior":"Removed","pattern":{"Regex":"(a"}}`), []string{`"(a"`}},
		{"a replacement of none", small("", `,"decoder":{"type":"Metaspace","replacement":""}`), []string{"one character"}},
		{"an unknown scheme", small("", `,"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"last"}`), []string{`"last"`, "always, first, never"}},
		{"a contradiction", small("", `,"pre_tokenizer":{"type":"Metaspace","replacement":"_","add_prefix_space":false}`), []string{"add_prefix_space", "always"}},
		{"an added token with another number", small("", `,"added_tokens":[{"id":7,"content":"a"}]`), []string{"added_tokens[0]", "7", "0"}},
		{"an added token with a number in use", small("", `,"added_tokens":[{"id":2,"content":"<x>"}]`), []string{`"<x>" has number 2, which "ab" has too`}},
		{"an added token without content", small("", `,"added_tokens":[{"id":2}]`), []string{"empty"}},
		{"an added token far out", small("", `,"added_tokens":[{"id":99999999,"content":"<x>"}]`), []string{"99999999"}},
		{"a template without the text", small("", `,"post_processor":{"type":"TemplateProcessing","single":[]}`), []string{"0 times"}},
		{"a template of an unknown token", small("", `,"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}]}`), []string{"<s>", "special_tokens"}},
		{"a template beyond the vocabulary", small("", `,"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}},{"Sequence":{}}],"special_tokens":{"x":{"ids":[9]}}}`), []string{"token 9", "vocabulary of 3"}},
		{"mistakes in two places", small("", `,"decoder":{"type":"CTC"},"normalizer":{"type":"Rot13"}`), []string{"decoder", "CTC", "normalizer", "Rot13"}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), "tokenizer.json")
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range append(c.parts, "tokenizer.json") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestTruncatedFiles(t *testing.T) {
	whole := small("", `,"normalizer":{"type":"NFC"},"added_tokens":[{"id":3,"content":"<s>"}]`)
	for n := range len(whole) {
		if _, err := Read(strings.NewReader(whole[:n]), "tokenizer.json"); err == nil || !strings.Contains(err.Error(), "tokenizer.json: line 1: not a tokenizer.json") {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	torn := io.MultiReader(strings.NewReader(`{"model":`), iotest.ErrReader(errors.New("the disk is gone")))
	if _, err := Read(torn, "a.json"); !testenv.Names(err, "a.json … the disk is gone") {
		t.Errorf("a reader that fails: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "nope.json")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "reading the tokenizer") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Older files leave out the type, and newer ones write merges as pairs.
func TestOldAndNewFiles(t *testing.T) {
	for _, model := range []string{
		`{"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}`,
		`{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"","end_of_word_suffix":null,"vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]],"later":[1]}`,
	} {
		checkTokens(t, read(t, small(model, "")), "abb", NoSpecial, []int32{2, 1})
	}
}

func TestIDs(t *testing.T) {
	tok := read(t, small("", `,"added_tokens":[{"id":9,"content":"<s>","special":true}],"decoder":{"type":"Fuse"}`))
	if err := tok.Fits(10); err != nil {
		t.Errorf("ten tokens do not fit into ten: %v", err)
	}
	if err := tok.Fits(9); err == nil || !strings.Contains(err.Error(), "up to 9") || !strings.Contains(err.Error(), "vocabulary of 9") {
		t.Errorf("ten tokens in nine: %v", err)
	}
	for id, want := range map[int32]string{0: "a", 2: "ab", 9: "<s>"} {
		if got, ok := tok.ID(want); got != id || !ok {
			t.Errorf("%s is %d, %t, want %d", want, got, ok, id)
		}
	}
	checkText(t, tok, []int32{0, 9, 1}, SkipSpecial, "ab")
	for _, id := range []int32{-1, 5, 10} {
		if _, err := tok.Decode([]int32{0, id}, SkipSpecial); err == nil || !strings.Contains(err.Error(), "token 1 is") || !strings.Contains(err.Error(), "vocabulary of 10") {
			t.Errorf("decoding token %d: %v", id, err)
		}
	}
}

// The reference's scripts decode through transformers, where tokenizer_config.json may ask for fewer blanks.
func TestDecodeClean(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tokenizer.json")
	model := `{"vocab":{"do":0," n't":1," .":2," '":3," s":4," 's":5," ,":6},"merges":[]}`
	testenv.Must(t, os.WriteFile(path, []byte(small(model, `,"decoder":{"type":"Fuse"}`)), 0o600))
	ids := []int32{0, 1, 3, 4, 5, 6, 2, 2}
	const plain, clean = "do n't ' s 's , . .", "don't's's,.."
	for config, want := range map[string]string{"": plain, `{}`: plain, `{"clean_up_tokenization_spaces": false}`: plain, `{"clean_up_tokenization_spaces": true}`: clean} {
		if config != "" {
			testenv.Must(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(config), 0o600))
		}
		tok, err := Open(path)
		testenv.Must(t, err)
		if got, err := tok.DecodeClean(ids, SkipSpecial); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", config, got, err, want)
		}
		checkText(t, tok, ids, SkipSpecial, plain)
		testenv.Must(t, os.RemoveAll(filepath.Join(dir, "tokenizer_config.json")))
	}
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(`{"clean_up_tokenization_spaces": 1}`), 0o600))
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "tokenizer_config.json") {
		t.Errorf("a number for true or false: %v", err)
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	tok := read(t, small("", ""))
	memory := make([]int32, 2, 16)
	memory[0], memory[1] = 7, 8
	if got, err := tok.Append(memory, "ab", AddSpecial); err != nil || !slices.Equal(got, []int32{7, 8, 2}) || &got[0] != &memory[0] {
		t.Errorf("Append = %v, %v", got, err)
	}
	broken, err := tok.Append(nil, "a\xffb", NoSpecial)
	whole, _ := tok.Append(nil, "a\ufffdb", NoSpecial)
	if err != nil || !slices.Equal(broken, whole) {
		t.Errorf("broken text has tokens %v, %v, want %v", broken, err, whole)
	}
}

func TestAppendFromSeveralGoroutines(t *testing.T) {
	g, tokenizers := readGolden(t)
	for name, tok := range tokenizers {
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				for i, text := range g.Texts[:20] {
					if got, err := tok.Append(nil, text, AddSpecial); err != nil || !slices.Equal(got, g.Cases[name][i].ids) {
						t.Errorf("%s: %q: %v, %v", name, text, got, err)
					}
				}
			})
		}
		wait.Wait()
	}
}

func TestMatchTimeout(t *testing.T) {
	m, err := newRegexMatcher("(a+)+$")
	if err != nil {
		t.Fatal(err)
	}
	m.(regexMatcher).MatchTimeout = 20 * time.Millisecond
	err = m.divide(strings.Repeat("a", 40)+"b", func(string, bool) {})
	if err == nil || !strings.Contains(err.Error(), "takes more than 20ms for one match") || strings.Contains(err.Error(), "aaa") {
		t.Errorf("divide = %v, want an error without the text", err)
	}
}

func TestPatternErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		`a\h`: `\h is not supported`, `\w+`: `\w is not supported`, `[\w]`: `\w is not supported`, `a\`: "ends with a backslash", `[\`: "ends with a backslash",
		`\p{L`: "no closing brace", `[a`: "no closing bracket", `[[a]b]`: "set within a set", `[a&&b]`: "set within a set", `(?x) a`: "the only option is", `(?i)a`: "the only option is (?i:",
		`a{,2}`: "expected {2} or {1,3}", `a{2}?`: "{2}? is not supported", `+a`: "+ repeats nothing", `(a`: "missing closing )", `\p{Nobody}`: "Nobody",
	} {
		if _, err := newRegexMatcher(pattern); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "pattern ") {
			t.Errorf("%q: error %v, want one that says %q", pattern, err, want)
		}
	}
}

// words are the parts into which a matcher divides a text.
func words(t *testing.T, m matcher, text string) (words []string) {
	t.Helper()
	if err := m.divide(text, func(part string, _ bool) { words = append(words, part) }); err != nil {
		t.Fatal(err)
	}
	return words
}

// engines match the known patterns by the engine.
func engines(t testing.TB) map[string]matcher {
	list := map[string]matcher{}
	for pattern := range knownPatterns {
		m, err := newRegexMatcher("(?:" + pattern + ")")
		if err != nil {
			t.Fatal(err)
		}
		list[pattern] = m
	}
	return list
}

// The hand-made matchers equal their patterns over all short texts of characters of each class.
func TestGPTMatchersEqualPatterns(t *testing.T) {
	texts := []string{""}
	for range 3 {
		for _, text := range texts {
			for _, letter := range []string{"a", "s", "T", "é", "1", "²", "'", "ſ", "!", "/", " ", "\t", "\n", "\r", "\u00a0", "l"} {
				texts = append(texts, text+letter)
			}
		}
		slices.Sort(texts)
		texts = slices.Compact(texts)
	}
	for pattern, engine := range engines(t) {
		for _, text := range texts {
			if got, want := words(t, knownPatterns[pattern], text), words(t, engine, text); !slices.Equal(got, want) {
				t.Fatalf("by %q the words of %q are %q, want %q", pattern, text, got, want)
			}
		}
	}
}

func FuzzGPTMatchers(f *testing.F) {
	g, _ := readGolden(f)
	for _, text := range g.Texts {
		f.Add(text)
	}
	ways := engines(f)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 1<<12 {
			return
		}
		for pattern, engine := range ways {
			if got, want := words(t, knownPatterns[pattern], text), words(t, engine, text); !slices.Equal(got, want) {
				t.Errorf("words of %q are %q, by the pattern %q", text, got, want)
			}
		}
	})
}

// Tokenizers that have a token for each byte give back the text, and none panics.
func FuzzRoundTrip(f *testing.F) {
	g, tokenizers := readGolden(f)
	for _, text := range g.Texts[:30] {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, tok := range tokenizers {
			ids, err := tok.Append(nil, text, NoSpecial)
			if err != nil {
				t.Fatalf("%s: Append(%q): %v", name, text, err)
			}
			got, err := tok.Decode(ids, KeepSpecial)
			if err != nil {
				t.Fatalf("%s: Decode(%v): %v", name, ids, err)
			}
			if (name == "gpt-oss" || name == "deepseek") && utf8.ValidString(text) && got != text {
				t.Errorf("%s: %q comes back as %q", name, text, got)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small("", "")))
	f.Add([]byte(small("", `,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[^\\r\\n\\p{L}]?+(?i:s|t)++|\\p{N}{1,3}+|a+$"}}`)))
	f.Add([]byte(small(`{"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["?",-9],["a",-1],["ab",-1.5],["<0xFF>",-3]]}`,
		`,"normalizer":{"type":"Precompiled","precompiled_charsmap":"CAAAAAAEAAABAACAYgA="}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		tok, err := Read(bytes.NewReader(data), "x")
		if err != nil {
			return
		}
		ids, err := tok.Append(nil, "ab b\xff <s>", AddSpecial)
		if err != nil {
			return
		}
		if _, err := tok.Decode(ids, KeepSpecial); err != nil {
			t.Errorf("tokens %v of the tokenizer itself: %v", ids, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	g, tokenizers := readGolden(b)
	text := strings.Repeat(strings.Join(g.Texts[len(g.Texts)-60:], " "), 3)
	for _, name := range []string{"llama-3", "llama-2", "gpt-oss"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var ids []int32
			for b.Loop() {
				ids, _ = tokenizers[name].Append(ids[:0], text, AddSpecial)
			}
		})
	}
}
