package tokenserver

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

// chainTokens is the length of a final answer with its reasoning: the mean of the reference run of e2e-rag (compliance/TEST09/e2e-rag-qna).
const chainTokens = 273

// chainReply answers a call of the chain of e2e-rag, or of its judge, about a built-in question: what it is about stands behind the mark of the
// question. Every call is answered as well as can be, but for the final answers to the questions that are not among the right ones. It does nothing
// with other requests.
func (q *request) chainReply(text string, share float64) {
	_, marked, _ := strings.Cut(text, vocab.Words[vocab.Mark])
	var about []struct {
		Queries []string `json:"queries"`
		Answer  string   `json:"answer"`
	}
	if json.NewDecoder(strings.NewReader(marked)).Decode(&about) != nil || len(about) != 1 || about[0].Answer == "" {
		return
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(about[0].Answer + strings.Join(about[0].Queries, "\n")))
	q.seed = h.Sum32()
	between := func(from, to string) string {
		_, rest, _ := strings.Cut(text, from)
		inside, _, _ := strings.Cut(rest, to)
		return strings.TrimSpace(inside)
	}
	var reply any
	switch {
	case strings.HasPrefix(text, "You generate search queries"):
		reply = map[string]any{"queries": about[0].Queries, "feedback": "looking for the pages"}
	case strings.HasPrefix(text, "You are a document relevance classifier"):
		marks := []int{}
		for range strings.Count(between("NEW DOCUMENTS TO EVALUATE:", "KEPT DOCUMENTS (context only):"), "[NEW ") {
			marks = append(marks, 1)
		}
		reply = map[string]any{"relevance": marks}
	case strings.HasPrefix(text, "You check if the retrieved documents are sufficient"):
		enough := strings.Contains(between("KEPT DOCUMENTS (already marked relevant):", "TASK: Review ALL"), about[0].Answer)
		reply = map[string]any{"sufficient": enough || between("ITERATION:", "of") != "2", "reasoning": "by the text of the answer, or in the third round"}
	case strings.HasPrefix(text, "You are grading whether an LLM answer is correct"):
		reply = map[string]any{"correct": between("\nLLM ANSWER:", "\n\nGrade in two steps.") == about[0].Answer, "reasoning": "by the same text"}
	case strings.HasPrefix(text, "Answer the question based ONLY on the provided documents."):
		answer := "I do not know"
		if q.answers = q.isRight(share); q.answers {
			answer = about[0].Answer
		}
		words := pieces(answer)
		q.reasons = chainTokens - len(words)
		for range q.reasons {
			q.words = append(q.words, " hm")
		}
		q.words = append(q.words, words...)
		return
	default:
		return
	}
	written, _ := json.Marshal(reply) // texts and numbers
	q.words = pieces(string(written))
}

// isRight reports whether a question is among those that are answered right.
func (q *request) isRight(share float64) bool {
	const parts = 10007 // seeds are spread evenly over them, so that a share is always of the same questions
	return float64(q.seed%parts) < share*parts
}

// pieces cuts a text before its spaces.
func pieces(text string) (list []string) {
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			word = " " + word
		}
		list = append(list, word)
	}
	return list
}

// wholeWords is the message of an answer in words.
func (q *request) wholeWords() string {
	n := min(q.reasons, q.tokens)
	reasons, text := strings.Join(q.words[:n], ""), strings.Join(q.words[n:q.tokens], "")
	return fmt.Sprintf(`"message":{"role":"assistant","reasoning_content":%s,"content":%s}`, quoted(reasons), quoted(text))
}
