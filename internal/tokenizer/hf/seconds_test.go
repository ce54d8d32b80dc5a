package hf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// slowFind looks for added tokens at every place, with every token, and takes blanks one by one.
func slowFind(text string, tokens []addedToken) (parts []string) {
	from := 0
	between := func(to int) {
		if to > from {
			parts = append(parts, "text "+text[from:to])
		}
	}
	for at := 0; at < len(text); {
		best := -1
		for i, token := range tokens {
			if strings.HasPrefix(text[at:], token.Content) && (best < 0 || len(token.Content) > len(tokens[best].Content)) {
				best = i
			}
		}
		if best < 0 {
			at++
			continue
		}
		token := tokens[best]
		start, end := at, at+len(token.Content)
		at = end
		if token.SingleWord && (start > 0 && isLetterOfTest(text[start-1]) || end < len(text) && isLetterOfTest(text[end])) {
			continue
		}
		for token.LeftStrip && start > from && text[start-1] == ' ' {
			start--
		}
		for token.RightStrip && end < len(text) && text[end] == ' ' {
			end++
		}
		between(start)
		if start < end {
			parts = append(parts, fmt.Sprint("token ", token.ID))
		}
		from = end
	}
	between(len(text))
	return parts
}

func isLetterOfTest(c byte) bool { return c >= 'a' && c <= 'z' }

func TestAddedTokensAreFoundAsByLookingEverywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 1))
	for range 1500 {
		var f tokenFinder
		var tokens []addedToken
		for id := range 1 + random.IntN(4) {
			content := randomWord(random, "ab <", 3)
			if slices.ContainsFunc(tokens, func(t addedToken) bool { return t.Content == content }) || strings.TrimSpace(content) == "" {
				continue // tokens of blanks are for TestCornersAreThoseOfTheLibrary
			}
			token := addedToken{ID: int32(id), Content: content, SingleWord: random.IntN(3) == 0, LeftStrip: random.IntN(3) == 0, RightStrip: random.IntN(3) == 0}
			tokens = append(tokens, token)
			f.add(content, token)
		}
		f.sort()
		text := randomWord(random, "ab  <", 14)
		var got []string
		for _, part := range f.find(wholeText(text)) {
			if part.id >= 0 {
				got = append(got, fmt.Sprint("token ", part.id))
			} else {
				got = append(got, "text "+part.text)
			}
		}
		// a token whose blanks reach back over another's place is looked at by the library's own rules
		if want := slowFind(text, tokens); !slices.Equal(got, want) && !overlapping(tokens) {
			t.Fatalf("with %+v, %q is %q, want %q", tokens, text, got, want)
		}
	}
}

// overlapping reports whether a token has blanks in it, so that blanks that another takes may be a part of it.
func overlapping(tokens []addedToken) bool {
	return slices.ContainsFunc(tokens, func(t addedToken) bool { return strings.Contains(t.Content, " ") })
}

// slowCut does what the names of the behaviors say, over parts that are written down first.
func slowCut(behavior string, parts []string, matched []bool) (words []string) {
	join := false // the next part goes on with the last word
	for i, part := range parts {
		switch {
		case behavior == "Removed" && matched[i]:
			join = false
			continue
		case join && len(words) > 0:
			words[len(words)-1] += part
		default:
			words = append(words, part)
		}
		next := i + 1
		switch behavior {
		case "Contiguous":
			join = next < len(parts) && matched[next] == matched[i]
		case "MergedWithPrevious":
			join = next < len(parts) && matched[next] && !matched[i]
		case "MergedWithNext":
			join = next < len(parts) && matched[i] && !matched[next]
		default:
			join = false
		}
	}
	return words
}

func TestTextsAreCutAsTheBehaviorsSay(t *testing.T) {
	random := rand.New(rand.NewPCG(33, 1))
	for range 2000 {
		text := randomWord(random, "ab,", 12)
		var parts []string
		var matched []bool
		for _, r := range text { // each comma matches; what is between is one part
			if n := len(parts); r != ',' && n > 0 && !matched[n-1] {
				parts[n-1] += string(r)
				continue
			}
			parts, matched = append(parts, string(r)), append(matched, r == ',')
		}
		for name, behavior := range behaviors {
			if name == "" {
				continue
			}
			pieces, err := cutting(runeMatcher(func(r rune) bool { return r == ',' }), behavior)([]piece{wholeText(text)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, p := range pieces {
				got = append(got, p.text)
				if p.first > 0 != (i == 0 && strings.HasPrefix(text, p.text) && !(name == "Removed" && matched[0])) {
					t.Errorf("%s of %q: piece %d, %q, stands where the text begins with %d bytes", name, text, i, p.text, p.first)
				}
			}
			if want := slowCut(name, parts, matched); !slices.Equal(got, want) {
				t.Fatalf("%s of %q is %q, want %q", name, text, got, want)
			}
		}
	}
}

// A randomSet is a set as Oniguruma writes it, and which characters are in it.
type randomSet struct {
	text  string
	holds func(rune) bool
}

func makeSet(random *rand.Rand, depth int) randomSet {
	var parts []randomSet
	for range 1 + random.IntN(3) {
		switch k := random.IntN(6); {
		case k == 0 && depth > 0:
			parts = append(parts, makeSet(random, depth-1))
		case k == 1:
			parts = append(parts, randomSet{`\d`, unicode.IsDigit})
		case k == 2:
			parts = append(parts, randomSet{`\P{L}`, func(r rune) bool { return !unicode.IsLetter(r) }})
		case k == 3:
			from := rune('a' + random.IntN(20))
			parts = append(parts, randomSet{fmt.Sprintf("%c-%c", from, from+4), func(r rune) bool { return r >= from && r <= from+4 }})
		default:
			one := []rune("aeiou123.é日")[random.IntN(11)]
			parts = append(parts, randomSet{string(one), func(r rune) bool { return r == one }})
		}
	}
	any := func(parts []randomSet) func(rune) bool {
		return func(r rune) bool { return slices.ContainsFunc(parts, func(s randomSet) bool { return s.holds(r) }) }
	}
	text := ""
	for _, p := range parts {
		text += p.text
	}
	holds := any(parts)
	if depth > 0 && random.IntN(3) == 0 {
		other := makeSet(random, 0)
		inside := holds
		text, holds = text+"&&"+other.text, func(r rune) bool { return inside(r) && other.holds(r) }
	}
	if random.IntN(3) == 0 {
		positive := holds
		return randomSet{"[^" + text + "]", func(r rune) bool { return !positive(r) }}
	}
	return randomSet{"[" + text + "]", holds}
}

func TestSetsHoldWhatTheirPartsSay(t *testing.T) {
	random := rand.New(rand.NewPCG(35, 1))
	const text = "abcdeghijklmnopqrstuvwxyz0123456789.,-é日ж \n"
	for range 300 {
		set := makeSet(random, 2)
		m, err := newRegexMatcher(set.text)
		if err != nil {
			t.Fatalf("%s: %v", set.text, err)
		}
		var got, want strings.Builder
		if err := m.divide(text, func(part string, matched bool) {
			if matched {
				got.WriteString(part)
			}
		}); err != nil {
			t.Fatal(err)
		}
		for _, r := range text {
			if set.holds(r) {
				want.WriteRune(r)
			}
		}
		if got.String() != want.String() {
			t.Fatalf("%s holds %q, want %q", set.text, got.String(), want.String())
		}
	}
}

// A plainPattern is a pattern with a matcher that tries all ways, one after another: it calls next with each place where a match may end, until that is content.
type plainPattern struct {
	text  string
	match func(s string, at int, next func(int) bool) bool
}

func plainRegex(random *rand.Rand, depth int) plainPattern {
	if depth == 0 {
		c := "abc"[random.IntN(3)]
		if random.IntN(4) == 0 {
			return plainPattern{"[^" + string(c) + "]", func(s string, at int, next func(int) bool) bool { return at < len(s) && s[at] != c && next(at+1) }}
		}
		return plainPattern{string(c), func(s string, at int, next func(int) bool) bool { return at < len(s) && s[at] == c && next(at+1) }}
	}
	a, b := plainRegex(random, depth-1), plainRegex(random, depth-1)
	switch random.IntN(7) {
	case 0:
		return plainPattern{"(?:" + a.text + "|" + b.text + ")", func(s string, at int, next func(int) bool) bool { return a.match(s, at, next) || b.match(s, at, next) }}
	case 1:
		return plainPattern{"(?:" + a.text + ")?", func(s string, at int, next func(int) bool) bool { return a.match(s, at, next) || next(at) }}
	case 2:
		var again func(s string, at int, next func(int) bool) bool
		again = func(s string, at int, next func(int) bool) bool {
			return a.match(s, at, func(end int) bool {
				if end == at { // a turn of nothing is the last one
					return next(at)
				}
				return again(s, end, next)
			}) || next(at)
		}
		return plainPattern{"(?:" + a.text + ")*", again}
	case 3: // what gives nothing back
		return plainPattern{"(?>" + a.text + ")", func(s string, at int, next func(int) bool) bool {
			found := -1
			a.match(s, at, func(end int) bool { found = end; return true })
			return found >= 0 && next(found)
		}}
	case 4:
		return plainPattern{"(?=" + a.text + ")" + b.text, func(s string, at int, next func(int) bool) bool {
			return a.match(s, at, func(int) bool { return true }) && b.match(s, at, next)
		}}
	case 5:
		return plainPattern{"(?!" + a.text + ")" + b.text, func(s string, at int, next func(int) bool) bool {
			return !a.match(s, at, func(int) bool { return true }) && b.match(s, at, next)
		}}
	}
	return plainPattern{a.text + b.text, func(s string, at int, next func(int) bool) bool {
		return a.match(s, at, func(end int) bool { return b.match(s, end, next) })
	}}
}

// matchesOf are the parts of a text that a pattern matches, from the left, without empty ones.
func (p plainPattern) matchesOf(s string) (found []string) {
	for at := 0; at < len(s); {
		end := -1
		p.match(s, at, func(e int) bool { end = e; return true })
		if end > at {
			found, at = append(found, s[at:end]), end
			continue
		}
		at++
	}
	return found
}

func TestPatternsMatchAsByTryingAllWays(t *testing.T) {
	random := rand.New(rand.NewPCG(37, 1))
	for range 1000 {
		p := plainRegex(random, 3)
		m, err := newRegexMatcher(p.text)
		if err != nil {
			t.Fatalf("%s: %v", p.text, err)
		}
		for range 4 {
			text := randomWord(random, "abc", 9)
			var got []string
			if err := m.divide(text, func(part string, matched bool) {
				if matched && part != "" {
					got = append(got, part)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if want := p.matchesOf(text); !slices.Equal(got, want) {
				t.Fatalf("%s matches %q in %q, want %q", p.text, got, text, want)
			}
		}
	}
}
