package hf

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The models again, as their inventors tell them, without regard to time. The letters are few,
// so that every way to cut a word comes up.

// slowBPE joins the leftmost of the pairs that were learnt first, until there is none.
func slowBPE(word string, merges [][2]string) []string {
	parts := strings.Split(word, "")
	for _, m := range merges { // a pair that was learnt before cannot come up again by one learnt later
		for again := true; again; {
			again = false
			for i := 0; i+1 < len(parts); i++ {
				if parts[i] == m[0] && parts[i+1] == m[1] {
					parts = slices.Replace(parts, i, i+2, m[0]+m[1])
					again = true
				}
			}
		}
	}
	return parts
}

func TestBPEIsJoiningPairsInTheOrderInWhichTheyWereLearnt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		tokens := []string{"a", "b", "c"}
		var merges [][2]string
		for range 1 + r.IntN(12) { // of what is there already, as a trainer does
			m := [2]string{tokens[r.IntN(len(tokens))], tokens[r.IntN(len(tokens))]}
			if joined := m[0] + m[1]; len(joined) <= 8 && !slices.Contains(tokens, joined) {
				tokens, merges = append(tokens, joined), append(merges, m)
			}
		}
		tok := modelOf(t, map[string]any{"type": "BPE", "vocab": numbered(tokens), "merges": append([][2]string{}, merges...)})
		for range 10 {
			word := randomWord(r, "abc", 12)
			if got, want := cutBy(t, tok, word), slowBPE(word, merges); !slices.Equal(got, want) {
				t.Fatalf("with %v, %q is %q, want %q", merges, word, got, want)
			}
		}
	}
}

// slowUnigram is the largest sum of scores over all ways to cut a word.
func slowUnigram(word string, scores map[string]float64) float64 {
	if word == "" {
		return 0
	}
	best := math.Inf(-1)
	for n := 1; n <= len(word); n++ {
		if score, ok := scores[word[:n]]; ok {
			best = max(best, score+slowUnigram(word[n:], scores))
		}
	}
	return best
}

func TestUnigramIsTheBestOfAllWays(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		scores := map[string]float64{"a": -r.Float64() * 9, "b": -r.Float64() * 9, "c": -r.Float64() * 9}
		for range r.IntN(12) {
			scores[randomWord(r, "abc", 4)] = -r.Float64() * 20
		}
		vocab := [][]any{{"?", 0}}
		for token, score := range scores {
			vocab = append(vocab, []any{token, score})
		}
		tok := modelOf(t, map[string]any{"type": "Unigram", "unk_id": 0, "vocab": vocab})
		for range 10 {
			word, sum := randomWord(r, "abc", 10), 0.0
			parts := cutBy(t, tok, word)
			for _, part := range parts {
				sum += scores[part]
			}
			if want := slowUnigram(word, scores); strings.Join(parts, "") != word || math.Abs(sum-want) > 1e-9 {
				t.Fatalf("with %v, %q is %q of %g, want a way of %g", scores, word, parts, sum, want)
			}
		}
	}
}

// slowWordPiece takes the longest beginning again and again; nil: the word is unknown.
func slowWordPiece(word string, tokens []string) []string {
	var parts []string
	for word != "" {
		n := len(word)
		for ; n > 0 && !slices.Contains(tokens, marked(word[:n], len(parts))); n-- {
		}
		if n == 0 {
			return []string{"?"}
		}
		parts, word = append(parts, marked(word[:n], len(parts))), word[n:]
	}
	return parts
}

// marked is a part of a word as a token: those behind the first have a mark.
func marked(part string, before int) string {
	if before > 0 {
		return "##" + part
	}
	return part
}

func TestWordPieceIsTheLongestBeginningAgainAndAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		tokens := []string{"?", "a", "##b"}
		for range r.IntN(15) {
			if token := marked(randomWord(r, "abc", 4), r.IntN(2)); !slices.Contains(tokens, token) {
				tokens = append(tokens, token)
			}
		}
		tok := modelOf(t, map[string]any{"type": "WordPiece", "unk_token": "?", "max_input_chars_per_word": 9, "vocab": numbered(tokens)})
		for range 10 {
			word := randomWord(r, "abc", 10)
			want := slowWordPiece(word, tokens)
			if len(word) > 9 {
				want = []string{"?"}
			}
			if got := cutBy(t, tok, word); !slices.Equal(got, want) {
				t.Fatalf("with %q, %q is %q, want %q", tokens, word, got, want)
			}
		}
	}
}

func numbered(tokens []string) map[string]int {
	ids := make(map[string]int)
	for i, token := range tokens {
		ids[token] = i
	}
	return ids
}

func randomWord(r *rand.Rand, letters string, longest int) string {
	word := make([]byte, 1+r.IntN(longest))
	for i := range word {
		word[i] = letters[r.IntN(len(letters))]
	}
	return string(word)
}

func modelOf(t *testing.T, model map[string]any) *Tokenizer {
	t.Helper()
	text, err := json.Marshal(map[string]any{"model": model})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := read(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// cutBy returns the tokens of a word.
func cutBy(t *testing.T, tok *Tokenizer, word string) (parts []string) {
	t.Helper()
	ids, err := tok.Append(nil, word, NoSpecial)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		token, ok := tok.Token(id)
		if !ok {
			t.Fatalf("%q has token %d, which is none", word, id)
		}
		parts = append(parts, token)
	}
	return parts
}

// The hand-made matchers are their patterns over all short texts of characters of each class.
func TestHandMadeMatchersAreTheirPatternsOverShortTexts(t *testing.T) {
	letters := []string{"a", "s", "T", "é", "1", "²", "'", "ſ", "!", "/", " ", "\t", "\n", "\r", "\u00a0", "l"}
	texts := []string{""}
	for range 3 {
		for _, text := range texts {
			for _, letter := range letters {
				texts = append(texts, text+letter)
			}
		}
		slices.Sort(texts)
		texts = slices.Compact(texts)
	}
	for pattern, hand := range knownPatterns {
		engine := engineOf(t, pattern)
		for _, text := range texts {
			if got, want := words(t, hand, text), words(t, engine, text); !slices.Equal(got, want) {
				t.Fatalf("by %q the words of %q are %q, want %q", pattern, text, got, want)
			}
		}
	}
}
