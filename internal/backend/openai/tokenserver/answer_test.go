package tokenserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestAnswersAreSpelledAsTheyAreJudged(t *testing.T) {
	for text, tokens := range map[string][]int32{" ANSWER: C": Letter('C'), `\boxed{0}`: Number(0), `\boxed{907}`: Number(907),
		"```python\nprint(int(input()) + 41)\n```": Program(41)} {
		if got := Spelled(tokens); got != text {
			t.Errorf("%v are %q, want %q", tokens, got, text)
		}
		hidden := append([]int32{3, 5, Hidden}, tokens...)
		if got := behindIDs(hidden); !slices.Equal(got, tokens) {
			t.Errorf("behind the mark are %v, want %v", got, tokens)
		}
		if got := behindText(Spelled(hidden)); !slices.Equal(got, tokens) {
			t.Errorf("behind the mark of the text are %v, want %v", got, tokens)
		}
	}
	for _, ids := range [][]int32{{1, 2}, {Hidden, -1}, {Hidden, 1000}, nil} {
		if got := behindIDs(ids); got != nil {
			t.Errorf("behind the mark of %v are %v", ids, got)
		}
	}
	if got := behindText("a ==> what nobody knows"); got != nil {
		t.Errorf("unknown words are %v", got)
	}
}

// The share that is answered right is the one that was asked for, and of the same questions however they are sent.
func TestAShareOfTheQuestionsIsAnsweredRight(t *testing.T) {
	const questions = 1000
	for _, right := range []float64{0, 0.3, 1} {
		s := New(Options{Right: right, Tokens: 64})
		answered := 0
		for i := range questions {
			ids := append([]int32{int32(i % 64), int32(i / 64), Hidden}, Number(i)...)
			body, err := json.Marshal(map[string]any{"prompt": ids, "max_tokens": 50})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/completions", strings.NewReader(string(body))))
			if quoted, _ := json.Marshal(fmt.Sprintf(`\boxed{%d}`, i)); strings.Contains(w.Body.String(), string(quoted)) {
				answered++
			}
		}
		if share := float64(answered) / questions; share < right-0.05 || share > right+0.05 || s.Rights() != answered {
			t.Errorf("%d of %d answers are right, want %g of them; the server says %d", answered, questions, right, s.Rights())
		}
	}
}
