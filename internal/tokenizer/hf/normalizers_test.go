package hf

import "testing"

func TestFormsOfUnicode(t *testing.T) {
	checkNormalizer(t, `{"type":"NFC"}`, []change{
		{"a letter and its mark become one", "e\u0301", "é"},
		{"what is one stays", "é", "é"},
		{"several marks, in the order of their classes", "a\u0323\u0302", "ậ"},
		{"marks in another order", "a\u0302\u0323", "ậ"},
		{"Hangul is put together", "\u1112\u1161\u11ab", "한"},
		{"ligatures stay", "ﬁ½²", "ﬁ½²"},
		{"characters that are others", "\u212b\u2126", "ÅΩ"},
		{"some are never put together", "\u0958", "क\u093c"},
		{"nothing", "", ""},
	})
	checkNormalizer(t, `{"type":"NFD"}`, []change{
		{"a letter and its mark become two", "é", "e\u0301"},
		{"Hangul is taken apart", "한", "\u1112\u1161\u11ab"},
		{"ligatures stay", "ﬁ", "ﬁ"},
	})
	checkNormalizer(t, `{"type":"NFKC"}`, []change{
		{"ligatures and fractions are taken apart", "ﬁ½²", "fi1⁄22"},
		{"wide letters become narrow", "Ａ１！", "A1!"},
		{"letters in circles", "①Ⓐ㈱", "1A(株)"},
		{"blanks become one", "a\u00a0b\u3000c\u2003d", "a b c d"},
		{"one character of eighteen", "ﷺ", "صلى الله عليه وسلم"},
	})
	checkNormalizer(t, `{"type":"NFKD"}`, []change{
		{"all is taken apart", "ﬁé①", "fie\u03011"},
		{"Hangul too", "한", "\u1112\u1161\u11ab"},
	})
}

func TestLetters(t *testing.T) {
	checkNormalizer(t, `{"type":"Lowercase"}`, []change{
		{"capitals become small", "ABC ÄÖÜ", "abc äöü"},
		{"of other scripts", "ΑΒΓ ДЖ", "αβγ дж"},
		{"a sigma at the end of a word is like others", "ΟΔΟΣ", "οδοσ"},
		{"the dotted I becomes two", "İI", "i\u0307i"},
		{"titles", "ǅ", "ǆ"},
		{"the capital sharp s", "ẞ", "ß"},
		{"Roman numbers", "Ⅷ", "ⅷ"},
		{"what has no other form stays", "日1!ß", "日1!ß"},
	})
	checkNormalizer(t, `{"type":"StripAccents"}`, []change{
		{"marks go", "e\u0301a\u0308", "ea"},
		{"those in letters stay", "é", "é"},
		{"marks of all kinds", "a\u20ddb\u0903", "ab"},
	})
	checkNormalizer(t, `{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"}]}`, []change{
		{"one after the other", "ÉÀ ñ", "ea n"},
		{"Hangul keeps its parts", "한", "\u1112\u1161\u11ab"},
	})
	checkNormalizer(t, `{"type":"Sequence","normalizers":[]}`, []change{{"none at all", "É ", "É "}})
}

func TestBlanksAndBeginnings(t *testing.T) {
	checkNormalizer(t, `{"type":"Strip","strip_left":true,"strip_right":true}`, []change{
		{"blanks on both sides", " \t\na b\u3000 ", "a b"},
		{"nothing but blanks", "  ", ""},
		{"what is no blank", "\u200ba\ufeff", "\u200ba\ufeff"},
		{"blanks of Unicode", "\u00a0\u0085a\u2028", "a"},
	})
	checkNormalizer(t, `{"type":"Strip","strip_left":true,"strip_right":false}`, []change{{"on the left", " a ", "a "}})
	checkNormalizer(t, `{"type":"Strip","strip_left":false,"strip_right":true}`, []change{{"on the right", " a ", " a"}})
	checkNormalizer(t, `{"type":"Strip","strip_left":false,"strip_right":false}`, []change{{"on neither", " a ", " a "}})
	checkNormalizer(t, `{"type":"Prepend","prepend":"▁"}`, []change{
		{"before a text", "a b", "▁a b"},
		{"though it is there", "▁a", "▁▁a"},
		{"not before nothing", "", ""},
	})
}

func TestReplacing(t *testing.T) {
	checkNormalizer(t, `{"type":"Replace","pattern":{"String":" "},"content":"▁"}`, []change{
		{"each place", "a b  c", "a▁b▁▁c"},
		{"none", "abc", "abc"},
		{"nothing", "", ""},
	})
	checkNormalizer(t, `{"type":"Replace","pattern":{"String":"aa"},"content":"b"}`, []change{
		{"from the left", "aaa", "ba"},
		{"places that are made are not looked at", "aaaa", "bb"},
	})
	checkNormalizer(t, `{"type":"Replace","pattern":{"String":"a.c"},"content":"-"}`, []change{{"a text is no pattern", "abca.c", "abc-"}})
	checkNormalizer(t, `{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}`, []change{
		{"runs of blanks", "a  b   c d", "a b c d"},
		{"at both ends", "   a  ", " a "},
	})
	checkNormalizer(t, `{"type":"Replace","pattern":{"Regex":"(a)(b)"},"content":"$2\\1"}`, []change{{"groups have no meaning in what is put there", "abc", `$2\1c`}})
	checkNormalizer(t, `{"type":"Replace","pattern":{"Regex":"^\\s+|\\s+$"},"content":""}`, []change{{"ends of lines, of which blanks take one", " a \n b ", "a\nb"}})
	checkNormalizer(t, `{"type":"Replace","pattern":{"String":"x"},"content":""}`, []change{{"by nothing", "axbx", "ab"}})
}

func TestWhatBERTDoesToText(t *testing.T) {
	checkNormalizer(t, `{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}`, []change{
		{"capitals and accents go", "ÀÉ Ø", "ae ø"},
		{"blanks become one kind", "a\tb\nc\u00a0d\u3000e", "a b c d e"},
		{"control characters go", "a\x00b\x01c\x7fd\u200be\ufffdf", "abcdef"},
		{"form feeds too", "a\fb", "ab"},
		{"what is private goes", "a\ue000b", "ab"},
		{"ideographs are set apart", "x日本y", "x 日  本 y"},
		{"kana and Hangul are not", "カ한", "カ\u1112\u1161\u11ab"},
		{"nothing", "", ""},
	})
	checkNormalizer(t, `{"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":false,"strip_accents":null,"lowercase":false}`, []change{
		{"nothing of it", "À\x01\t日", "À\x01\t日"},
	})
	checkNormalizer(t, `{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":false,"strip_accents":false,"lowercase":true}`, []change{{"accents stay where that is said", "ÀÉ", "àé"}})
	checkNormalizer(t, `{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":false,"strip_accents":true,"lowercase":false}`, []change{{"accents go where that is said", "ÀÉ", "AE"}})
}

func TestBytesAsCharacters(t *testing.T) {
	checkNormalizer(t, `{"type":"ByteLevel"}`, []change{
		{"letters are themselves", "aZ9!~", "aZ9!~"},
		{"a blank", "a b", "aĠb"},
		{"ends of lines", "\n\t\r", "Ċĉč"},
		{"bytes of characters", "é日", "Ã©æĹ¥"},
		{"of four", "🙂", "ðŁĻĤ"},
		{"the first and the last byte of ASCII", "\x00\x7f", "Āġ"},
		{"nothing", "", ""},
	})
}
