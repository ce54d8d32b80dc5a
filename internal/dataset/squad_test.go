package dataset

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const questionsFile, vocabularyFile = "dev-v1.1.json", "vocab.txt"

// asked is a question of SQuAD with an answer.
func asked(id string) string {
	return fmt.Sprintf(`{"id":%q,"question":"q of %s","answers":[{"text":"a","answer_start":0},{"text":"b"}]}`, id, id)
}

// about is SQuAD with one text.
func about(questions ...string) string {
	return `{"data":[{"title":"t","paragraphs":[{"context":"a b","qas":[` + strings.Join(questions, ",") + "]}]}]}"
}

func TestOpenSQuAD(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, questionsFile, about(asked("1"), asked("2")))
	put(t, dir, vocabularyFile, "[PAD]\n")
	d, err := OpenSQuAD(dir)
	if err != nil {
		t.Fatal(err)
	}
	truth := d.Truth()
	if len(truth) != 2 || truth[1].ID != "2" || strings.Join(truth[1].Answers, " ") != "a b" || d.Questions[1].Asked != "q of 2" || d.Texts[d.Questions[1].Text] != "a b" {
		t.Errorf("truth %+v of %+v", truth, d)
	}
	put(t, dir, vocabularyFile, "[UNK]\n")
	if other, err := OpenSQuAD(dir); err != nil || other.Fingerprint() == d.Fingerprint() {
		t.Errorf("another vocabulary: the fingerprint stays %s, %v", d.Fingerprint(), err)
	}
	put(t, dir, vocabularyFile, "[PAD]\n")
	put(t, dir, questionsFile, about(asked("1"), asked("3")))
	if other, err := OpenSQuAD(dir); err != nil || other.Fingerprint() == d.Fingerprint() {
		t.Errorf("other questions: the fingerprint stays %s, %v", d.Fingerprint(), err)
	}
	put(t, dir, questionsFile, about(asked("1"), asked("2")))
	if same, err := OpenSQuAD(dir); err != nil || same.Fingerprint() != d.Fingerprint() {
		t.Errorf("the same questions have the fingerprints %s and %s, %v", same.Fingerprint(), d.Fingerprint(), err)
	}
	if err := os.Remove(VocabularyPath(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSQuAD(dir); err == nil || !strings.Contains(err.Error(), "the model's vocabulary must be beside the questions") {
		t.Errorf("without a vocabulary: error %v", err)
	}
}

func TestSQuADErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenSQuAD(dir); err == nil || !strings.Contains(err.Error(), questionsFile) {
		t.Errorf("no file: error %v", err)
	}
	for _, test := range []struct{ name, text, want string }{
		{"no JSON", "{\n\"data\":\n<html>", "line 3: jsontext: invalid character '<'"},
		{"another kind", "{\n\"data\": 7}", `line 2: unexpected number at "/data"`},
		{"cut off", about(asked("1"))[:60], "unexpected EOF"},
		{"not UTF-8", "{\"ä\":\n\"\xff\"}", "line 2: jsontext: invalid UTF-8"},
		{"something else", `{"questions":[]}`, `no "data": not SQuAD`},
		{"no paragraphs", `{"data":[{"paragraphs":[]},{}]}`, `data[1]: expected "paragraphs"`},
		{"no context", `{"data":[{"paragraphs":[{"qas":[]}]}]}`, `data[0].paragraphs[0]: expected "context" and "qas"`},
		{"null", `{"data":[{"paragraphs":[null]}]}`, `data[0].paragraphs[0]: expected "context" and "qas"`},
		{"no question", about(), "no questions"},
		{"no id", about(asked("1"), `{"question":"q"}`), `data[0].paragraphs[0].qas[1]: must be "id" and "question"`},
		{"an id twice", about(asked("1"), asked("1")), `qas[1]: id "1" occurs twice`},
		{"an answer without text", about(`{"id":"1","question":"q","answers":[{"text":"a"},{"answer_start":0}]}`), `qas[0].answers[1]: expected "text"`},
	} {
		put(t, dir, questionsFile, test.text)
		if _, err := OpenSQuAD(dir); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), questionsFile) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}
