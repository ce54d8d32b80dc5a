package tokenizer

import "strings"

// joiner is subword-nmt's mark of a piece that the next one belongs to.
const joiner = "@@"

// JoinBPE glues the pieces of words together, with a blank between words. Pieces at the
// end that wait for another are dropped, as the reference does.
func JoinBPE(pieces []string) string {
	var words []string
	word := ""
	for _, piece := range pieces {
		if head, ok := strings.CutSuffix(piece, joiner); ok {
			word += head
			continue
		}
		words = append(words, word+piece)
		word = ""
	}
	return strings.Join(words, " ")
}
