package synth

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/dataset"
)

// squad writes a set and reads its file back.
func squad(t *testing.T, spec SQuADSpec) squadFile {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "squad")
	if err := WriteSQuAD(t.Context(), dir, spec); err != nil {
		t.Fatal(err)
	}
	var file squadFile
	readJSON(t, filepath.Join(dir, "dev-v1.1.json"), &file)
	return file
}

func TestQuestionsAreSharedOutAmongTexts(t *testing.T) {
	for questions, want := range map[int][]int{1: {1}, 5: {5}, 6: {5, 1}, 13: {5, 5, 3}} {
		file := squad(t, SQuADSpec{Seed: 2, Questions: questions, FirstWord: 2000, Lengths: 3})
		var got []int
		ids, titles := map[string]bool{}, map[string]bool{}
		for _, article := range file.Data {
			titles[article.Title] = true
			got = append(got, len(article.Paragraphs[0].QAs))
			for _, qa := range article.Paragraphs[0].QAs {
				ids[qa.ID] = true
			}
		}
		if !slices.Equal(got, want) || len(ids) != questions || len(titles) != len(want) || file.Version != "1.1" {
			t.Errorf("%d questions are %v in texts, with %d ids and %d titles, version %s", questions, got, len(ids), len(titles), file.Version)
		}
	}
}

// Who answers gets one to three answers of people, and they agree.
func TestPeopleAgree(t *testing.T) {
	counts := map[int]int{}
	for _, article := range squad(t, squadSpec).Data {
		for _, qa := range article.Paragraphs[0].QAs {
			counts[len(qa.Answers)]++
			for _, a := range qa.Answers {
				if a != qa.Answers[0] {
					t.Errorf("question %s is answered by %+v", qa.ID, qa.Answers)
				}
			}
		}
	}
	if len(counts) != 3 || counts[1] < 30 || counts[2] < 30 || counts[3] < 30 {
		t.Errorf("numbers of answers %v", counts)
	}
}

func TestTextsAreSentences(t *testing.T) {
	accents := 0
	for i, article := range squad(t, squadSpec).Data {
		text := article.Paragraphs[0].Context
		sentences := strings.Split(strings.TrimSuffix(text, "."), ". ")
		few, many := 5, 10
		if i%longEvery == longEvery-1 {
			few, many = 34, 46
		}
		if len(sentences) < few || len(sentences) > many {
			t.Errorf("text %d has %d sentences, want %d to %d", i, len(sentences), few, many)
		}
		for _, s := range sentences {
			if first, _ := utf8.DecodeRuneInString(s); !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZÁÉÖ", first) {
				t.Errorf("text %d: a sentence begins with %q", i, s)
			}
			accents += strings.Count(s, "á") + strings.Count(s, "é") + strings.Count(s, "ö")
		}
		if strings.Contains(text, "  ") || strings.TrimSpace(text) != text {
			t.Errorf("text %d has blanks beside each other", i)
		}
	}
	if accents == 0 {
		t.Error("no word has an accent")
	}
}

// Questions name what they ask for, in four forms.
func TestQuestionsNameWhatTheyAskFor(t *testing.T) {
	forms := map[string]int{}
	for _, article := range squad(t, squadSpec).Data {
		p := article.Paragraphs[0]
		for _, qa := range p.QAs {
			form := ""
			for _, f := range []string{"What comes after %s?", "Which words follow %s in the text?", "What word or words come first after %s?", "%s: what follows it?"} {
				before, after, _ := strings.Cut(f, "%s")
				if name, ok := strings.CutPrefix(qa.Question, before); ok && strings.HasSuffix(name, after) {
					if name = strings.TrimSuffix(name, after); strings.Contains(p.Context, " "+name+" ") {
						form = f
					}
				}
			}
			if forms[form]++; form == "" {
				t.Errorf("question %q asks for nothing in its text", qa.Question)
			}
		}
	}
	if len(forms) != 4 {
		t.Errorf("forms of questions: %v", forms)
	}
}

func TestVocabulariesHaveTheirLayout(t *testing.T) {
	v := squadVocabulary(4, 2300)
	if len(v.pieces) != vocabularySize {
		t.Fatalf("%d pieces", len(v.pieces))
	}
	seen := map[string]int{}
	for i, piece := range v.pieces {
		if at, ok := seen[piece]; ok {
			t.Errorf("piece %q is there at %d and at %d", piece, at, i)
		}
		seen[piece] = i
	}
	for i, want := range map[int]string{0: "[PAD]", 1: "[unused1]", 99: "[unused99]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 104: "[unused104]", 999: "[unused999]", 1000: "!", 2299: "[unused2299]"} {
		if v.pieces[i] != want {
			t.Errorf("piece %d is %q, want %q", i, v.pieces[i], want)
		}
	}
	for _, piece := range []string{"a", "z", "0", "9", "##a", "##9", "the", "–", "€"} {
		if at := seen[piece]; at < 1000 || at >= 2300 {
			t.Errorf("%q is piece %d, want it among the characters and common words", piece, at)
		}
	}
	for _, piece := range v.pieces[2300:] {
		if strings.Trim(piece, "abcdefghijklmnopqrstuvwxyz") != "" || len(piece) < 4 {
			t.Fatalf("%q is no word", piece)
		}
	}
	if other := squadVocabulary(5, 2300); slices.Equal(other.pieces, v.pieces) || !slices.Equal(other.pieces[:2300], v.pieces[:2300]) {
		t.Error("another seed makes the same words, or other marks")
	}
}

func TestDrawnWordsDiffer(t *testing.T) {
	v := squadVocabulary(4, 2300)
	for seed := range uint64(20) {
		words := v.words(newStream("test", seed), 500)
		seen := map[int]bool{}
		for _, w := range words {
			if w < 2300 || w >= vocabularySize || seen[w] {
				t.Fatalf("word %d is no word, or there twice", w)
			}
			seen[w] = true
		}
	}
}

func TestWordsBeginWithACapital(t *testing.T) {
	for word, want := range map[string]string{"a": "A", "bruk": "Bruk", "öst": "Öst", "X": "X", "7b": "7b"} {
		if got := capital(word); got != want {
			t.Errorf("capital(%q) = %q, want %q", word, got, want)
		}
	}
}

// Sources and references are lines of the same number, of pieces of the vocabulary beside them, as the reader wants them.
func TestSentencesAreReadByTheirReader(t *testing.T) {
	spec := TranslationSpec{Seed: 4, Sentences: 40, Pieces: 300, Lexicon: "small"}
	dir := filepath.Join(t.TempDir(), "wmt")
	if err := WriteTranslation(t.Context(), dir, spec, smallLexicon(300)); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.OpenTranslation(dir)
	if err != nil || len(set.Sentences) != 40 {
		t.Fatalf("%d sentences, %v", len(set.Sentences), err)
	}
	references, err := dataset.ReadTranslationReferences(dir)
	if err != nil || len(references) != 40 {
		t.Fatalf("%d references, %v", len(references), err)
	}
	english, german := dataset.TranslationVocabularies(dir)
	pieces := map[string]bool{}
	for _, path := range []string{english, german} {
		list := readLines(t, path)
		if len(list) != 300 || list[0] != "<unk>" || list[1] != "<s>" || list[2] != "</s>" {
			t.Fatalf("%s begins with %q and has %d pieces", path, list[:3], len(list))
		}
		for _, piece := range list {
			pieces[piece] = true
		}
	}
	for i, s := range set.Sentences {
		words := strings.Fields(s)
		if len(words) < 4 || len(words) > 40 {
			t.Errorf("sentence %d has %d words", i, len(words))
		}
		for _, w := range words {
			if !pieces[w] {
				t.Errorf("sentence %d: %q is no piece", i, w)
			}
		}
	}
}

func TestOnlyWordsWithATranslationAreSaid(t *testing.T) {
	l := Lexicon{Pieces: [][]int32{nil, {}, {5}, nil, {6, 7}, nil, nil, nil}, First: make([]bool, 8)}
	if got := l.words(); !slices.Equal(got, []int32{1, 2, 4}) {
		t.Errorf("words %v, want those whose translation is known, and be it empty", got)
	}
	spec := TranslationSpec{Seed: 1, Sentences: 1, Pieces: 8}
	for seed := range uint64(50) {
		from, to := spec.sentence(newStream("test", seed), []int32{2, 4}, l)
		for _, w := range from {
			if w != 2 && w != 4 {
				t.Fatalf("%v has another word", from)
			}
		}
		for _, p := range to {
			if p < 5 || p > 7 {
				t.Fatalf("%v has another piece", to)
			}
		}
	}
}

func TestLexiconsOfAnotherSizeAreRefused(t *testing.T) {
	spec := TranslationSpec{Seed: 1, Sentences: 5, Pieces: 200}
	for name, edit := range map[string]func(l *Lexicon){
		"fewer words": func(l *Lexicon) { l.Pieces = l.Pieces[1:] }, "fewer marks": func(l *Lexicon) { l.First = l.First[1:] }, "nothing": func(l *Lexicon) { *l = Lexicon{} },
	} {
		l := smallLexicon(200)
		edit(&l)
		dir := filepath.Join(t.TempDir(), "wmt")
		err := WriteTranslation(t.Context(), dir, spec, l)
		wantError(t, err, "making the built-in sentences: the lexicon is of ", " pieces, want 200")
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: there is a folder", name)
		}
	}
}

func TestTheLastNumberOfATextIsWanted(t *testing.T) {
	for text, want := range map[string]string{"": "0", "no number": "0", "7": "7", "3 of 12 words": "12", "1 2.5 x": "1", "-4 here": "-4", "5 6 seven": "6"} {
		if got := lastNumber(text); got != want {
			t.Errorf("the last number of %q is %s, want %s", text, got, want)
		}
	}
}

// No two words of an article follow each other twice: what comes after a pair is known.
func TestArticlesSayNothingTwice(t *testing.T) {
	s := PromptSpec{Tokens: 1000}
	for seed := range uint64(100) {
		tokens, part := s.draw(newStream("test", seed))
		pairs := map[[2]int32]int{}
		article := tokens[1 : len(tokens)-2]
		article = slices.DeleteFunc(slices.Clone(article), func(v int32) bool { return v == promptEnd })
		for i := range len(article) - 1 {
			pair := [2]int32(article[i:])
			if pairs[pair]++; pairs[pair] > 1 || pair[0] == pair[1] {
				t.Fatalf("seed %d: %v is there twice, or one word after itself", seed, pair)
			}
		}
		last := [2]int32(tokens[len(tokens)-2:])
		if pairs[last] != 1 || slices.Contains(part, int32(promptEnd)) || len(part) < fewestInPart-2 || len(part) > mostInPart-2 {
			t.Errorf("seed %d: the part behind %v is %v", seed, last, part)
		}
		if words := len(article); words < fewestInArticle || words > mostInArticle {
			t.Errorf("seed %d: %d words", seed, words)
		}
	}
}

// Half of the words of what somebody said are others; marks are not said.
func TestAnswersAreDisturbedByHalf(t *testing.T) {
	s := PromptSpec{Seed: 3, Tokens: 100_000}
	answer := make([]int32, 4000)
	for i := range answer {
		answer[i] = promptFirstWord + int32(i)
	}
	said := s.Disturbed(0, append([]int32{promptStart, promptEnd, 15}, answer...))
	same := 0
	for i, v := range said {
		if v == answer[i] {
			same++
		}
		if v < promptFirstWord || int(v) >= s.Tokens {
			t.Fatalf("%d is no word", v)
		}
	}
	if len(said) != len(answer) || same < 1850 || same > 2150 {
		t.Errorf("%d of %d words, %d the same", len(said), len(answer), same)
	}
	if again := s.Disturbed(0, answer); !slices.Equal(again, said) {
		t.Error("the same prompt is answered otherwise the second time")
	}
	if other := s.Disturbed(1, answer); slices.Equal(other, said) {
		t.Error("two prompts are disturbed alike")
	}
}

func TestTargetsAreCounted(t *testing.T) {
	dir, list := writePrompts(t, PromptSpec{Seed: 1, Prompts: 3, Tokens: 1000}, nil)
	s := PromptSpec{Seed: 1, Prompts: 3, Tokens: 1000}
	if err := s.WriteTargets(dir, make([][]int32, 2)); err == nil || err.Error() != "2 targets for 3 prompts" {
		t.Errorf("two targets: %v", err)
	}
	if err := s.WriteTargets(dir, [][]int32{{16}, nil, {17, 18}}); err != nil {
		t.Fatal(err)
	}
	var after []struct {
		Input, Output string
	}
	readJSON(t, filepath.Join(dir, "cnn_eval.json"), &after)
	for i, want := range []int{1, 0, 2} {
		if after[i].Input != list[i].Input || len(strings.Fields(after[i].Output)) != want {
			t.Errorf("prompt %d wants %q, or is another one", i, after[i].Output)
		}
	}
}

// What a line of JSON holds comes back, with characters that HTML would not like.
func TestJSONIsWrittenForReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	if err := writeJSON(path, map[string]string{"a": "<&>\u2028é"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	var back map[string]string
	if err != nil || !strings.HasSuffix(string(data), "}\n") || json.Unmarshal(data, &back) != nil || back["a"] != "<&>\u2028é" {
		t.Errorf("%q, %v", data, err)
	}
	if err := writeJSON(path, func() {}); err == nil {
		t.Error("a function is JSON")
	}
	if err := writeJSON(filepath.Join(path, "below a file"), 1); err == nil {
		t.Error("a file is a folder")
	}
}

func ExamplePromptSpec_Key() {
	a := PromptSpec{Seed: 1, Prompts: 10, Tokens: 1000}
	b := a
	fmt.Println(a.Key() == b.Key())
	b.Truth = "another model"
	fmt.Println(a.Key() == b.Key())
	// Output:
	// true
	// false
}
