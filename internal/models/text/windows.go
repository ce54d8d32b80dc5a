package text

import (
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer"
)

// splitWords splits a document where SQuAD's reader does: at blanks, tabs, line ends and narrow
// no-break spaces, and nowhere else.
func splitWords(document string) []string {
	return strings.FieldsFunc(document, func(r rune) bool {
		return r == ' ' || r == '\t' || r == '\r' || r == '\n' || r == '\u202f'
	})
}

// A cutter makes windows.
type cutter struct {
	WordPiece   *tokenizer.WordPiece
	Length      int // of a window, in pieces
	Stride      int // from a window to the next
	MaxQuestion int // pieces of a question that count
}

// A document is the text of a question.
type document struct {
	Words  []string
	pieces []int32
	wordOf []int32 // the word of each piece
}

// document splits the words of a document into pieces, each word on its own.
func (c *cutter) document(words []string) *document {
	d := &document{Words: words}
	for i, word := range words {
		d.pieces = c.WordPiece.Append(d.pieces, word)
		for len(d.wordOf) < len(d.pieces) {
			d.wordOf = append(d.wordOf, int32(i))
		}
	}
	return d
}

// A window is a question with a part of a document:
//
//	[CLS] question [SEP] part of the document [SEP]
type window struct {
	Question int     // the number of the question
	Pieces   []int32 // all of them, without padding
	First    int     // where the document begins
	WordOf   []int32 // the word of each piece of the document
	Best     []bool  // whether this window shows more around a piece of the document than the others
}

// windows appends the windows of a question. An empty document has none; a question that is too
// long is cut.
func (c *cutter) windows(dst []window, number int, question string, d *document) []window {
	asked := c.WordPiece.Append(nil, question)
	asked = asked[:min(len(asked), c.MaxQuestion)]
	// The document is cut into spans of at most room pieces.
	type span struct{ start, length int }
	var spans []span
	n, room := len(d.pieces), c.Length-len(asked)-3
	for start := 0; start < n && room > 0; {
		s := span{start, min(n-start, room)}
		spans = append(spans, s)
		if start+s.length == n {
			break
		}
		start += min(s.length, c.Stride)
	}
	// best returns the span that shows most around a piece; of equal ones the first.
	best := func(piece int) int {
		best, most := -1, 0.0
		for k, s := range spans {
			before, after := piece-s.start, s.start+s.length-1-piece
			if before < 0 || after < 0 {
				continue
			}
			if score := float64(min(before, after)) + 0.01*float64(s.length); best < 0 || score > most {
				best, most = k, score
			}
		}
		return best
	}
	for k, s := range spans {
		w := window{
			Question: number, First: len(asked) + 2,
			Pieces: make([]int32, 0, len(asked)+s.length+3), WordOf: d.wordOf[s.start:][:s.length],
			Best: make([]bool, s.length),
		}
		w.Pieces = append(append(append(w.Pieces, c.WordPiece.Begin), asked...), c.WordPiece.Separator)
		w.Pieces = append(append(w.Pieces, d.pieces[s.start:][:s.length]...), c.WordPiece.Separator)
		for i := range w.Best {
			w.Best[i] = best(s.start+i) == k
		}
		dst = append(dst, w)
	}
	return dst
}

// fill writes the three inputs of the model, of equal length: the pieces, a mask with 1 for each
// piece, and segments with 1 for the pieces of the document. The rest is 0.
func (w *window) fill(pieces, mask, segments []int64) {
	clear(pieces)
	clear(mask)
	clear(segments)
	for i, id := range w.Pieces {
		pieces[i], mask[i] = int64(id), 1
		if i >= w.First {
			segments[i] = 1
		}
	}
}
