package sentences

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

func ExampleSplit() {
	for _, s := range Split("Mr. Smith paid $3.50 for it.  \"Too much!\" he said. Was it?") {
		fmt.Printf("%q\n", s)
	}
	// Output:
	// "Mr. Smith paid $3.50 for it."
	// "\"Too much!\""
	// "he said."
	// "Was it?"
}

// small is a language with a word for each thing that can be known of one (nltk/tokenize/punkt.py).
var smallLanguage = parseLanguage(strings.Join([]string{
	"a\tabbr",      // an abbreviation
	"a\tu.s",       // one with a period inside
	"a\tft",        //
	"s\tstarter",   // often begins a sentence
	"c\tno\tone",   // belong together, across a period
	"c\tx\tmiddle", //
	"c\t##number##\tstreet",
	fmt.Sprintf("o\topening\t%d", 1<<1|1<<4|1<<5), // with a capital at the beginning alone, and small
	fmt.Sprintf("o\tboth\t%d", 1<<1|1<<2|1<<5),    // with a capital inside too
	fmt.Sprintf("o\tname\t%d", 1<<2),              // never small
	fmt.Sprintf("o\tstill\t%d", 1<<5),             // small, and never at the beginning
	fmt.Sprintf("o\tfirst\t%d", 1<<4),             // small at the beginning
	"",
}, "\n"))

// sentencesOf are those of a language.
func (l *language) sentencesOf(text string) []string {
	var list []string
	runes := []rune(text)
	for _, s := range realign(runes, l.slices(runes)) {
		list = append(list, string(runes[s.from:s.to]))
	}
	return list
}

func TestWhatIsKnownOfWordsDecides(t *testing.T) {
	for _, c := range []struct {
		claim, text string
		want        int // sentences
	}{
		{"a word that is not known ends a sentence", "One word. Next", 2},
		{"whatever follows", "One word. next", 2},
		{"an abbreviation does not", "An abbr. Next", 1},
		{"whatever its letters", "An ABBR. Next", 1},
		{"nor one with a period inside", "The U.S. Next", 1},
		{"nor behind a hyphen", "A non-abbr. Next", 1},
		{"but before one it is another word", "An abbr-word. Next", 2},
		{"two periods are no abbreviation", "An abbr.. Next", 1},
		{"a question always ends", "An abbr? Next", 2},
		{"so does an exclamation", "An abbr! next", 2},

		{"an abbreviation before a starter ends", "An abbr. Starter", 2},
		{"if that has a capital", "An abbr. starter", 1},
		{"an abbreviation before a word that has a capital at the beginning alone ends", "An abbr. Opening", 2},
		{"not before one that has it inside too", "An abbr. Both", 1},
		{"nor before one that is small", "An abbr. opening", 1},
		{"nor before a name", "An abbr. Name", 1},

		{"dots before a starter end", "Well... Starter", 2},
		{"dots before another word do not", "Well... Next", 1},
		{"of spaced dots each does", "Well . . . Next", 4},
		{"dots before a word that has a capital at the beginning alone end", "Well ... Opening", 2},

		{"an initial does not end before a name", "By J. Name", 1},
		{"nor before a word that is small inside alone", "By J. still", 1},
		{"before a word that can begin a sentence it ends", "By J. Opening", 2},
		{"before one that nobody has seen it does not", "By J. Next", 1},
		{"before one that was seen small it does", "By J. First", 2},
		{"even an initial that is an abbreviation stays", "By J. Starter", 1},

		{"a number does not end before what cannot begin", "It was 5. still", 1},
		{"nor before a comma", "It was 5. , x", 1},
		{"before others it does", "It was 5. Next", 2},
		{"before a name too", "It was 5. Name", 2},

		{"words that belong together stay", "Say no. One", 1},
		{"in this order", "Say one. No", 2},
		{"with any number", "At 17. Street", 1},
		{"with numbers in words not", "At seventeen. Street", 2},
		{"a starter that belongs to the word before stays", "An x. Middle", 1},
	} {
		if got := smallLanguage.sentencesOf(c.text); len(got) != c.want {
			t.Errorf("%s: %q has the sentences %q, want %d", c.claim, c.text, got, c.want)
		}
	}
}

func TestMarksThatMayEndASentence(t *testing.T) {
	for _, c := range []struct {
		claim, text string
		want        []string
	}{
		{"a period inside a word does not", "a.b 1.5 x.y.z", []string{"a.b 1.5 x.y.z"}},
		{"nor one at the end of the text alone", "the end.", []string{"the end."}},
		{"a mark after a mark does, without white space", "Really?)next word", []string{"Really?", ")next word"}},
		{"lines end nothing", "one\ntwo\r\n\r\nthree", []string{"one\ntwo\r\n\r\nthree"}},
		{"a mark and a line do", "One.\nTwo.", []string{"One.", "Two."}},
		{"white space of Unicode is white space behind a mark", "One.\u2003Two", []string{"One.", "Two"}},
		{"but not before the word of the next mark, which NLTK begins behind a blank", "One.\u2003Two. Three", []string{"One.\u2003Two.", "Three"}},
		{"a space without width is none", "One.\u200bTwo.", []string{"One.\u200bTwo."}},
		{"marks of other languages are none", "一。二。 三", []string{"一。二。 三"}},
		{"white space at the end is nobody's", "One. \n\t ", []string{"One."}},
		{"white space at the beginning is the first one's", " \nOne. Two", []string{" \nOne.", "Two"}},
		{"only marks are one sentence", "...", []string{"..."}},
		{"marks with blanks between are sentences", "! ! !", []string{"!", "!", "!"}},
		{"white space alone is one without text", " \n ", []string{""}},
	} {
		if diff := cmp.Diff(c.want, smallLanguage.sentencesOf(c.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.claim, diff)
		}
	}
}

func TestWhatClosesASentenceBelongsToIt(t *testing.T) {
	for _, c := range []struct {
		claim, text string
		want        []string
	}{
		{"a quote", `One." Two`, []string{`One."`, "Two"}},
		{"brackets of all kinds", `One!)]} Two`, []string{`One!)]}`, "Two"}},
		{"a quote behind white space", `One. " Two`, []string{`One. "`, "Two"}},
		{"before a dash", `One?'--two`, []string{`One?'`, "--two"}},
		{"not before one hyphen", `One?'-two`, []string{"One?", "'-two"}},
		{"not in a word", `One. 'Two' three`, []string{"One.", "'Two' three"}},
		{"at the end", `One! "`, []string{`One! "`}},
		{"opening ones never", `One. ( Two`, []string{"One.", "( Two"}},
	} {
		got := slices.DeleteFunc(smallLanguage.sentencesOf(c.text), func(s string) bool { return s == "" })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.claim, diff)
		}
	}
}

func TestWordsKnowHowTheyAreWritten(t *testing.T) {
	for _, c := range []struct {
		text, kind, bare, name string
		upper, lower           bool
	}{
		{"Word", "word", "word", "word", true, false},
		{"Word.", "word.", "word", "word", true, false},
		{"e.g.", "e.g.", "e.g", "e.g", false, true},
		{".", ".", ".", "", false, false},
		{"...", "...", "..", "..", false, false},
		{"3.14", number, number, "3.14", false, false},
		{"-5.", number, number, "-5", false, false},
		{"Éa", "éa", "éa", "éa", true, false},
		{"ªb", "ªb", "ªb", "ªb", false, true},   // Other_Lowercase
		{"Ⓐ", "ⓐ", "ⓐ", "ⓐ", true, false},       // Other_Uppercase
		{"ǅx", "ǆx", "ǆx", "ǆx", false, false},  // a title case letter is neither
		{"İ", "i̇", "i̇", "i̇", true, false},    // in Python one letter becomes two
		{"ΑΣ.", "ας.", "ας", "ας", true, false}, // and a sigma at the end is another one
		{"北京", "北京", "北京", "北京", false, false},
	} {
		w := newWord(c.text)
		if w.kind != c.kind || w.bare() != c.bare || w.name() != c.name || w.startsUpper() != c.upper || w.startsLower() != c.lower {
			t.Errorf("%q is of kind %q, without a period %q, by name %q, upper %t, lower %t; want %+v", c.text, w.kind, w.bare(), w.name(), w.startsUpper(), w.startsLower(), c)
		}
	}
}

// A word that ends a sentence is known without its period, others with it.
func TestAWordInsideASentenceKeepsItsPeriod(t *testing.T) {
	w := newWord("St.")
	if w.inner() != "st." {
		t.Errorf("inside it is %q", w.inner())
	}
	if w.ends = true; w.inner() != "st" {
		t.Errorf("at the end it is %q", w.inner())
	}
}

func TestLinesOfALanguageAreRead(t *testing.T) {
	l := parseLanguage("a\tdr\ns\tthe\nc\tst\tlouis\no\tword\t46\no\tother\tmany\n?\tnothing\n\n")
	if !l.abbreviations["dr"] || !l.starters["the"] || !l.collocations[[2]string{"st", "louis"}] || l.writing["word"] != 46 || l.writing["other"] != 0 {
		t.Errorf("the language is %+v", l)
	}
	if len(l.abbreviations)+len(l.starters)+len(l.collocations)+len(l.writing) != 5 {
		t.Errorf("there is more than was given: %+v", l)
	}
}

// texts are put together at random of characters and words that mean something to Punkt.
func texts(n int) []string {
	r := rand.New(rand.NewPCG(5, 6))
	parts := strings.Split("a|B|Dr.|e.g.|U.S.|no.|1.|2,5|.|..|...|?|!|)|\"|'|(|,|;|-|--| | | |\n|\t|\u00a0|The|It|word|é|北|。|", "|")
	list := make([]string, n)
	for i := range list {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		list[i] = b.String()
	}
	return list
}

func TestSentencesAreInOrderAndNothingButSpaceIsBetween(t *testing.T) {
	for _, text := range texts(2000) {
		rest := text
		for i, s := range Split(text) {
			before, after, ok := strings.Cut(rest, s)
			if !ok || strings.TrimFunc(before, pytext.IsSpace) != "" || s == "" {
				t.Fatalf("sentence %d of %q, %q, is behind %q", i, text, s, before)
			}
			rest = after
		}
		if strings.TrimFunc(rest, pytext.IsSpace) != "" {
			t.Fatalf("%q of %q is in no sentence", rest, text)
		}
	}
}

func TestWordsAreAllThatIsNotSpace(t *testing.T) {
	squeezed := func(text string) string {
		return strings.Map(func(r rune) rune {
			if pytext.IsSpace(r) {
				return -1
			}
			return r
		}, text)
	}
	for _, text := range texts(2000) {
		var joined strings.Builder
		for _, w := range splitWords([]rune(text)) {
			if w.text == "" {
				t.Fatalf("%q has an empty word", text)
			}
			joined.WriteString(squeezed(w.text)) // dots may have white space between
		}
		if got, want := joined.String(), squeezed(text); got != want {
			t.Fatalf("the words of %q together are %q", text, got)
		}
	}
}

func TestTextsThatAreNotUTF8AreSplitToo(t *testing.T) {
	got := Split("One\xff. Two\xc3.")
	if diff := cmp.Diff([]string{"One\ufffd.", "Two\ufffd."}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTextsAreSplitBySeveralAtOnce(t *testing.T) {
	list := texts(50)
	want := make([][]string, len(list))
	for i, text := range list {
		want[i] = Split(text)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i, text := range list {
				if !slices.Equal(Split(text), want[i]) {
					t.Errorf("%q has other sentences", text)
				}
			}
		})
	}
	group.Wait()
}
