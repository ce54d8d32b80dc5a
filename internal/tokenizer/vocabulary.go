package tokenizer

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Vocabulary numbers pieces from 0.
type Vocabulary struct {
	name   string
	pieces []string
	ids    map[string]int32
}

// maxLine bounds a line of a vocabulary.
const maxLine = 1 << 16

// ReadVocabulary reads a vocabulary with one piece per line, from id 0. It trims space around pieces. A line that is empty, a
// duplicate or not UTF-8 is an error with file and line.
func ReadVocabulary(r io.Reader, name string) (*Vocabulary, error) {
	v := &Vocabulary{name: name, ids: make(map[string]int32)}
	err := eachLine(r, name, func(line string) error {
		piece := strings.TrimSpace(line)
		if piece == "" {
			return fmt.Errorf("the line is empty, expected a piece of text")
		}
		if first, ok := v.ids[piece]; ok {
			return fmt.Errorf("piece %q is in line %d already", piece, first+1)
		}
		v.ids[piece] = int32(len(v.pieces))
		v.pieces = append(v.pieces, piece)
		return nil
	})
	if err == nil && len(v.pieces) == 0 {
		err = fmt.Errorf("%s: the vocabulary is empty, expected a piece of text per line", name)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// eachLine calls read for every line of UTF-8 text, without its end.
func eachLine(r io.Reader, name string, read func(line string) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4096), maxLine)
	n := 1
	for ; lines.Scan(); n++ {
		err := error(nil)
		if line := lines.Text(); utf8.ValidString(line) {
			err = read(line)
		} else {
			err = fmt.Errorf("the line is not UTF-8")
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: line %d: %w", name, n, err)
	}
	return nil
}

// Len is the number of pieces.
func (v *Vocabulary) Len() int { return len(v.pieces) }

// ID returns the id of a piece, and whether the vocabulary has it.
func (v *Vocabulary) ID(piece string) (int32, bool) {
	id, ok := v.ids[piece]
	return id, ok
}

// Piece returns the piece of an id, which must be below Len.
func (v *Vocabulary) Piece(id int32) string { return v.pieces[id] }

// need returns the ids of required pieces.
func (v *Vocabulary) need(pieces ...string) ([]int32, error) {
	ids := make([]int32, len(pieces))
	for i, piece := range pieces {
		id, ok := v.ids[piece]
		if !ok {
			return nil, fmt.Errorf("%s: none of the %d lines is %s: must be a vocabulary with %s",
				v.name, len(v.pieces), piece, strings.Join(pieces, ", "))
		}
		ids[i] = id
	}
	return ids, nil
}
