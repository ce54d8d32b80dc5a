package hf

import "testing"

func TestWordsBetweenBlanks(t *testing.T) {
	checkPreTokenizer(t, `{"type":"WhitespaceSplit"}`, []cuttingCase{
		{"between blanks", "a b  c\n", []string{"a", "b", "c"}},
		{"marks belong to words", "a, b.", []string{"a,", "b."}},
		{"blanks of Unicode", "a\u00a0b\u2028c\u3000d\u0085e", []string{"a", "b", "c", "d", "e"}},
		{"what is no blank", "a\u200bb\ufeffc", []string{"a\u200bb\ufeffc"}},
		{"nothing but blanks", " \t ", nil},
	})
	checkPreTokenizer(t, `{"type":"Whitespace"}`, []cuttingCase{
		{"words and marks", "a, b.", []string{"a", ",", "b", "."}},
		{"marks together", "a...b?!", []string{"a", "...", "b", "?!"}},
		{"an underscore is of a word", "a_b-c", []string{"a_b", "-", "c"}},
		{"digits are of words", "a1 22", []string{"a1", "22"}},
		{"letters of all scripts", "é日б", []string{"é日б"}},
		{"marks on letters are of words", "e\u0301x", []string{"e\u0301x"}},
		{"a joiner is of a word", "a\u200db", []string{"a\u200db"}},
		{"signs", "a€b", []string{"a", "€", "b"}},
		{"fractions are marks", "1½2", []string{"1", "½", "2"}},
	})
	checkPreTokenizer(t, `{"type":"BertPreTokenizer"}`, []cuttingCase{
		{"words and single marks", "a,, b.", []string{"a", ",", ",", "b", "."}},
		{"an underscore is a mark", "a_b", []string{"a", "_", "b"}},
		{"signs of ASCII are marks", "a+b$c", []string{"a", "+", "b", "$", "c"}},
		{"others are not", "a€b", []string{"a€b"}},
		{"marks of Unicode", "a¿b—c", []string{"a", "¿", "b", "—", "c"}},
	})
}

func TestMarksAndDigits(t *testing.T) {
	const text = "a,,b."
	for behavior, want := range map[string][]string{
		"Removed":            {"a", "b"},
		"Isolated":           {"a", ",", ",", "b", "."},
		"Contiguous":         {"a", ",,", "b", "."},
		"MergedWithPrevious": {"a,", ",", "b."},
		"MergedWithNext":     {"a", ",", ",b", "."},
	} {
		checkPreTokenizer(t, `{"type":"Punctuation","behavior":"`+behavior+`"}`, []cuttingCase{
			{behavior, text, want},
			{"no marks", "ab c", []string{"ab c"}},
			{"nothing", "", nil},
		})
	}
	checkPreTokenizer(t, `{"type":"Digits","individual_digits":true}`, []cuttingCase{
		{"digits one by one", "a12b 3", []string{"a", "1", "2", "b ", "3"}},
		{"digits of other scripts", "a٣४b", []string{"a", "٣", "४", "b"}},
		{"fractions and powers are digits", "a½²b", []string{"a", "½", "²", "b"}},
	})
	checkPreTokenizer(t, `{"type":"Digits","individual_digits":false}`, []cuttingCase{
		{"digits together", "a12b 3", []string{"a", "12", "b ", "3"}},
		{"only digits", "123", []string{"123"}},
		{"none", "abc", []string{"abc"}},
	})
	checkPreTokenizer(t, `{"type":"CharDelimiterSplit","delimiter":"|"}`, []cuttingCase{
		{"at a character", "a|b||c|", []string{"a", "b", "c"}},
		{"that is not there", "abc", []string{"abc"}},
	})
	checkPreTokenizer(t, `{"type":"CharDelimiterSplit","delimiter":"日"}`, []cuttingCase{{"of three bytes", "a日b", []string{"a", "b"}}})
}

func TestSplitsByAText(t *testing.T) {
	for behavior, want := range map[string][]string{
		"Removed":            {"x", "y", "z"},
		"Isolated":           {"x", "ab", "y", "ab", "ab", "z"},
		"Contiguous":         {"x", "ab", "y", "abab", "z"},
		"MergedWithPrevious": {"xab", "yab", "ab", "z"},
		"MergedWithNext":     {"x", "aby", "ab", "abz"},
	} {
		checkPreTokenizer(t, `{"type":"Split","pattern":{"String":"ab"},"behavior":"`+behavior+`","invert":false}`, []cuttingCase{
			{behavior, "xabyababz", want},
			{"only it", "ab", map[bool][]string{true: nil, false: {"ab"}}[behavior == "Removed"]},
		})
	}
	checkPreTokenizer(t, `{"type":"Split","pattern":{"String":"ab"},"behavior":"Removed","invert":true}`, []cuttingCase{
		{"what is between is removed", "xabyabab", []string{"ab", "ab", "ab"}},
		{"nothing is there", "xyz", nil},
	})
	checkPreTokenizer(t, `{"type":"Split","pattern":{"String":"."},"behavior":"Isolated","invert":false}`, []cuttingCase{{"a text is no pattern", "a.b", []string{"a", ".", "b"}}})
}

func TestMetaspace(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`, []cuttingCase{
		{"a mark before each word", "a b", []string{"▁a", "▁b"}},
		{"more blanks", "a  b ", []string{"▁a", "▁", "▁b", "▁"}},
		{"a blank before", " a", []string{"▁a"}},
		{"a mark that is there", "▁a", []string{"▁a"}},
		{"other blanks are none", "a\tb\u00a0c", []string{"▁a\tb\u00a0c"}},
	})
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":true}`, []cuttingCase{
		{"no mark before", "a b", []string{"a", "▁b"}},
		{"unless there is a blank", " a", []string{"▁a"}},
	})
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}`, []cuttingCase{{"a mark before the first", "a b", []string{"▁a", "▁b"}}})
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}`, []cuttingCase{{"without cuts", "a b  c", []string{"▁a▁b▁▁c"}}})
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"_","prepend_scheme":"always","split":true}`, []cuttingCase{{"another mark", "a b_c", []string{"_a", "_b", "_c"}}})
}

func TestByteLevelWords(t *testing.T) {
	checkPreTokenizer(t, `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`, []cuttingCase{
		{"a blank belongs to the word behind", "a bc", []string{"a", "Ġbc"}},
		{"short forms", "it's I'll we've don't", []string{"it", "'s", "ĠI", "'ll", "Ġwe", "'ve", "Ġdon", "'t"}},
		{"in capitals they are none", "IT'S", []string{"IT", "'", "S"}},
		{"numbers", "a 12 3.5", []string{"a", "Ġ12", "Ġ3", ".", "5"}},
		{"marks together", "a!! ?b", []string{"a", "!!", "Ġ?", "b"}},
		{"the last of several blanks belongs to the word", "a   b", []string{"a", "ĠĠ", "Ġb"}},
		{"blanks at the end stay together", "a   ", []string{"a", "ĠĠĠ"}},
		{"ends of lines", "a\n\nb", []string{"a", "Ċ", "Ċ", "b"}},
		{"bytes of characters", "é 日", []string{"Ã©", "ĠæĹ¥"}},
		{"other blanks stand alone", "a\u00a0b", []string{"a", "Âł", "b"}},
	})
	checkPreTokenizer(t, `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`, []cuttingCase{
		{"a blank is put before", "a b", []string{"Ġa", "Ġb"}},
		{"unless there is one", " a", []string{"Ġa"}},
		{"another blank is none", "\na", []string{"Ġ", "Ċ", "a"}},
	})
	checkPreTokenizer(t, `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}`, []cuttingCase{{"nothing is cut", "a b's", []string{"aĠb's"}}})
}

func TestPreTokenizersOneAfterAnother(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Punctuation","behavior":"Isolated"},{"type":"Digits","individual_digits":true}]}`, []cuttingCase{
		{"each cuts what is left", "a1, b22.", []string{"a", "1", ",", "b", "2", "2", "."}},
		{"nothing", " ", nil},
	})
	checkPreTokenizer(t, `{"type":"Sequence","pretokenizers":[]}`, []cuttingCase{{"none at all", "a b", []string{"a b"}}})
	checkPreTokenizer(t, `{"type":"Sequence","pretokenizers":[{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"}]},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]}`, []cuttingCase{
		{"within each other", "a b", []string{"▁a", "▁b"}},
	})
}
