package synth

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/dataset/captions"
	"github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/tokenizer/clip"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
	"github.com/parquet-go/parquet-go"
	"golang.org/x/text/unicode/norm"
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
		wantError(t, err, "making the built-in sentences: the lexicon is of ", " pieces: must be 200")
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
	if err := s.WriteTargets(dir, make([][]int32, 2)); !testenv.Names(err, "2 targets … 3 prompts") {
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

var squadSpec = SQuADSpec{Seed: 1, Questions: 203, FirstWord: 2200, Lengths: 6}

func TestQuestionsHaveTheirAnswersInTheText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "squad")
	if err := WriteSQuAD(t.Context(), dir, squadSpec); err != nil {
		t.Fatal(err)
	}
	vocabulary := readLines(t, filepath.Join(dir, "vocab.txt"))
	number := map[string]int{}
	for i, piece := range vocabulary {
		number[piece] = i
	}
	if len(number) != vocabularySize || vocabulary[101] != "[CLS]" {
		t.Fatalf("%d different pieces, [CLS] is %d", len(number), number["[CLS]"])
	}
	var file squadFile
	data, err := os.ReadFile(filepath.Join(dir, "dev-v1.1.json"))
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	questions, lengths, ids, answers, other := 0, map[int]int{}, map[string]bool{}, map[string]bool{}, 0
	for _, article := range file.Data {
		p := article.Paragraphs[0]
		text := []rune(p.Context)
		for _, qa := range p.QAs {
			questions++
			ids[qa.ID] = true
			answer := qa.Answers[0]
			if got := string(text[answer.Start : answer.Start+len([]rune(answer.Text))]); got != answer.Text {
				t.Fatalf("question %s: %q is at the place of %q", qa.ID, got, answer.Text)
			}
			words := strings.Fields(plainWord(answer.Text))
			first, known := number[words[0]]
			if want := 1 + first%squadSpec.Lengths; !known || len(words) != want {
				t.Errorf("question %s: answer %q has %d words, its first one says %d", qa.ID, answer.Text, len(words), want)
			}
			lengths[len(words)]++
			answers[answer.Text] = true
			before := strings.Fields(plainWord(string(text[:answer.Start])))
			if !strings.Contains(plainWord(qa.Question), before[len(before)-1]) {
				other++
			}
		}
	}
	if questions != squadSpec.Questions || len(ids) != questions {
		t.Errorf("%d questions with %d ids, want %d", questions, len(ids), squadSpec.Questions)
	}
	if len(lengths) != squadSpec.Lengths || len(answers) < questions/2 {
		t.Errorf("answers have the lengths %v, and %d of %d differ", lengths, len(answers), questions)
	}
	if other == 0 || other > questions/5 {
		t.Errorf("%d of %d questions are answered otherwise, want some", other, questions)
	}
}

// plainWord is text as the tokenizer sees it.
func plainWord(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(text))
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// The texts are part of what a key promises.
func TestEqualSpecsMakeEqualTexts(t *testing.T) {
	var made [2]string
	for i := range made {
		dir := filepath.Join(t.TempDir(), "squad")
		if err := WriteSQuAD(t.Context(), dir, SQuADSpec{Seed: 3, Questions: 7, FirstWord: 2200, Lengths: 6}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"dev-v1.1.json", "vocab.txt"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			made[i] += string(data)
		}
	}
	if made[0] != made[1] {
		t.Error("the same spec made two texts")
	}
	for _, spec := range []SQuADSpec{{}, {Questions: 1, FirstWord: 10, Lengths: 6}, {Questions: 1, FirstWord: 2200}} {
		if err := WriteSQuAD(t.Context(), t.TempDir(), spec); err == nil {
			t.Errorf("made %+v", spec)
		}
	}
}

// A small lexicon: word n is translated to n+10, every third in two pieces.
func smallLexicon(pieces int) Lexicon {
	l := Lexicon{make([][]int32, pieces), make([]bool, pieces)}
	for w := 3; w < pieces/2; w++ {
		l.Pieces[w] = []int32{int32(pieces/2 + w)}
		if w%3 == 0 {
			l.Pieces[w] = append(l.Pieces[w], int32(w))
			l.First[pieces/2+w] = true
		}
	}
	return l
}

func TestReferencesAreTranslationsButForSomeWords(t *testing.T) {
	spec := TranslationSpec{Seed: 1, Sentences: 300, Pieces: 200, Lexicon: "small"}
	lexicon := smallLexicon(spec.Pieces)
	dir := filepath.Join(t.TempDir(), "wmt")
	if err := WriteTranslation(t.Context(), dir, spec, lexicon); err != nil {
		t.Fatal(err)
	}
	number := map[string]int32{}
	vocabulary := readLines(t, filepath.Join(dir, "vocab.bpe.32000.en"))
	for i, piece := range vocabulary {
		number[piece] = int32(i)
		if strings.HasSuffix(piece, "@@") != lexicon.First[i] {
			t.Fatalf("piece %d is %q", i, piece)
		}
	}
	if len(number) != spec.Pieces || number["</s>"] != 2 {
		t.Fatalf("%d different pieces", len(number))
	}
	sources, references := readLines(t, filepath.Join(dir, "newstest2014.tok.bpe.32000.en")), readLines(t, filepath.Join(dir, "newstest2014.tok.bpe.32000.de"))
	if len(sources) != spec.Sentences || len(references) != spec.Sentences {
		t.Fatalf("%d sentences and %d references", len(sources), len(references))
	}
	same, all, lengths := 0, 0, map[int]bool{}
	for i, source := range sources {
		words := strings.Fields(source)
		lengths[len(words)] = true
		said := map[string]int{}
		for _, piece := range strings.Fields(references[i]) {
			said[piece]++
		}
		for _, word := range words {
			for _, to := range lexicon.Pieces[number[word]] {
				all++
				if said[vocabulary[to]] > 0 {
					said[vocabulary[to]]--
					same++
				}
			}
		}
	}
	if share := float64(same) / float64(all); share < 0.65 || share > 0.85 || len(lengths) < 20 {
		t.Errorf("%.2f of the words are translated as the lexicon does, and there are %d lengths", share, len(lengths))
	}
}

func TestSpecsOfTranslationsThatCannotBe(t *testing.T) {
	lexicon := smallLexicon(200)
	for _, spec := range []TranslationSpec{{}, {Sentences: 1, Pieces: 10}, {Sentences: 1, Pieces: 201}} {
		if err := WriteTranslation(t.Context(), t.TempDir(), spec, lexicon); err == nil {
			t.Errorf("made %+v", spec)
		}
	}
}

func writePrompts(t *testing.T, spec PromptSpec, judge Judge) (dir string, list []prompt) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "set")
	if err := WritePrompts(t.Context(), dir, spec, judge); err != nil {
		t.Fatal(err)
	}
	table, err := prompts.Read(filepath.Join(dir, spec.file()), prompts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := func(i int, column string) string {
		s, err := table.Text(i, column)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for i := range table.Len() {
		p := prompt{Input: text(i, "input")}
		if p.Tokens, err = table.Tokens(i, "tok_input"); err != nil {
			t.Fatal(err)
		}
		if spec.Mixed {
			p.Dataset, p.ID, p.Output = text(i, "dataset"), text(i, "id"), text(i, "gt_output")
		} else {
			p.Output = text(i, "output")
		}
		list = append(list, p)
	}
	return dir, list
}

// TestAPromptAsksForAPartOfItself that is found by its first two words, and by no others.
func TestAPromptAsksForAPartOfItself(t *testing.T) {
	spec := PromptSpec{Seed: 1, Prompts: 20, Tokens: 2000}
	_, list := writePrompts(t, spec, nil)
	for i, p := range list {
		n := len(p.Tokens)
		pair := p.Tokens[n-2:]
		var places []int
		for at := range n - 3 {
			if slices.Equal(p.Tokens[at:at+2], pair) {
				places = append(places, at)
			}
		}
		if len(places) != 1 || p.Tokens[0] != promptStart {
			t.Fatalf("prompt %d begins with %d, and has its last pair at %v before", i, p.Tokens[0], places)
		}
		end := slices.Index(p.Tokens, promptEnd)
		if wanted := end - places[0] - 2; wanted < fewestInPart-2 || wanted > mostInPart-2 {
			t.Errorf("prompt %d asks for %d words", i, wanted)
		}
		same := 0
		said := strings.Fields(p.Output)
		for k, word := range strings.Fields(spelled(spec.pieces(), p.Tokens[places[0]+2:end])) {
			if said[k] == word {
				same++
			}
		}
		if same == 0 || same == len(said) {
			t.Errorf("prompt %d: %d of %d words of the target are those of the prompt", i, same, len(said))
		}
	}
}

func TestMixedPromptsAskForTextsAndNumbers(t *testing.T) {
	_, list := writePrompts(t, PromptSpec{Seed: 1, Prompts: 12, Tokens: 2000, Mixed: true}, nil)
	numbers := 0
	for i, p := range list {
		if p.Dataset == "GSM8K" {
			numbers++
			if strings.Contains(p.Output, " ") || p.Output == "" {
				t.Errorf("prompt %d wants %q, not a number", i, p.Output)
			}
		} else if p.Dataset != "OpenOrca" || p.Output == "" {
			t.Errorf("prompt %d is of %q and wants %q", i, p.Dataset, p.Output)
		}
	}
	if numbers != 4 {
		t.Errorf("%d of 12 prompts ask for numbers", numbers)
	}
}

func TestTargetsAreWhatAModelSaid(t *testing.T) {
	spec := PromptSpec{Seed: 1, Prompts: 2, Tokens: 2000, Truth: "a model"}
	said := [][]int32{{20, 21, 22}, {promptEnd}}
	dir, list := writePrompts(t, spec, func(folder string) (map[string]float64, error) {
		return map[string]float64{"a model": 40}, spec.WriteTargets(folder, said)
	})
	pieces := spec.pieces()
	if want := strings.TrimPrefix(strings.ReplaceAll(pieces[20]+pieces[21]+pieces[22], space, " "), " "); list[0].Output != want || list[1].Output != "" {
		t.Errorf("targets %q and %q, want %q and none", list[0].Output, list[1].Output, want)
	}
	if m, err := ReadManifest(dir); err != nil || m.Scores["a model"] != 40 || *m.Spec.(*PromptSpec) != spec {
		t.Errorf("manifest %+v, %v", m, err)
	}
	if err := spec.WriteTargets(dir, said[:1]); !testenv.Names(err, "1 targets … 2 prompts") {
		t.Errorf("error %v", err)
	}
}

func TestPromptSpecsThatMakeNoSense(t *testing.T) {
	for _, s := range []PromptSpec{{Tokens: 2000}, {Prompts: 5, Tokens: 10}, {Prompts: 1 << 20, Tokens: 2000}} {
		if err := WritePrompts(t.Context(), filepath.Join(t.TempDir(), "set"), s, nil); err == nil || !strings.HasPrefix(err.Error(), "making the built-in prompts: ") {
			t.Errorf("%+v: error %v", s, err)
		}
	}
	a, b := PromptSpec{Seed: 1, Prompts: 5, Tokens: 2000}, PromptSpec{Seed: 1, Prompts: 5, Tokens: 2000, Mixed: true}
	if a.Key() == b.Key() || a.Key() != (PromptSpec{Seed: 1, Prompts: 5, Tokens: 2000}).Key() {
		t.Errorf("keys %s and %s", a.Key(), b.Key())
	}
}

func TestQuestionsHaveTheirAnswersHiddenInThem(t *testing.T) {
	for form, sets := range questionSets {
		spec := QuestionSpec{Seed: 1, Questions: 40, Form: form}
		seen := map[string]int{}
		for i := range spec.Questions {
			q := spec.draw(i)
			seen[q.Set]++
			if diff := cmp.Diff(q, spec.draw(i), cmp.AllowUnexported(question{})); diff != "" {
				t.Fatalf("%s: the same question differs: %s", form, diff)
			}
			_, answer, found := strings.Cut(vocab.Text(q.Tokens), " ==> ")
			hides := q.Wanted
			if q.sum != 0 {
				hides = fmt.Sprintf("```python\nprint(int(input()) + %d)\n```", q.sum)
			}
			if !found || q.Wanted == "" || !strings.Contains(answer, hides) {
				t.Errorf("%s: question %d wants %q, and hides %q", form, i, hides, answer)
			}
		}
		if len(seen) != len(sets) {
			t.Errorf("%s: the sets are %v, want all of %v", form, seen, sets)
		}
	}
}

func TestQuestionsAreWrittenAsTheyArePublished(t *testing.T) {
	for form, files := range map[string][]string{
		deepSeekQuestions: {"deepseek_r1_eval.parquet", "livecodebench/test.jsonl"},
		ossQuestions:      {"perf/perf_eval_ref.parquet", "acc/acc_eval_ref.parquet", "livecodebench/test.jsonl"},
		longQuestions:     {"llama3.1_405b.json"},
	} {
		dir := filepath.Join(t.TempDir(), "set")
		spec := QuestionSpec{Seed: 1, Questions: 5, Form: form}
		if err := WriteQuestions(t.Context(), dir, spec); err != nil {
			t.Fatal(err)
		}
		for _, name := range append(files, "tokenizer.json") {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 200 {
				t.Errorf("%s: %v", form, err)
			}
		}
		if m, err := ReadManifest(dir); err != nil || *m.Spec.(*QuestionSpec) != spec {
			t.Errorf("%s: %v, %+v", form, err, m)
		}
		if form == ossQuestions {
			rows, err := parquet.ReadFile[question](filepath.Join(dir, files[1]))
			if err != nil || len(rows) != 5 || cmp.Diff(spec.draw(4), rows[4], cmpopts.IgnoreUnexported(question{})) != "" {
				t.Errorf("%v, %+v", err, rows)
			}
		}
	}
	for _, spec := range []QuestionSpec{{Questions: 3, Form: "trivia"}, {Form: ossQuestions}, {Questions: mostQuestions + 1, Form: ossQuestions}} {
		if err := WriteQuestions(t.Context(), filepath.Join(t.TempDir(), "x"), spec); err == nil {
			t.Errorf("%+v is no error", spec)
		}
	}
}

func smallCaptions() CaptionSpec { return CaptionSpec{Seed: 1, Captions: 30, Tokens: 700, Side: 4} }

func writeCaptions(t *testing.T, spec CaptionSpec) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), spec.Key())
	if err := WriteCaptions(t.Context(), dir, spec, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Their readers understand the table with its quotes, and the vocabulary, of which one caption of seven has
// more tokens than are read.
func TestCaptionsAreReadByTheTokenizerBesideThem(t *testing.T) {
	spec := smallCaptions()
	dir := writeCaptions(t, spec)
	list, err := captions.Read(dir, 0)
	if err != nil || len(list) != spec.Captions {
		t.Fatalf("%d captions, %v, want %d", len(list), err, spec.Captions)
	}
	quotes := 0
	for kind, folder := range map[clip.Kind]string{clip.First: "tokenizer", clip.Second: "tokenizer_2"} {
		words, err := clip.Open(filepath.Join(dir, folder), kind)
		if err == nil {
			err = words.Fits(spec.Tokens)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, caption := range list {
			ids := make([]int64, clip.Length)
			whole, err := words.Encode(ids, caption)
			if err != nil || whole == (i%longCaption == longCaption-1) {
				t.Errorf("%s: caption %d, %q, is there as a whole: %t, %v", folder, i, caption, whole, err)
			}
			quotes += strings.Count(caption, `"`)
		}
	}
	if quotes == 0 {
		t.Error("no caption has a quote")
	}
}

func TestLatentsAreNoiseOfDeviationOne(t *testing.T) {
	l, err := captions.ReadLatents(writeCaptions(t, smallCaptions()))
	if err != nil || l.Height != 4 || l.Width != 4 {
		t.Fatalf("latents %+v, %v", l, err)
	}
	squares, seen := 0.0, map[float32]bool{}
	for _, v := range l.Values {
		squares += float64(v) * float64(v)
		seen[v] = true
	}
	if mean := squares / float64(len(l.Values)); math.Abs(mean-1) > 1e-6 || len(seen) != len(l.Values) {
		t.Errorf("the mean square is %v, and %d of %d numbers differ", mean, len(seen), len(l.Values))
	}
}

func TestEqualSpecsMakeEqualCaptions(t *testing.T) {
	spec, other := smallCaptions(), smallCaptions()
	other.Seed = 2
	files := filesOf(t, writeCaptions(t, spec))
	if !maps.Equal(files, filesOf(t, writeCaptions(t, spec))) {
		t.Error("equal specs make other files")
	}
	for name, content := range filesOf(t, writeCaptions(t, other)) {
		if files[name] == content {
			t.Errorf("another seed has the same %s", name)
		}
	}
	if spec.Key() == other.Key() {
		t.Errorf("both have the key %s", spec.Key())
	}
}

func TestSpecsOfCaptionsThatCannotBe(t *testing.T) {
	for want, spoil := range map[string]func(*CaptionSpec){
		"captions is 1: must be 2 to 100000": func(s *CaptionSpec) { s.Captions = 1 },
		"captions is 100001":                 func(s *CaptionSpec) { s.Captions = 100_001 },
		"tokens is 599: must be 600":         func(s *CaptionSpec) { s.Tokens = 599 },
		"side is 0: must be 1 to 1024":       func(s *CaptionSpec) { s.Side = 0 },
		"side is 1025":                       func(s *CaptionSpec) { s.Side = 1025 },
	} {
		s := smallCaptions()
		spoil(&s)
		wantError(t, WriteCaptions(t.Context(), filepath.Join(t.TempDir(), "set"), s, nil), "making the built-in captions: ", want)
	}
}
