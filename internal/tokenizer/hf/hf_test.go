package hf

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// small is a tokenizer of BPE, into which a test puts what it is about.
func small(model, rest string) string {
	if model == "" {
		model = `{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}`
	}
	return `{"model":` + model + rest + `}`
}

func read(text string) (*Tokenizer, error) { return Read(strings.NewReader(text), "tokenizer.json") }

func TestBadFilesAreNamed(t *testing.T) {
	for _, c := range []struct {
		claim, text string
		parts       []string
	}{
		{"no JSON", "{\n\n]", []string{"line 3", "no tokenizer.json"}},
		{"another type of JSON", `[1]`, []string{"no tokenizer.json"}},
		{"no model", `{}`, []string{"no model", "BPE"}},
		{"an unknown model", small(`{"type":"Magic","vocab":{"a":0}}`, ""), []string{"model:", `"Magic"`, "WordLevel"}},
		{"an empty vocabulary", small(`{"type":"BPE","vocab":{},"merges":[]}`, ""), []string{"vocab", "empty"}},
		{"a vocabulary that is a list", small(`{"type":"BPE","vocab":["a"],"merges":[]}`, ""), []string{"vocab", "object"}},
		{"two tokens with one number", small(`{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}`, ""), []string{`"a" and "b" both have number 0`}},
		{"a number below zero", small(`{"type":"BPE","vocab":{"a":-1},"merges":[]}`, ""), []string{`"a" has number -1`}},
		{"a number that needs gigabytes", small(`{"type":"BPE","vocab":{"a":2000000000},"merges":[]}`, ""), []string{"2000000000", "16777215"}},
		{"a vocabulary of holes", small(`{"type":"BPE","vocab":{"a":900000},"merges":[]}`, ""), []string{"1 tokens", "up to 900000"}},
		{"a merge of a token that is not there", small(`{"type":"BPE","vocab":{"a":0,"ax":1},"merges":["a x"]}`, ""), []string{"merges[0]", `"x" is not in the vocabulary`}},
		{"a merge into nothing", small(`{"type":"BPE","vocab":{"a":0,"b":1},"merges":[["a","b"]]}`, ""), []string{`become "ab"`}},
		{"a merge that changes nothing", small(`{"type":"BPE","vocab":{"a":0,"":1},"merges":[["","a"]]}`, ""), []string{"merges[0]", "empty"}},
		{"a merge of three", small(`{"type":"BPE","vocab":{"a":0},"merges":["a a a"]}`, ""), []string{"a a a", "two tokens"}},
		{"a pair of three", small(`{"type":"BPE","vocab":{"a":0},"merges":[["a","a","a"]]}`, ""), []string{"two tokens"}},
		{"dropout", small(`{"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]}`, ""), []string{"dropout is 0.1"}},
		{"an unknown token that is not there", small(`{"type":"BPE","unk_token":"<unk>","vocab":{"a":0},"merges":[]}`, ""), []string{"unk_token", "<unk>"}},
		{"WordPiece without one", small(`{"type":"WordPiece","vocab":{"a":0}}`, ""), []string{"unk_token", "[UNK]"}},
		{"Unigram with an unknown number", small(`{"type":"Unigram","unk_id":3,"vocab":[["a",-1]]}`, ""), []string{"unk_id is 3", "0 to 0"}},
		{"Unigram without scores", small(`{"type":"Unigram","vocab":["a"]}`, ""), []string{"scores"}},
		{"Unigram with nothing", small(`{"type":"Unigram","vocab":[]}`, ""), []string{"0 tokens"}},
		{"an unknown normalizer", small("", `,"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Rot13"}]}`), []string{"normalizer.normalizers[1]", `"Rot13"`, "NFKC"}},
		{"an unknown pre-tokenizer", small("", `,"pre_tokenizer":{"type":"UnicodeScripts"}`), []string{"pre_tokenizer", "UnicodeScripts", "Metaspace"}},
		{"an unknown post-processor", small("", `,"post_processor":{"type":"X"}`), []string{"post_processor", "TemplateProcessing"}},
		{"an unknown decoder", small("", `,"decoder":{"type":"Sequence","decoders":[{"type":"CTC"}]}`), []string{"decoder.decoders[0]", "CTC", "ByteFallback"}},
		{"a long replacement", small("", `,"normalizer":{"type":"Replace","pattern":{"String":"a"},"content":"`+strings.Repeat("x", 257)+`"}`), []string{"257 bytes, want at most 256"}},
		{"an unknown behavior", small("", `,"pre_tokenizer":{"type":"Split","behavior":"Split","pattern":{"String":"a"}}`), []string{"behavior", "MergedWithNext"}},
		{"no pattern", small("", `,"pre_tokenizer":{"type":"Split","behavior":"Removed"}`), []string{"no pattern"}},
		{"an empty pattern", small("", `,"normalizer":{"type":"Replace","pattern":{"String":""},"content":"x"}`), []string{"pattern is empty"}},
		{"a pattern that is none", small("", `,"pre_tokenizer":{"type":"Split","behavior":"Removed","pattern":{"Regex":"(a"}}`), []string{`"(a"`}},
		{"a delimiter of two characters", small("", `,"pre_tokenizer":{"type":"CharDelimiterSplit","delimiter":"ab"}`), []string{`"ab"`, "one character"}},
		{"a replacement of none", small("", `,"pre_tokenizer":{"type":"Metaspace","replacement":""}`), []string{"one character"}},
		{"an unknown scheme", small("", `,"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"last"}`), []string{`"last"`, "always, first, never"}},
		{"a contradiction", small("", `,"pre_tokenizer":{"type":"Metaspace","replacement":"_","add_prefix_space":false}`), []string{"add_prefix_space", "always"}},
		{"an added token with another number", small("", `,"added_tokens":[{"id":7,"content":"a"}]`), []string{"added_tokens[0]", "7", "0"}},
		{"an added token with a number in use", small("", `,"added_tokens":[{"id":2,"content":"<x>"}]`), []string{`"<x>" has number 2, which "ab" has too`}},
		{"an added token without content", small("", `,"added_tokens":[{"id":2}]`), []string{"empty"}},
		{"an added token far out", small("", `,"added_tokens":[{"id":99999999,"content":"<x>"}]`), []string{"99999999"}},
		{"a template without the text", small("", `,"post_processor":{"type":"TemplateProcessing","single":[]}`), []string{"0 times"}},
		{"a template of an unknown token", small("", `,"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}]}`), []string{"<s>", "special_tokens"}},
		{"a template beyond the vocabulary", small("", `,"post_processor":{"type":"BertProcessing","cls":["x",9],"sep":["y",0]}`), []string{"token 9", "vocabulary of 3"}},
		{"two processors that add tokens", small("", `,"post_processor":{"type":"Sequence","processors":[{"type":"BertProcessing","cls":["a",0],"sep":["b",1]},{"type":"ByteLevel"},{"type":"RobertaProcessing","cls":["a",0],"sep":["b",1]}]}`), []string{"post_processor.processors[2]", "RobertaProcessing", "before it did already"}},
		{"a part of a template that is neither", small("", `,"post_processor":{"type":"TemplateProcessing","single":[{}]}`), []string{"single[0]", "SpecialToken or a Sequence"}},
		{"a template with the text twice", small("", `,"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}},{"Sequence":{"id":"A"}}]}`), []string{"2 times"}},
		{"a decoder without its mark", small("", `,"decoder":{"type":"Metaspace"}`), []string{"decoder", "one character"}},
		{"a decoder of an unknown scheme", small("", `,"decoder":{"type":"Metaspace","replacement":"_","prepend_scheme":"last"}`), []string{"decoder", `"last"`}},
		{"a decoder without a pattern", small("", `,"decoder":{"type":"Replace","content":"x"}`), []string{"decoder", "no pattern"}},
		{"mistakes in two places", small("", `,"decoder":{"type":"CTC"},"normalizer":{"type":"Rot13"}`), []string{"decoder", "CTC", "normalizer", "Rot13"}},
		{"a number of a token that is no number", small(`{"type":"BPE","vocab":{"a":"0"},"merges":[]}`, ""), []string{"vocab"}},
		{"a number that is the first too large", small(`{"type":"BPE","vocab":{"a":16777216},"merges":[]}`, ""), []string{"16777216", "16777215"}},
		{"Unigram with a number below zero", small(`{"type":"Unigram","unk_id":-1,"vocab":[["a",-1]]}`, ""), []string{"unk_id is -1"}},
		{"Unigram with a token without its score", small(`{"type":"Unigram","vocab":[["a"]]}`, ""), []string{"token and its score"}},
		{"Unigram with a score beyond all numbers", small(`{"type":"Unigram","vocab":[["a",-1e999]]}`, ""), []string{"vocab"}},
		{"a processor without its tokens", small("", `,"post_processor":{"type":"Sequence","processors":[{"type":"RobertaProcessing"}]}`), []string{"processors[0]", "cls"}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			_, err := read(c.text)
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

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("Open of a folder: %v", err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, []byte(small("", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := Open(path)
	if err != nil || tok.Size() != 3 {
		t.Errorf("Open = %+v, %v", tok, err)
	}
}

func TestFitsComparesWithTheModel(t *testing.T) {
	tok, err := read(small("", `,"added_tokens":[{"id":9,"content":"<s>","special":true}]`))
	if err != nil {
		t.Fatal(err)
	}
	if err := tok.Fits(10); err != nil {
		t.Errorf("ten tokens do not fit into ten: %v", err)
	}
	if err := tok.Fits(9); err == nil || !strings.Contains(err.Error(), "up to 9") || !strings.Contains(err.Error(), "vocabulary of 9") {
		t.Errorf("ten tokens in nine: %v", err)
	}
	if id, ok := tok.ID("<s>"); id != 9 || !ok || !tok.IsSpecial(9) || tok.IsSpecial(0) {
		t.Errorf("<s> is %d, %t, special %t", id, ok, tok.IsSpecial(9))
	}
	if id, ok := tok.ID("ab"); id != 2 || !ok {
		t.Errorf("ab is %d, %t", id, ok)
	}
	if token, ok := tok.Token(5); ok {
		t.Errorf("token 5 is %q", token)
	}
	for _, id := range []int32{-1, 5, 10} {
		if _, err := tok.Decode([]int32{0, id}, SkipSpecial); err == nil || !strings.Contains(err.Error(), "token 1 is") || !strings.Contains(err.Error(), "vocabulary of 10") {
			t.Errorf("decoding token %d: %v", id, err)
		}
	}
}

func TestTextThatNoTokenHas(t *testing.T) {
	for _, model := range []string{`{"type":"WordLevel","vocab":{"a":0}}`, `{"type":"Unigram","vocab":[["a",-1]]}`} {
		tok, err := read(small(model, ""))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tok.Append(nil, "x", NoSpecial); err == nil || !strings.Contains(err.Error(), "unknown token") {
			t.Errorf("%s: %v", model, err)
		}
	}
}

func TestAPatternThatTakesForeverEnds(t *testing.T) {
	tok, err := read(small("", `,"pre_tokenizer":{"type":"Split","behavior":"Removed","pattern":{"Regex":"(a+)+$"}}`))
	if err != nil {
		t.Fatal(err)
	}
	m := regexMatcher{tokenRegex(t)}
	err = m.divide(strings.Repeat("a", 40)+"b", func(string, bool) {})
	if want := `cutting text by the pattern "(a+)+$" takes more than 20ms for one match`; err == nil || err.Error() != want {
		t.Errorf("divide = %v, want %s, without the text", err, want)
	}
	if ids, err := tok.Append(nil, "baa", NoSpecial); err != nil || len(ids) != 1 {
		t.Errorf("Append = %v, %v", ids, err)
	}
}

func TestTextsDoNotGrowWithoutBound(t *testing.T) {
	double := `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`
	tok, err := read(small("", `,"normalizer":{"type":"Sequence","normalizers":[`+strings.Repeat(double+",", 60)+double+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.Append(nil, "aaaa", NoSpecial); err == nil || !strings.Contains(err.Error(), "64 times as long") {
		t.Errorf("Append = %v, want an error", err)
	}
}

func TestDecodedTextsDoNotGrowWithoutBound(t *testing.T) {
	double := `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`
	deep := `{"type":"Sequence","decoders":[` + strings.Repeat(double+",", 7) + double + `]}`
	tok, err := read(small("", `,"decoder":{"type":"Sequence","decoders":[`+strings.Repeat(deep+",", 6)+deep+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.Decode([]int32{0}, KeepSpecial); err == nil || !strings.Contains(err.Error(), "64 times as long") {
		t.Errorf("Decode = %v, want an error", err)
	}
}

func TestAStripOfAllThereIsEnds(t *testing.T) {
	tok, err := read(small("", `,"decoder":{"type":"Strip","content":"a","start":4611686018427387904,"stop":4611686018427387904}`))
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, tok, []int32{0, 1, 2}, KeepSpecial, "bb")
}

// Files of before the type of a model was written are of the type that their fields tell.
func TestTheTypeOfAModelFollowsFromItsFields(t *testing.T) {
	for model, want := range map[string]struct {
		text string
		ids  []int32
	}{
		`{"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}`:                              {"ab", []int32{2}},
		`{"vocab":[["a",-1],["b",-1],["ab",-9]]}`:                                      {"ab", []int32{0, 1}},
		`{"vocab":{"a":0,"##b":1,"[UNK]":2},"max_input_chars_per_word":2}`:             {"ab", []int32{0, 1}},
		`{"vocab":{"a":0,"##b":1,"[UNK]":2},"unk_token":"[UNK]"}`:                      {"ab", []int32{2}},
		`{"type":"WordPiece","vocab":{"a":0,"x":1},"unk_token":"x"}`:                   {"b", []int32{1}},
		`{"type":"WordLevel","vocab":{"a":0,"x":1},"unk_token":"there is no such"}`:    {"x", []int32{1}},
		`{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]],"dropout":0}`: {"abab", []int32{2, 2}},
	} {
		tok, err := read(small(model, ""))
		if err != nil {
			t.Errorf("%s: %v", model, err)
			continue
		}
		checkTokens(t, tok, want.text, NoSpecial, want.ids)
	}
}

// An added token is found in normalized text whatever its own form is, and is written as the
// file has it.
func TestAddedTokensAreNormalizedToo(t *testing.T) {
	tok, err := read(small("", `,"normalizer":{"type":"Lowercase"},"added_tokens":[{"id":3,"content":"<X>","normalized":true},{"id":4,"content":"<Y>"},{"id":5,"content":"<x>","normalized":true}]`))
	if err != nil {
		t.Fatal(err)
	}
	checkTokens(t, tok, "A<X>b<x><Y><y>", NoSpecial, []int32{0, 3, 1, 3, 4})
	checkText(t, tok, []int32{3, 4}, KeepSpecial, "<X> <Y>")
}

// Text goes to the end of the memory that a caller has, and nothing of it is changed.
func TestAppendKeepsWhatIsThere(t *testing.T) {
	tok, err := read(small("", `,"post_processor":{"type":"BertProcessing","cls":["a",0],"sep":["b",1]}`))
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]int32, 2, 16)
	memory[0], memory[1] = 7, 8
	if got, err := tok.Append(memory, "ab", AddSpecial); err != nil || !slices.Equal(got, []int32{7, 8, 0, 2, 1}) || &got[0] != &memory[0] {
		t.Errorf("Append = %v, %v", got, err)
	}
	if got, err := tok.Append(nil, "", NoSpecial); err != nil || len(got) != 0 {
		t.Errorf("no text has tokens %v, %v", got, err)
	}
	broken, err := tok.Append(nil, "a\xffb", NoSpecial)
	whole, _ := tok.Append(nil, "a\ufffdb", NoSpecial)
	if err != nil || !slices.Equal(broken, whole) {
		t.Errorf("broken text has tokens %v, %v, want %v", broken, err, whole)
	}
}

func TestATokenizerIsForSeveralGoroutines(t *testing.T) {
	g := readGolden(t)
	for name := range g.Cases {
		tok := g.tokenizer(t, name)
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

// The two ways to cut by the same pattern must agree.
func FuzzHandMadeMatchersAreTheirPatterns(f *testing.F) {
	for _, text := range readGolden(f).Texts {
		f.Add(text)
	}
	type way struct{ hand, engine matcher }
	var ways []way
	for pattern, hand := range knownPatterns {
		ways = append(ways, way{hand, engineOf(f, pattern)})
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 1<<12 {
			return
		}
		for _, w := range ways {
			if got, want := words(t, w.hand, text), words(t, w.engine, text); !slices.Equal(got, want) {
				t.Errorf("words of %q are %q, by the pattern %q", text, got, want)
			}
		}
	})
}

func words(t *testing.T, m matcher, text string) (words []string) {
	t.Helper()
	if err := m.divide(text, func(part string, matched bool) { words = append(words, part) }); err != nil {
		t.Fatal(err)
	}
	return words
}

// FuzzRoundTrip: whatever the bytes, tokenizers that have a token for each byte give back the
// text, and no tokenizer panics.
func FuzzRoundTrip(f *testing.F) {
	g := readGolden(f)
	for _, text := range g.Texts[:30] {
		f.Add(text)
	}
	toks := map[string]*Tokenizer{}
	for name := range g.Cases {
		toks[name] = g.tokenizer(f, name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, tok := range toks {
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
	g := readGolden(f)
	f.Add([]byte(small("", "")))
	f.Add([]byte(g.Tokenizers["word level"]))
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

func TestCleanUpIsThatOfTransformers(t *testing.T) {
	for text, want := range map[string]string{
		"Hello , world !": "Hello, world!", "do n't ' x ' I 'm it 's we 've you 're . ?": "don't'x'I'm it's we've you're.?", "": "",
	} {
		if got := cleanUp(text); got != want {
			t.Errorf("CleanUp(%q) = %q, want %q", text, got, want)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	g := readGolden(b)
	text := strings.Repeat(strings.Join(g.Texts[len(g.Texts)-60:], " "), 3)
	for _, name := range []string{"llama-3", "llama-2", "bert", "gpt-oss", "unigram"} {
		b.Run(name, func(b *testing.B) {
			tok := g.tokenizer(b, name)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var ids []int32
			for b.Loop() {
				ids, _ = tok.Append(ids[:0], text, AddSpecial)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	g := readGolden(b)
	tok := g.tokenizer(b, "llama-3")
	text := strings.Join(g.Texts, " ")
	ids, err := tok.Append(nil, text, AddSpecial)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tok.Decode(ids, SkipSpecial); err != nil {
			b.Fatal(err)
		}
	}
}
