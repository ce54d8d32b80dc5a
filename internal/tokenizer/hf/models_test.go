package hf

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestBPEJoinsPairs(t *testing.T) {
	checkTokenizer(t, `{"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,
		"vocab":{"a":0,"b":1,"c":2,"ab":3,"bc":4,"abc":5,"cab":6},"merges":["a b","b c","ab c","c ab"]}}`, []cuttingCase{
		{"the pair that was learnt first", "abc", []string{"abc"}},
		{"though another one is before it", "bcab", []string{"bc", "ab"}},
		{"a pair of what was joined", "cab", []string{"cab"}},
		{"the first of equal pairs", "abab", []string{"ab", "ab"}},
		{"a single character", "c", []string{"c"}},
		{"what no token has is left out", "axb", []string{"ab"}},
		{"nothing", "", nil},
	})
	checkTokenizer(t, `{"model":{"type":"BPE","dropout":null,"unk_token":"?","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,
		"vocab":{"?":0,"a":1,"aa":2},"merges":["a a"]}}`, []cuttingCase{
		{"an unknown character", "axa", []string{"a", "?", "a"}},
		{"two of them", "xya", []string{"?", "?", "a"}},
		{"three that are the same", "aaa", []string{"aa", "a"}},
		{"five", "aaaaa", []string{"aa", "aa", "a"}},
	})
	checkTokenizer(t, `{"model":{"type":"BPE","dropout":null,"unk_token":"?","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":false,
		"vocab":{"?":0,"a":1},"merges":[]}}`, []cuttingCase{
		{"neighbours that are unknown are one", "axyzaxa", []string{"a", "?", "a", "?", "a"}},
		{"at both ends", "xxaxx", []string{"?", "a", "?"}},
	})
	checkTokenizer(t, `{"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":"</w>","fuse_unk":false,"byte_fallback":false,
		"vocab":{"a":0,"b":1,"a</w>":2,"b</w>":3,"ab</w>":4},"merges":["a b</w>"]}}`, []cuttingCase{
		{"the last character has a mark", "ab a", []string{"ab</w>", "a</w>"}},
		{"only the last one", "abb", []string{"a", "b", "b</w>"}},
	})
	checkTokenizer(t, `{"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":true,
		"vocab":{"a":0,"b":1,"ab":2},"merges":[]}}`, []cuttingCase{
		{"a whole word that is a token", "ab", []string{"ab"}},
		{"a part of one is not", "aba", []string{"a", "b", "a"}},
	})
}

func TestUnigramTakesTheBestWay(t *testing.T) {
	checkTokenizer(t, `{"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":[["?",0],["a",-1],["b",-1],["ab",-1.5],["abc",-9],["c",-3],["日",-2],["日本",-2.5]]}}`, []cuttingCase{
		{"a token in place of two", "ab", []string{"ab"}},
		{"two in place of a worse one", "abc", []string{"ab", "c"}},
		{"an unknown character", "axb", []string{"a", "?", "b"}},
		{"neighbours that are unknown are one", "axyb", []string{"a", "?", "b"}},
		{"characters of several bytes", "日本日", []string{"日本", "日"}},
		{"only unknown ones", "xyz", []string{"?"}},
		{"nothing", "", nil},
	})
	checkTokenizer(t, `{"model":{"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["?",0],["a",-1],["<0xC3>",-9],["<0xA9>",-9]]}}`, []cuttingCase{
		{"bytes of an unknown character", "aé", []string{"a", "<0xC3>", "<0xA9>"}},
		{"of which one is not there", "aä", []string{"a", "?"}},
	})
}

func TestWordPieceAndWordLevel(t *testing.T) {
	checkTokenizer(t, `{"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":5,
		"vocab":{"[UNK]":0,"un":1,"##aff":2,"##able":3,"##a":4,"a":5,",":6,"unaff":7,"é":8,"##é":9}}}`, []cuttingCase{
		{"the longest beginning", "unaff", []string{"unaff"}},
		{"then what goes on", "una", []string{"un", "##a"}},
		{"a word of which a part is unknown", "unx", []string{"[UNK]"}},
		{"a word that is too long", "unaffa", []string{"[UNK]"}},
		{"characters count, not bytes", "ééééé", []string{"é", "##é", "##é", "##é", "##é"}},
		{"marks are words", "a,a", []string{"a", ",", "a"}},
		{"a piece that goes on begins no word", "able", []string{"[UNK]"}},
	})
	checkTokenizer(t, `{"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"ab":2}}}`, []cuttingCase{
		{"words as they are", "a ab", []string{"a", "ab"}},
		{"others are unknown", "a b", []string{"a", "?"}},
		{"capitals are others", "A", []string{"?"}},
	})
}

func TestAddedTokens(t *testing.T) {
	added := func(id int, content, more string) string {
		return fmt.Sprintf(`{"id":%d,"content":%q,"single_word":%t,"lstrip":%t,"rstrip":%t,"normalized":%t,"special":%t}`, id, content, strings.Contains(more, "word"), strings.Contains(more, "left"),
			strings.Contains(more, "right"), strings.Contains(more, "normal"), strings.Contains(more, "special"))
	}
	const model = `"model":{"type":"BPE","dropout":null,"unk_token":"?","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"vocab":{"?":0,"a":1,"b":2," ":3},"merges":[]}`
	checkTokenizer(t, `{"added_tokens":[`+added(4, "<s>", "special")+`,`+added(5, "<sep>", "special")+`,`+added(6, "<", "")+`],`+model+`}`, []cuttingCase{
		{"within a text", "a<s>b", []string{"a", "<s>", "b"}},
		{"the longest", "<sep><s><", []string{"<sep>", "<s>", "<"}},
		{"one behind another", "<s><s>", []string{"<s>", "<s>"}},
		{"half of one", "<se", []string{"<", "?", "?"}},
		{"at both ends", "<s>a<s>", []string{"<s>", "a", "<s>"}},
	})
	checkTokenizer(t, `{"added_tokens":[`+added(4, "<l>", "left")+`,`+added(5, "<r>", "right")+`],`+model+`}`, []cuttingCase{
		{"blanks before are taken", "a  <l> b", []string{"a", "<l>", " ", "b"}},
		{"blanks behind are taken", "a <r>  b", []string{"a", " ", "<r>", "b"}},
		{"on both sides", "a<r> \n <l>b", []string{"a", "<r>", "<l>", "b"}},
		{"without any", "a<l><r>b", []string{"a", "<l>", "<r>", "b"}},
	})
	checkTokenizer(t, `{"added_tokens":[`+added(4, "aa", "word")+`],`+model+`}`, []cuttingCase{
		{"a word of its own", "aa b aa", []string{"aa", " ", "b", " ", "aa"}},
		{"not a part of one", "aab baa", []string{"a", "a", "b", " ", "b", "a", "a"}},
		{"beside a mark", "aa.", []string{"aa", "?"}},
		{"beside an underscore", "aa_", []string{"a", "a", "?"}},
	})
	checkTokenizer(t, `{"normalizer":{"type":"Lowercase"},"added_tokens":[`+added(4, "AB", "")+`,`+added(5, "bb", "normal")+`],`+model+`}`, []cuttingCase{
		{"as it is written", "ABab", []string{"AB", "a", "b"}},
		{"in its normalized form", "bbBBBa", []string{"bb", "bb", "b", "a"}},
	})
}

func TestProcessors(t *testing.T) {
	const model = `"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"[CLS]":2,"[SEP]":3}}`
	checkTokenizer(t, `{"post_processor":{"type":"BertProcessing","cls":["[CLS]",2],"sep":["[SEP]",3]},`+model+`}`, []cuttingCase{
		{"around a text", "a", []string{"[CLS]", "a", "[SEP]"}},
		{"around nothing", "", []string{"[CLS]", "[SEP]"}},
	})
	checkTokenizer(t, `{"post_processor":{"type":"RobertaProcessing","cls":["[CLS]",2],"sep":["[SEP]",3],"trim_offsets":true,"add_prefix_space":true},`+model+`}`, []cuttingCase{{"the same of Roberta", "a", []string{"[CLS]", "a", "[SEP]"}}})
	checkTokenizer(t, `{"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
		"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"[CLS]":{"id":"[CLS]","ids":[2],"tokens":["[CLS]"]}}},`+model+`}`, []cuttingCase{
		{"as often as the template has it", "a", []string{"[CLS]", "[CLS]", "a"}},
	})
	checkTokenizer(t, `{"post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true},{"type":"BertProcessing","cls":["[CLS]",2],"sep":["[SEP]",3]}]},`+model+`}`, []cuttingCase{
		{"one behind another that adds nothing", "a", []string{"[CLS]", "a", "[SEP]"}},
	})
	checkTokenizer(t, `{"post_processor":null,`+model+`}`, []cuttingCase{{"none", "a", []string{"a"}}})
}

// Whole tokenizers in the manner of those that workloads have.
func TestTokenizersInTheMannerOfKnownOnes(t *testing.T) {
	checkTokenizer(t, `{"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
		"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
			"special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}},
		"added_tokens":[{"id":1,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
		"model":{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,
			"vocab":{"<unk>":0,"<s>":1,"<0xC3>":2,"<0xB6>":3,"▁":4,"a":5,"b":6,"▁a":7,"▁ab":8},"merges":["▁ a","▁a b"]}}`, []cuttingCase{
		{"Llama 2: a mark before the first word", "ab a", []string{"<s>", "▁ab", "▁a"}},
		{"a blank before it is one more", " a", []string{"<s>", "▁", "▁a"}},
		{"bytes of what is not there", "aö", []string{"<s>", "▁a", "<0xC3>", "<0xB6>"}},
		{"what has no bytes is unknown", "aé", []string{"<s>", "▁a", "<unk>"}},
		{"its own token within a text", "a<s>b", []string{"<s>", "▁a", "<s>", "▁", "b"}},
	})
	checkTokenizer(t, `{"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
		"added_tokens":[{"id":8,"content":"<|endoftext|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
		"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"","end_of_word_suffix":"","fuse_unk":false,"byte_fallback":false,
			"vocab":{"a":0,"b":1,"Ġ":2,"Ġa":3,"ab":4,"Ã":5,"¶":6,"Ã¶":7},"merges":["Ġ a","a b","Ã ¶"]}}`, []cuttingCase{
		{"GPT-2: blanks belong to words", "ab a", []string{"ab", "Ġa"}},
		{"bytes are joined to characters", "aö", []string{"a", "Ã¶"}},
		{"two blanks", "a  a", []string{"a", "Ġ", "Ġa"}},
		{"its end", "a<|endoftext|>a", []string{"a", "<|endoftext|>", "a"}},
	})
	checkTokenizer(t, `{"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},
		"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],
			"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]},"[SEP]":{"id":"[SEP]","ids":[2],"tokens":["[SEP]"]}}},
		"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"caf":3,"##e":4,"日":5,"!":6}}}`, []cuttingCase{
		{"BERT: accents and capitals go", "CAFÉ!", []string{"[CLS]", "caf", "##e", "!", "[SEP]"}},
		{"ideographs are words", "日本", []string{"[CLS]", "日", "[UNK]", "[SEP]"}},
	})
}

// A file may have tokens of any length and a model of any kind: what a text costs is bound by its length.
func TestHostileVocabulariesAreQuick(t *testing.T) {
	a := strings.Repeat("a", 510)
	for name, model := range map[string]string{
		"a unigram with a token as long as may be":   `{"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-1],["` + a + `b",-1]]}`,
		"a WordPiece with a token as long as may be": `{"type":"WordPiece","unk_token":"?","max_input_chars_per_word":1000,"vocab":{"?":0,"a":1,"##a":2,"` + a + a + `b":3}}`,
		"a BPE that joins again and again":           `{"type":"BPE","vocab":{"a":0,"aa":1,"aaaa":2,"aaaaaaaa":3},"merges":["a a","aa aa","aaaa aaaa"]}`,
	} {
		tok, err := read(small(model, ""))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if ids, err := tok.Append(nil, strings.Repeat("a", 1000), NoSpecial); err != nil || len(ids) == 0 {
			t.Errorf("%s: %d tokens, %v", name, len(ids), err)
		}
	}
	for model, want := range map[string]string{
		`{"type":"Unigram","unk_id":0,"vocab":[["?",0],["` + strings.Repeat("a", 513) + `",-1]]}`:              `vocab: token 1, "aaaaaaaaaaaaaaaaaaaa"…, has 513 bytes, want at most 512`,
		`{"type":"WordPiece","unk_token":"?","max_input_chars_per_word":1001,"vocab":{"?":0,"a":1}}`:           "max_input_chars_per_word is 1001, want 0 to 1000",
		`{"type":"WordPiece","unk_token":"?","max_input_chars_per_word":-1,"vocab":{"?":0,"a":1}}`:             "max_input_chars_per_word is -1, want 0 to 1000",
		`{"type":"WordPiece","unk_token":"?","max_input_chars_per_word":99999999999999999999,"vocab":{"?":0}}`: "max_input_chars_per_word",
	} {
		if _, err := read(small(model, "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", model, err, want)
		}
	}
}

// Each match of this pattern takes long, but not too long unless the machine is busy; there is one for each letter.
func TestManyMatchesThatTakeLongEnd(t *testing.T) {
	re := mustCompile(t, `(?=(a+)+$|.)[ab]`)
	re.MatchTimeout = 10 * time.Millisecond
	err := regexMatcher{re}.divide(strings.Repeat(strings.Repeat("a", 14)+"b", 2000), func(string, bool) {})
	if err == nil || !strings.Contains(err.Error(), "takes more than 60ms") && !strings.Contains(err.Error(), "takes more than 10ms for one match") {
		t.Errorf("divide = %v, want that it takes too long", err)
	}
}
