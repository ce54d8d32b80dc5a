package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxWord is the length in characters beyond which a word is unknown (transformers; the
// tokenizer that Google published has 200).
const maxWord = 100

// A WordPiece is BERT's tokenizer for lower-cased text. Several goroutines may use it.
type WordPiece struct {
	// Pad, Unknown, Begin and Separator are the numbers of the special pieces [PAD], [UNK],
	// [CLS] and [SEP].
	Pad, Unknown, Begin, Separator int32

	vocabulary  *Vocabulary
	first, next pieceIndex
}

// A pieceIndex has the pieces that begin a word, or those that continue one, without ##.
type pieceIndex struct {
	ids     map[string]int32
	longest int // in bytes
}

func (t *pieceIndex) add(piece string, id int32) {
	t.ids[piece] = id
	t.longest = max(t.longest, len(piece))
}

// continued marks pieces that continue a word.
const continued = "##"

// NewWordPiece returns the tokenizer of a vocabulary, which must have the special pieces and pieces that continue a word.
func NewWordPiece(v *Vocabulary) (*WordPiece, error) {
	ids, err := v.need("[PAD]", "[UNK]", "[CLS]", "[SEP]")
	if err != nil {
		return nil, err
	}
	w := &WordPiece{
		Pad: ids[0], Unknown: ids[1], Begin: ids[2], Separator: ids[3], vocabulary: v,
		first: pieceIndex{ids: make(map[string]int32)}, next: pieceIndex{ids: make(map[string]int32)},
	}
	for id, piece := range v.pieces {
		if rest, ok := strings.CutPrefix(piece, continued); ok {
			w.next.add(rest, int32(id))
		} else {
			w.first.add(piece, int32(id))
		}
	}
	if len(w.next.ids) == 0 {
		return nil, fmt.Errorf("%s: none of the %d lines begins with %s: not a vocabulary of WordPiece", v.name, len(v.pieces), continued)
	}
	return w, nil
}

// Vocabulary is the tokenizer's vocabulary.
func (w *WordPiece) Vocabulary() *Vocabulary { return w.vocabulary }

// Append appends the numbers of the pieces of a text.
func (w *WordPiece) Append(dst []int32, text string) []int32 {
	var memory scratch
	splitText(text, &memory, func(word []byte) { dst = w.appendWord(dst, word) })
	return dst
}

// appendWord appends the pieces of a word, the longest first. If no piece fits, the whole word is unknown.
func (w *WordPiece) appendWord(dst []int32, word []byte) []int32 {
	if len(word) > maxWord && utf8.RuneCount(word) > maxWord {
		return append(dst, w.Unknown)
	}
	n := len(dst)
	index := &w.first
	for len(word) > 0 {
		id, size := index.find(word)
		if size == 0 {
			return append(dst[:n], w.Unknown)
		}
		dst = append(dst, id)
		word, index = word[size:], &w.next
	}
	return dst
}

// find returns the longest piece at the beginning of a word, and its length in bytes; 0: none.
func (t *pieceIndex) find(word []byte) (int32, int) {
	for end := min(len(word), t.longest); end > 0; end-- {
		if id, ok := t.ids[string(word[:end])]; ok {
			return id, end
		}
	}
	return 0, 0
}

// JoinWordPieces joins pieces, with a blank between words.
func JoinWordPieces(pieces []string) string {
	text := strings.Join(pieces, " ")
	text = strings.ReplaceAll(text, " "+continued, "")
	return strings.ReplaceAll(text, continued, "")
}

// joiner is subword-nmt's mark of a piece that continues.
const joiner = "@@"

// JoinBPE joins the pieces of words, with a blank between words. It drops incomplete words at the end, as the reference does.
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
