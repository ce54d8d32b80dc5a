package hf

import (
	"encoding/json"
	"testing"
)

// A patternCase is a pattern of Oniguruma with the parts into which it cuts a text.
type patternCase struct {
	claim, pattern, text string
	want                 []string
}

func checkPatterns(t *testing.T, cases []patternCase) {
	t.Helper()
	for _, c := range cases {
		pattern, err := json.Marshal(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":`+string(pattern)+`},"behavior":"Isolated","invert":false}`, []cuttingCase{{c.claim, c.text, c.want}})
	}
}

func TestClassesOfOniguruma(t *testing.T) {
	checkPatterns(t, []patternCase{
		{"letters, digits and underscores", `\w+`, "a_1 é-日", []string{"a_1", " ", "é", "-", "日"}},
		{"what is none of them", `\W+`, "a, b", []string{"a", ", ", "b"}},
		{"digits of all scripts", `\d+`, "a12٣b", []string{"a", "12٣", "b"}},
		{"no digits", `\D+`, "a1b", []string{"a", "1", "b"}},
		{"blanks", `\s+`, "a \t\n\u00a0b", []string{"a", " \t\n\u00a0", "b"}},
		{"no blanks", `\S+`, "a b", []string{"a", " ", "b"}},
		{"letters in circles are of words", `\w+`, "aⒶ!", []string{"aⒶ", "!"}},
		{"powers are of words", `\w+`, "x²!", []string{"x²", "!"}},
		{"marks are of words", `\w+`, "e\u0301!", []string{"e\u0301", "!"}},
		{"letters by their category", `\p{L}+`, "aé1日", []string{"aé", "1", "日"}},
		{"all but letters", `\P{L}+`, "a12b", []string{"a", "12", "b"}},
		{"the same with a caret", `\p{^L}+`, "a12b", []string{"a", "12", "b"}},
		{"capitals", `\p{Lu}`, "aBÉ", []string{"a", "B", "É"}},
		{"numbers", `\p{N}+`, "a1½Ⅷb", []string{"a", "1½Ⅷ", "b"}},
		{"a script", `\p{Han}+`, "a日本カ", []string{"a", "日本", "カ"}},
		{"another script", `\p{Greek}+`, "aβγ", []string{"a", "βγ"}},
		{"the point is no end of a line", `.+`, "ab\ncd", []string{"ab", "\n", "cd"}},
		{"with the option m it is", `(?m:.+)`, "ab\ncd", []string{"ab\ncd"}},
		{"a character by its number", `\x41|\x{e9}`, "xAyé", []string{"x", "A", "y", "é"}},
		{"signs of control", `\t|\n`, "a\tb\nc", []string{"a", "\t", "b", "\n", "c"}},
		{"signs that are escaped", `\.|\*|\\`, `a.b*c\d`, []string{"a", ".", "b", "*", "c", `\`, "d"}},
	})
}

func TestSetsOfOniguruma(t *testing.T) {
	checkPatterns(t, []patternCase{
		{"of characters", `[abc]+`, "xaby", []string{"x", "ab", "y"}},
		{"all but those", `[^abc]+`, "xaby", []string{"x", "ab", "y"}},
		{"of ranges", `[a-c0-9]+`, "xb2y", []string{"x", "b2", "y"}},
		{"a hyphen at the end", `[a-]+`, "x-ay", []string{"x", "-a", "y"}},
		{"a bracket at the beginning", `[]a]+`, "x]ay", []string{"x", "]a", "y"}},
		{"with classes", `[\s\d]+`, "a 1b", []string{"a", " 1", "b"}},
		{"with categories", `[\p{L}_]+`, "1a_b2", []string{"1", "a_b", "2"}},
		{"without categories", `[^\s\p{L}\p{N}]+`, "a, !b", []string{"a", ",", " ", "!", "b"}},
		{"with what is no letter", `[\P{L}]+`, "a12b", []string{"a", "12", "b"}},
		{"sets in sets", `[a[bc]]+`, "xabcy", []string{"x", "abc", "y"}},
		{"sets that are negated in sets", `[^[^a-c]]+`, "xabcy", []string{"x", "abc", "y"}},
		{"two that both hold", `[a-e&&c-g]+`, "abcdefg", []string{"ab", "cde", "fg"}},
		{"and one that does not", `[a-e&&[^c]]+`, "abcde", []string{"ab", "c", "de"}},
		{"three", `[a-z&&[^x]&&[^y]]+`, "axbyc", []string{"a", "x", "b", "y", "c"}},
		{"negated as a whole", `[^a-e&&c-g]+`, "abcdefg", []string{"ab", "cde", "fg"}},
		{"signs that mean nothing within", `[.*+?]+`, "a.*b", []string{"a", ".*", "b"}},
		{"a backspace", `[\b]`, "a\bb", []string{"a", "\b", "b"}},
		{"words within", `[\w]+`, "a_1!", []string{"a_1", "!"}},
		{"but powers are none there", `[\w]+`, "x²!", []string{"x", "²!"}},
		{"no words within", `[\W]+`, "a,b", []string{"a", ",", "b"}},
	})
}

func TestRepetitionsOfOniguruma(t *testing.T) {
	checkPatterns(t, []patternCase{
		{"as many as there are", `a+`, "baac", []string{"b", "aa", "c"}},
		{"as few as needed", `a+?`, "baac", []string{"b", "a", "a", "c"}},
		{"that give nothing back", `a++a`, "aaa", []string{"aaa"}},
		{"none or one", `ba?`, "bab", []string{"ba", "b"}},
		{"so many", `a{2}`, "aaaaa", []string{"aa", "aa", "a"}},
		{"at least so many", `a{2,}`, "abaaa", []string{"ab", "aaa"}},
		{"between", `a{1,2}`, "aaa", []string{"aa", "a"}},
		{"up to", `ba{,2}`, "baaa", []string{"baa", "a"}},
		{"as few of them", `a{1,3}?`, "aaa", []string{"a", "a", "a"}},
		{"a plus behind braces repeats them", `a{2}+`, "aaaaa", []string{"aaaa", "a"}},
		{"a question mark behind one number too", `ba{2}?`, "baab", []string{"baa", "b"}},
		{"braces without numbers are braces", `a{x}`, "a{x}b", []string{"a{x}", "b"}},
		{"of groups", `(?:ab)+`, "xababy", []string{"x", "abab", "y"}},
		{"at most three digits", `\p{N}{1,3}`, "12345", []string{"123", "45"}},
		{"groups that give nothing back", `(?>a+)a|b`, "aab", []string{"aa", "b"}},
	})
}

func TestGroupsAndBordersOfOniguruma(t *testing.T) {
	checkPatterns(t, []patternCase{
		{"one of several", `ab|cd`, "xabcdy", []string{"x", "ab", "cd", "y"}},
		{"the first counts, not the longest", `a|ab`, "ab", []string{"a", "b"}},
		{"what follows", `a(?=b)`, "abac", []string{"a", "bac"}},
		{"what does not follow", `a(?!b)`, "abac", []string{"ab", "a", "c"}},
		{"what is before", `(?<=b)a`, "abaa", []string{"ab", "a", "a"}},
		{"what is not before", `(?<!b)a`, "aba", []string{"a", "ba"}},
		{"the beginning of a line", `^a`, "aa\na", []string{"a", "a\n", "a"}},
		{"the end of a line", `a$`, "aa\na", []string{"a", "a", "\n", "a"}},
		{"the beginning of the text", `\Aa`, "aa\na", []string{"a", "a\na"}},
		{"the end of the text", `a\z`, "aa", []string{"a", "a"}},
		{"the border of a word", `\bb`, "b ab b", []string{"b", " ab ", "b"}},
		{"no border of a word", `\Bb`, "b ab", []string{"b a", "b"}},
		{"capitals do not count", `(?i)ab`, "xAbyaB", []string{"x", "Ab", "y", "aB"}},
		{"in a group", `(?i:a)b`, "AbAB", []string{"Ab", "AB"}},
		{"up to the end of a group", `(?:(?i)a)b`, "AbAB", []string{"Ab", "AB"}},
		{"and count again", `(?i)a(?-i)b`, "AbAB", []string{"Ab", "AB"}},
		{"the long s is an s", `(?i)s`, "aſbS", []string{"a", "ſ", "b", "S"}},
		{"the sign of Kelvin is a k", `(?i)k`, "a\u212ab", []string{"a", "\u212a", "b"}},
		{"short forms", `(?i:'s|'t|'re|'ve|'m|'ll|'d)`, "IT'S we'RE", []string{"IT", "'S", " we", "'RE"}},
		{"the last blank goes with the word", `\s+(?!\S)|\s+`, "a   b", []string{"a", "  ", " ", "b"}},
		{"a group by its number", `(a)\1`, "aab", []string{"aa", "b"}},
	})
}

func TestPatternsOfKnownTokenizers(t *testing.T) {
	const text = "It's 12345 o'CLOCK,\n\n  naïve  café!!\r\n\tx=y+1;  "
	checkPatterns(t, []patternCase{
		{"of GPT-2", gpt2Pattern, text, []string{"It", "'s", " 12345", " o", "'", "CLOCK", ",", "\n\n ", " naïve", " ", " café", "!!", "\r\n", "\t", "x", "=", "y", "+", "1", ";", "  "}},
		{"of Llama 3", llama3Pattern, text, []string{"It", "'s", " ", "123", "45", " o", "'CLOCK", ",\n\n", " ", " naïve", " ", " café", "!!\r\n", "\tx", "=y", "+", "1", ";", "  "}},
		{"of Qwen 2", qwen2Pattern, text, []string{"It", "'s", " ", "1", "2", "3", "4", "5", " o", "'CLOCK", ",\n\n", " ", " naïve", " ", " café", "!!\r\n", "\tx", "=y", "+", "1", ";", "  "}},
		{
			"of o200k, with capitals apart", `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
			"HelloWORLD it's 1234/\n x", []string{"Hello", "WORLD", " it's", " ", "123", "4", "/\n", " x"},
		},
		{"of DeepSeek, for numbers", `\p{N}{1,3}`, "a1234567b", []string{"a", "123", "456", "7", "b"}},
		{"of DeepSeek, for Chinese", `[一-龥぀-ゟ゠-ヿ]+`, "abc中文かなカナdef", []string{"abc", "中文かなカナ", "def"}},
	})
}
