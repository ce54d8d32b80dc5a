package synth

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

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
