package grading

import (
	"strings"
	"testing"
)

// An asking is a text with the letter that it gives, by the scripts of DeepSeek-R1 and of gpt-oss-120b; "": none.
type asking struct{ claim, text, letter, final string }

func checkLetters(t *testing.T, last byte, cases []asking) {
	t.Helper()
	for _, c := range cases {
		for i, f := range []struct {
			name string
			of   func(string, byte) byte
			want string
		}{{"letter", Letter, c.letter}, {"final letter", FinalLetter, c.final}} {
			got := strings.TrimRight(string(rune(f.of(c.text, last))), "\x00")
			if got != f.want {
				t.Errorf("%s, form %d: the letter of %q is %q, want %q", c.claim, i, c.text, got, f.want)
			}
			if f.want == "" {
				note(t, f.name, nil, c.text, string(rune(last)))
			} else {
				note(t, f.name, f.want, c.text, string(rune(last)))
			}
		}
	}
}

func TestLettersOfGPQA(t *testing.T) {
	checkLetters(t, 'D', []asking{
		{"told", "ANSWER: B", "B", "B"},
		{"in small letters", "answer: b", "B", "B"},
		{"in parentheses", "Answer: (C)", "C", "C"},
		{"with an equal sign", "ANSWER = D", "D", "D"},
		{"behind a blank only", "ANSWER B", "B", "B"},
		{"final", "FINAL ANSWER: A", "A", "A"},
		{"behind a line break", "ANSWER:\nC", "C", "C"},
		{"the last one counts, or the first", "ANSWER: A\nANSWER: B", "B", "A"},
		{"a letter that goes on", "ANSWER: Because", "", ""},
		{"with a letter behind a mark", "ANSWER: C.", "C", "C"},
		{"a letter that there is not", "ANSWER: E", "", ""},
		{"nothing told", "I think it is B", "", ""},
		{"a word that ends so", "NOANSWER: B", "", ""},
		{"printed as a list", "['ANSWER: B']", "B", "B"},
		{"with double quotes", `["ANSWER: B"]`, "B", "B"},
		{"with line breaks that are written out", `ANSWER:\nB`, "B", "B"},
		{"in bold", "**ANSWER: B**", "B", "B"},
		{"bold letters", "ANSWER: **B**", "", "B"},
		{"a letter alone", "B", "", "B"},
		{"a letter with a mark", "(B) is right", "", "B"},
		{"nothing", "", "", ""},
		{"white space around", " \n ANSWER: B \n", "B", "B"},
		{"what is thought counts for one of them", "<|channel|>analysis<|message|>ANSWER: A<|end|><|channel|>final<|message|>B<|return|>", "A", "B"},
		{"unless nothing is said", "<|channel|>analysis<|message|>ANSWER: A.", "A", "A"},
		{"an answer without an end", "<|channel|>final<|message|>Answer: C", "C", "C"},
	})
}

func TestLettersOfMMLUPro(t *testing.T) {
	checkLetters(t, 'J', []asking{
		{"told", "ANSWER: J", "J", "J"},
		{"alone, where nothing is told", "it is J", "J", "J"},
		{"the last one that stands alone", "A or B", "B", "A"},
		{"small ones too", "a dog", "A", "A"},
		{"the word I is a letter", "I do not know", "I", "I"},
		{"none that stands alone", "Maybe not", "", ""},
		{"with an underscore it does not", "x_A", "", ""},
		{"nor with a digit, unless it is what is said", "A1", "", "A"},
		{"an accent is a letter, unless it is what is said", "éA", "", "A"},
		{"told counts before what stands alone", "ANSWER: C. A", "C", "C"},
		{"a letter behind the last", "ANSWER: K", "", ""},
	})
}

func TestWhatIsSaidAtTheEnd(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		" a \n":                                  "a",
		"<|channel|>final<|message|>a<|return|>": "a",
		"<|channel|>final<|message|> a\nb ":      "a\nb",
		"<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>a<|return|>": "a",
		"<|channel|>final json<|message|>a":                                  "a",
		"<|channel|>final<|message|>a<|return|><|channel|>final<|message|>b": "a",
		"<|channel|>analysis<|message|>x":                                    "<|channel|>analysis<|message|>x",
		"<|channel|>final a":                                                 "<|channel|>final a",
		"<|channel|>final<|end|><|message|>a":                                "<|channel|>final<|end|><|message|>a",
		"<|channel|>final<|message|>a<|end|>b":                               "a<|end|>b",
		"<|channel|>analysis<|message|>" + strings.Repeat("x", 1000) + "<|end|><|channel|>final<|message|> said ": "said",
	} {
		if got := Final(text); got != want {
			t.Errorf("Final(%q) = %q, want %q", text, got, want)
		}
		note(t, "final", want, text)
	}
}

func TestBoxes(t *testing.T) {
	for _, c := range []struct {
		claim, text, box string
		ok               bool
	}{
		{"a box", `so \boxed{5}.`, "5", true},
		{"the last of two", `\boxed{1}\boxed{2}`, "2", true},
		{"braces within", `\boxed{\frac{1}{2}}`, `\frac{1}{2}`, true},
		{"space within", `\boxed{ 5 }`, "5", true},
		{"a box within a box", `\boxed{\boxed{3}}`, "3", true},
		{"nothing within", `\boxed{}`, "", true},
		{"without an end", `\boxed{5`, "", false},
		{"whose inner group has no end", `\boxed{{5}`, "", false},
		{"one without an end behind one that has", `\boxed{1}\boxed{2`, "", false},
		{"a space before the brace", `\boxed {5}`, "", false},
		{"no box", "5", "", false},
		{"nothing", "", "", false},
		{"a brace behind it", `\boxed{5}}`, "5", true},
		{"escaped braces count as others", `\boxed{\{1\}}`, `\{1\}`, true},
	} {
		if got, ok := Boxed(c.text); got != c.box || ok != c.ok {
			t.Errorf("%s: Boxed(%q) = %q, %t, want %q, %t", c.claim, c.text, got, ok, c.box, c.ok)
		}
		if !c.ok {
			note(t, "boxed", nil, c.text)
		} else {
			note(t, "boxed", c.box, c.text)
		}
	}
}

func TestAnswersOfAIME(t *testing.T) {
	for _, c := range []struct {
		claim, text string
		number      int // below 0: none
	}{
		{"in a box", `\boxed{25}`, 25},
		{"with zeros", `\boxed{007}`, 7},
		{"the last box", `\boxed{1} and \boxed{2}`, 2},
		{"a box counts before what is told", `\boxed{12} Answer: 13`, 12},
		{"told", "Answer: 13", 13},
		{"told in any letters", "ANSWER:13", 13},
		{"the last told", "Answer: 1\nAnswer: 2", 2},
		{"with space in the box", `\boxed{ 25 }`, 25},
		{"zero", `\boxed{0}`, 0},
		{"the largest", `\boxed{999}`, 999},
		{"too large", `\boxed{1000}`, -1},
		{"far too large", `\boxed{99999999999999999999}`, -1},
		{"below zero", `\boxed{-1}`, -1},
		{"a fraction", "Answer: 1.5", -1},
		{"a number that ends a sentence", "Answer: 15.", -1},
		{"with a unit", "Answer: 15cm", -1},
		{"a formula in the box", `\boxed{5+5}`, -1},
		{"digits of another script", `\boxed{٢٥}`, 25},
		{"nothing", "", -1},
		{"no number", "Answer: none", -1},
		{"a box that is too large, and a number told", `\boxed{1000} Answer: 5`, -1},
	} {
		got, ok := Integer(c.text)
		if ok != (c.number >= 0) || ok && got != c.number {
			t.Errorf("%s: Integer(%q) = %d, %t, want %d", c.claim, c.text, got, ok, c.number)
		}
		if c.number < 0 {
			note(t, "integer", nil, c.text)
		} else {
			note(t, "integer", c.number, c.text)
		}
	}
}

func TestPrograms(t *testing.T) {
	for _, c := range []struct{ claim, text, code, final string }{
		{"a fence of Python", "so\n```python\nprint(1)\n```\nok", "print(1)", "print(1)"},
		{"the first, or the last, of two", "```python\na\n```\n```python\nb\n```", "a", "b"},
		{"one without a name", "```\nprint(1)\n```", "", "print(1)"},
		{"one of a short name", "```py\nprint(1)\n```", "", "print(1)"},
		{"one of another language", "```c\nmain\n```", "", "c\nmain"},
		{"Python counts before others", "```python\na\n```\n```\nb\n```", "a", "a"},
		{"without an end", "```python\nprint(1)", "", ""},
		{"nothing in it", "```python\n```", "", ""},
		{"no fence", "print(1)", "", ""},
		{"nothing", "", "", ""},
		{"its white space is kept within", "```python\n\n  a\n    b\n\n```", "a\n    b", "a\n    b"},
		{"a name that begins so", "```python3\na\n```", "3\na", "3\na"},
		{"in one line", "```python a```", "a", "a"},
		{"what is said at the end counts", "```python\na\n```<|channel|>final<|message|>```python\nb\n```", "a", "b"},
		{"what is thought counts where nothing is said", "```python\na\n```<|channel|>final<|message|>none", "a", "a"},
	} {
		if got := Code(c.text); got != c.code {
			t.Errorf("%s: Code(%q) = %q, want %q", c.claim, c.text, got, c.code)
		}
		if got := FinalCode(c.text); got != c.final {
			t.Errorf("%s: FinalCode(%q) = %q, want %q", c.claim, c.text, got, c.final)
		}
		note(t, "code", c.code, c.text)
		note(t, "final code", c.final, c.text)
	}
}
