// Package vocab has the tokens of the built-in questions, which are also those of the token server. A
// question ends with a mark and its answer, so that a server can be asked to answer a share of them right.
package vocab

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// Plain is the number of tokens that are words without a meaning; they come first.
	Plain = 64
	// Mark is the token behind which the answer to a question stands.
	Mark = 87
	// Size is the number of tokens.
	Size = 96

	firstDigit   = 64
	firstLetter  = 74
	answerIs     = 84
	boxBegin     = 85
	boxEnd       = 86
	programBegin = 88
	programEnd   = 89

	categoryBegin = 90
	nextLevel     = 91
	brandBegin    = 92
	usedBegin     = 93
	isUsed        = 94
	isNew         = 95
)

// Words are the texts of the tokens. None begins with another one. Some need escapes in JSON, and some have bytes that are
// not ASCII.
var Words = func() (list [Size]string) {
	for i := range list {
		list[i] = fmt.Sprintf(" token%02d", i)
	}
	for i := range 10 {
		list[firstDigit+i], list[firstLetter+i] = string(rune('0'+i)), string(rune('A'+i))
	}
	list[answerIs], list[boxBegin], list[boxEnd], list[Mark] = " ANSWER: ", `\boxed{`, "}", " ==> "
	list[programBegin], list[programEnd] = "```python\nprint(int(input()) + ", ")\n```"
	list[categoryBegin], list[nextLevel], list[brandBegin] = `{"category": "`, " > ", `", "brand": "`
	list[usedBegin], list[isUsed], list[isNew] = `", "is_secondhand": `, "true}", "false}"
	list[5], list[17], list[29], list[41] = " \"quoted\"", "\n", " café", " 😀"
	return list
}()

// Text is the text of tokens.
func Text(tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(Words[t])
	}
	return b.String()
}

// Letter is an answer: a letter from A to J.
func Letter(c byte) []int32 { return []int32{answerIs, firstLetter + int32(c-'A')} }

// Number is an answer: a number that is not negative, in a box.
func Number(n int) []int32 { return number(n, boxBegin, boxEnd) }

// Program is an answer: a program that reads a number and prints the sum of it and n, which is not negative.
func Program(n int) []int32 { return number(n, programBegin, programEnd) }

// Product is an answer: the category of a product, level by level, its brand, and whether it is second-hand, as JSON. The tokens are
// plain ones of which JSON takes each byte.
func Product(category []int32, brand int32, used bool) []int32 {
	list := []int32{categoryBegin}
	for i, level := range category {
		if i > 0 {
			list = append(list, nextLevel)
		}
		list = append(list, level)
	}
	list = append(list, brandBegin, brand, usedBegin)
	if used {
		return append(list, isUsed)
	}
	return append(list, isNew)
}

func number(n int, begin, end int32) []int32 {
	list := []int32{begin}
	for _, digit := range fmt.Sprint(n) {
		list = append(list, firstDigit+digit-'0')
	}
	return append(list, end)
}

// Answer returns the tokens behind the mark of a question; nil: it has no mark, or tokens behind it that are unknown.
func Answer(question []int32) []int32 {
	i := slices.Index(question, Mark)
	if i < 0 || slices.ContainsFunc(question[i:], func(t int32) bool { return t < 0 || t >= Size }) {
		return nil
	}
	return question[i+1:]
}

// AnswerInText returns the tokens behind the mark of a question's text, as Answer. That of a product ends with its last token, whatever
// follows: it is in the file of a picture.
func AnswerInText(text string) (tokens []int32) {
	_, rest, _ := strings.Cut(text, Words[Mark])
	for rest != "" && (len(tokens) == 0 || tokens[len(tokens)-1] < isUsed) {
		i := slices.IndexFunc(Words[:], func(w string) bool { return strings.HasPrefix(rest, w) })
		if i < 0 {
			return nil
		}
		tokens, rest = append(tokens, int32(i)), rest[len(Words[i]):]
	}
	return tokens
}

// JSONInText returns the JSON behind the mark of a question's text; empty: there is none.
func JSONInText(text string) string {
	_, rest, _ := strings.Cut(text, Words[Mark])
	if !strings.HasPrefix(rest, "[") {
		return ""
	}
	return rest
}

// Tokenizer is the content of a tokenizer.json of these tokens.
func Tokenizer() map[string]any {
	vocabulary := map[string]int{"<unk>": Size}
	var added []map[string]any
	for id, word := range Words {
		vocabulary[word] = id
		added = append(added, map[string]any{"id": id, "content": word, "special": false, "single_word": false, "lstrip": false, "rstrip": false,
			"normalized": false})
	}
	return map[string]any{
		"version": "1.0", "added_tokens": added, "normalizer": nil, "pre_tokenizer": nil, "post_processor": nil,
		"decoder": map[string]any{"type": "Fuse"},
		"model":   map[string]any{"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "ignore_merges": true, "vocab": vocabulary, "merges": []string{}},
	}
}
