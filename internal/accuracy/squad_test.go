package accuracy

import (
	"strings"
	"testing"
)

func TestAQuestionThatNobodyAnsweredCannotBeScored(t *testing.T) {
	questions := []Question{{ID: "a", Answers: []string{"one"}}, {ID: "b"}}
	_, err := ScoreSQuAD(questions, map[string]string{"a": "one", "b": "two"}, 0)
	if err == nil || !strings.Contains(err.Error(), "question b has no answer to compare with") {
		t.Errorf("a question without answers: error %v", err)
	}
	if _, err := ScoreSQuAD(nil, nil, 0); err == nil || err.Error() != "there is no question" {
		t.Errorf("no questions: error %v", err)
	}
}

func TestOnlyQuestionsWithoutPredictionsAreWarnedOf(t *testing.T) {
	questions := []Question{{ID: "a", Answers: []string{"one"}}, {ID: "b", Answers: []string{"two"}}}
	for _, test := range []struct {
		name        string
		predictions map[string]string
		unanswered  int
		warning     string
		f1          float64
	}{
		{"all are answered", map[string]string{"a": "one", "b": "one"}, 0, "", 50},
		{"one is not", map[string]string{"a": "one"}, 1, "1 questions are not answered and count as wrong", 50},
		{"none is", nil, 2, "2 questions are not answered and count as wrong", 0},
	} {
		score, err := ScoreSQuAD(questions, test.predictions, 0)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := strings.Join(score.Warnings, "; "); score.Unanswered != test.unanswered || got != test.warning || score.Values[0].Value != test.f1 {
			t.Errorf("%s: %d unanswered, warnings %q, F1 %v; want %d, %q, %v",
				test.name, score.Unanswered, got, score.Values[0].Value, test.unanswered, test.warning, test.f1)
		}
	}
}

func TestAnArticleAfterOtherCharactersIsDropped(t *testing.T) {
	for text, want := range map[string]string{" the cat": "cat", "“the cat”": "“ cat”", "cat – a dog": "cat – dog"} {
		if got := strings.Join(answerWords(text), " "); got != want {
			t.Errorf("words of %q are %q, want %q", text, got, want)
		}
	}
}
