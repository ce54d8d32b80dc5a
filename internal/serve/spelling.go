package serve

import "strings"

// A spelling is the text of tokens that come one after the other. What is new of it is found by reading a few of them anew:
// to read all for each one takes time with the square of their number. A few are needed because what a token means
// depends on whether it is the first.
type spelling struct {
	read     func(tokens []int32) (string, error)
	from, to int // the tokens with which the text was last told
}

// next is what the last of the tokens add to the text that was told. False: they end within a letter, or cannot be read.
func (s *spelling) next(tokens []int32) (text string, ok bool) {
	known, err := s.read(tokens[s.from:s.to])
	if err != nil {
		return "", false
	}
	all, err := s.read(tokens[s.from:])
	if err != nil || strings.HasSuffix(all, undecided) {
		return "", false
	}
	if len(all) > len(known) {
		s.from, s.to, text = s.to, len(tokens), all[len(known):]
	}
	return text, true
}
