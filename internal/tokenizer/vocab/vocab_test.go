package vocab

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestAnswersOfQuestions(t *testing.T) {
	for text, tokens := range map[string][]int32{" ANSWER: C": Letter('C'), `\boxed{0}`: Number(0), `\boxed{907}`: Number(907), "```python\nprint(int(input()) + 41)\n```": Program(41),
		`{"category": " token42 >  token43", "brand": " token44", "is_secondhand": true}`: Product([]int32{42, 43}, 44, true),
		`{"category": " token50", "brand": " token51", "is_secondhand": false}`:           Product([]int32{50}, 51, false)} {
		question := append([]int32{3, 5, Mark}, tokens...)
		if Text(tokens) != text || !slices.Equal(Answer(question), tokens) || !slices.Equal(AnswerInText(Text(question)), tokens) {
			t.Errorf("%v are %q, want %q; behind the mark are %v and %v", tokens, Text(tokens), text, Answer(question), AnswerInText(Text(question)))
		}
	}
	for _, ids := range [][]int32{{1, 2}, {Mark, -1}, {Mark, 1000}, nil} {
		if got := Answer(ids); got != nil {
			t.Errorf("behind the mark of %v are %v", ids, got)
		}
	}
	if got := AnswerInText("a ==> unknown"); got != nil {
		t.Errorf("unknown words are %v", got)
	}
}

// The answer to a product is found among other bytes.
func TestAnswerInFile(t *testing.T) {
	answer := Product([]int32{42, 43, 44}, 45, true)
	if got := AnswerInText("\xff\xd8\xff" + Words[Mark] + Text(answer) + "\x00 ==> more"); !slices.Equal(got, answer) {
		t.Errorf("the answer is %v, want %v", got, answer)
	}
}

// Texts are read as tokens: no word may begin with another one.
func TestTextsHaveOneReading(t *testing.T) {
	for i, a := range Words {
		for k, b := range Words {
			if i != k && strings.HasPrefix(a, b) {
				t.Errorf("token %d, %q, begins with token %d, %q", i, a, k, b)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		question := []int32{Mark}
		for range random.IntN(8) {
			question = append(question, int32(random.IntN(isUsed))) // which would end it
		}
		if got := AnswerInText(Text(question)); !slices.Equal(got, question[1:]) {
			t.Fatalf("behind the mark of %q is %v, want %v", Text(question), got, question[1:])
		}
	}
}
