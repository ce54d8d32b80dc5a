package tokenizer

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// BPE are the merge rules of a byte-pair encoding as subword-nmt learns them.
type BPE struct {
	symbols map[string]int32
	texts   []string
	merges  map[[2]int32]merge
	suffix  bool // the last character of a word has the mark; otherwise it stands alone
}

// A merge is a rule: what two symbols become, and how early.
type merge struct{ rank, symbol int32 }

// The marks of subword-nmt: of a word's end inside of rules, and of a piece that the next
// one belongs to.
const (
	wordEnd = "</w>"
	joiner  = "@@"
)

// ReadBPE reads merge rules: two symbols in each line, the rules that come first first,
// perhaps after a line "#version: 0.2". A line that is no rule is an error that names the
// file and the line.
func ReadBPE(r io.Reader, name string) (*BPE, error) {
	b := &BPE{symbols: make(map[string]int32), merges: make(map[[2]int32]merge)}
	n, rank := 0, int32(0)
	err := eachLine(r, name, func(line string) error {
		n++
		line = strings.Trim(line, "\r\n ")
		if version, ok := strings.CutPrefix(line, "#version:"); ok && n == 1 {
			return b.setVersion(strings.TrimSpace(version))
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || left == "" || right == "" || strings.Contains(right, " ") {
			return fmt.Errorf("%q is no rule, want two symbols with a blank between them", line)
		}
		b.add(left, right, rank)
		rank++
		return nil
	})
	if err == nil && rank == 0 {
		err = fmt.Errorf("%s: there is no rule, want two symbols in each line", name)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (b *BPE) setVersion(version string) error {
	switch version {
	case "0.1":
	case "0.2":
		b.suffix = true
	default:
		return fmt.Errorf("version %q of the rules is unknown, want 0.1 or 0.2", version)
	}
	return nil
}

// add adds a rule; of two equal ones the first counts.
func (b *BPE) add(left, right string, rank int32) {
	pair := [2]int32{b.symbol(left), b.symbol(right)}
	if _, ok := b.merges[pair]; !ok {
		b.merges[pair] = merge{rank, b.symbol(left + right)}
	}
}

// symbol returns the number of a symbol that rules have.
func (b *BPE) symbol(text string) int32 {
	id, ok := b.symbols[text]
	if !ok {
		id = int32(len(b.texts))
		b.symbols[text] = id
		b.texts = append(b.texts, text)
	}
	return id
}

// A Segmenter applies rules to text. It remembers words, and is for one goroutine.
type Segmenter struct {
	rules *BPE
	words map[string]string
	bytes int // that are remembered

	symbols []int32
	texts   []string
}

// maxRemembered bounds the memory for words that were seen before.
const maxRemembered = 64 << 20

// NewSegmenter returns a segmenter.
func (b *BPE) NewSegmenter() *Segmenter {
	return &Segmenter{rules: b, words: make(map[string]string)}
}

// Line splits the words of a line into pieces. All pieces of a word but the last end with
// "@@". Only blanks separate words; those around the line stay.
func (s *Segmenter) Line(line string) string {
	const space = "\r\n "
	text := strings.TrimLeft(line, space)
	lead := len(line) - len(text)
	text = strings.TrimRight(text, space)
	var b strings.Builder
	b.Grow(len(line) + len(line)/2)
	b.WriteString(line[:lead])
	for i := 0; i < len(text); {
		word := text[i:]
		if end := strings.IndexByte(word, ' '); end >= 0 {
			word = word[:end]
		}
		if i > 0 && word != "" {
			b.WriteByte(' ')
		}
		b.WriteString(s.word(word))
		i += len(word) + 1
	}
	b.WriteString(line[lead+len(text):])
	return b.String()
}

// word returns the pieces of a word, joined by blanks.
func (s *Segmenter) word(word string) string {
	if len(word) == 0 {
		return ""
	}
	pieces, ok := s.words[word]
	if !ok {
		pieces = s.segment(word)
		if s.bytes += len(word) + len(pieces); s.bytes > maxRemembered {
			clear(s.words)
			s.bytes = 0
		}
		s.words[strings.Clone(word)] = pieces
	}
	return pieces
}

// segment applies the rules to a word: the earliest that fits, wherever it does, until
// none fits.
func (s *Segmenter) segment(word string) string {
	s.spell(word)
	if len(s.symbols) < 2 {
		return word
	}
	for len(s.symbols) > 1 {
		pair, m := s.earliest()
		if m.rank == math.MaxInt32 {
			break
		}
		s.merge(pair, m.symbol)
	}
	return s.pieces()
}

// spell splits a word into the symbols with which the rules begin.
func (s *Segmenter) spell(word string) {
	s.symbols, s.texts = s.symbols[:0], s.texts[:0]
	for i := 0; i < len(word); {
		_, size := utf8.DecodeRuneInString(word[i:])
		text := word[i : i+size]
		if i += size; i == len(word) && s.rules.suffix {
			text += wordEnd
		}
		s.push(text)
	}
	if !s.rules.suffix {
		s.push(wordEnd)
	}
}

// push appends a symbol; one that no rule has gets no number.
func (s *Segmenter) push(text string) {
	id, ok := s.rules.symbols[text]
	if !ok {
		id = -1
	}
	s.symbols, s.texts = append(s.symbols, id), append(s.texts, text)
}

// earliest returns the earliest rule for two neighbours.
func (s *Segmenter) earliest() ([2]int32, merge) {
	best, pair := merge{rank: math.MaxInt32}, [2]int32{}
	for i := range len(s.symbols) - 1 {
		p := [2]int32{s.symbols[i], s.symbols[i+1]}
		if m, ok := s.rules.merges[p]; ok && m.rank < best.rank {
			best, pair = m, p
		}
	}
	return pair, best
}

// merge joins a pair wherever it is, from the left.
func (s *Segmenter) merge(pair [2]int32, symbol int32) {
	n := 0
	for i := 0; i < len(s.symbols); i++ {
		s.symbols[n], s.texts[n] = s.symbols[i], s.texts[i]
		if i+1 < len(s.symbols) && [2]int32{s.symbols[i], s.symbols[i+1]} == pair {
			s.symbols[n], s.texts[n] = symbol, s.rules.texts[symbol]
			i++
		}
		n++
	}
	s.symbols, s.texts = s.symbols[:n], s.texts[:n]
}

// pieces writes the symbols without the mark of the end.
func (s *Segmenter) pieces() string {
	texts := s.texts
	last := len(texts) - 1
	if texts[last] == wordEnd {
		texts = texts[:last]
	} else if strings.HasSuffix(texts[last], wordEnd) {
		texts[last] = strings.ReplaceAll(texts[last], wordEnd, "")
	}
	return strings.Join(texts, joiner+" ")
}

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
