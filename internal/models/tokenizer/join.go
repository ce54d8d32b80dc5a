package tokenizer

import "strings"

// joiner is subword-nmt's mark of a piece that the next one belongs to.
const joiner = "@@"

// JoinBPE glues the pieces of words together, with a blank between words. Pieces at the
// end that wait for another are dropped, as the reference does.
func JoinBPE(pieces []string) string {
	var text strings.Builder
	complete := 0 // how much of the text is of complete words
	for _, piece := range pieces {
		if head, ok := strings.CutSuffix(piece, joiner); ok {
			text.WriteString(head)
			continue
		}
		text.WriteString(piece)
		complete = text.Len()
		text.WriteByte(' ')
	}
	return text.String()[:complete]
}
