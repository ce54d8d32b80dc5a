package serve

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Of tokens as tokenizers have them: bytes, of which several may be a letter, and words with a space before them, which the first
// one of a text loses.
var spellings = map[string]func(tokens []int32) string{
	"bytes": func(tokens []int32) string {
		var b []byte
		for _, t := range tokens {
			b = append(b, "a \xc3\xa9\xf0\x9f\x98\x80"[t%8])
		}
		return strings.ToValidUTF8(string(b), undecided)
	},
	"words": func(tokens []int32) string {
		var b strings.Builder
		for _, t := range tokens {
			b.WriteString([]string{" the", " a", "ing", " ", "", ".", " é", "s"}[t%8])
		}
		return strings.TrimPrefix(b.String(), " ")
	},
	"numbers": func(tokens []int32) string {
		var b strings.Builder
		for _, t := range tokens {
			b.WriteString(" " + string('0'+t%8))
		}
		return b.String()
	},
}

func TestATextIsToldPieceByPieceAsItIsWhole(t *testing.T) {
	for name, spell := range spellings {
		random := rand.New(rand.NewPCG(6, 6))
		for range 200 {
			tokens := make([]int32, 1+random.IntN(60))
			read, told := 0, ""
			s := spelling{read: func(list []int32) (string, error) { read += len(list); return spell(list), nil }}
			for n := range tokens {
				tokens[n] = random.Int32N(8)
				if name == "bytes" && n > 0 && tokens[n-1]%8 >= 2 && tokens[n-1]%8 != 3 && tokens[n-1]%8 != 7 {
					tokens[n] = tokens[n-1] + 1 // letters are whole in the end
				}
				piece, ok := s.next(tokens[:n+1])
				if !ok && piece != "" {
					t.Fatalf("%s: %q is told of what cannot be read", name, piece)
				}
				told += piece
			}
			if whole := spell(tokens); !strings.HasPrefix(whole, told) || len(whole)-len(told) > 3*len(undecided) {
				t.Fatalf("%s: of %v %q is told, which is %q", name, tokens, told, whole)
			}
			if most := 6*len(tokens) + 40; read > most && name != "bytes" { // of which many may be no letter for long
				t.Errorf("%s: %d tokens were read for %d", name, read, len(tokens))
			}
		}
	}
}
