package rag

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/rag/retrieval"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// The settings of the reference (e2e-rag: reference_mlperf_accuracy.sh, reference_mlperf_perf.sh, params.py).
const (
	mostRounds    = 5
	mostQueries   = 3  // asked for: a reply with more of them is taken as it is
	found         = 10 // passages of a query
	fewestKept    = 3  // of these after reranking, however many queries there are
	shownURLs     = 10
	writerKept    = 12   // kept passages that the query writer sees
	graderKept    = 5    // kept passages that the grader sees
	snippet       = 300  // characters of each of these
	graderTokens  = 4096 // of an answer
	answerTokens  = 10240
	firstFeedback = "Iteration 1 - Initial search"
)

// The calls of the chain, by their names in logs.
const (
	queryWriter = "generate_search_queries"
	grader      = "evaluate_document_relevance"
	sufficiency = "check_sufficiency"
	answerer    = "answer_generator"
)

// The prompts of multi_shot_retrieval.py (mlcommons/inference, e2e-rag, Apache License 2.0), with its names for what is put in.
var (
	//go:embed prompts/queries.txt
	queriesPrompt string
	//go:embed prompts/relevance.txt
	relevancePrompt string
	//go:embed prompts/sufficiency.txt
	sufficiencyPrompt string
	//go:embed prompts/answer.txt
	answerPrompt string
)

// sampling and patience are those of each call (multi_shot_retrieval.py, call_chat_completions).
var (
	sampling = backend.Sampling{Temperature: 1, TopP: 1, TopK: -1, Effort: "medium"}
	patience = backend.Patience{Timeout: 120 * time.Second, Tries: 5, Pause: time.Second}
)

// A call is a request of the chain.
type call struct {
	component string
	round     int
	prompt    backend.Prompt
	context   string // of its entry in the log: JSON
}

// A caller makes the calls of a question. An error that is fatal ends the question; after others the chain goes on without the reply.
type caller func(ctx context.Context, c call) (reply string, fatal bool, err error)

// A document is a passage that was found.
type document struct{ url, text string }

// A chain answers a question (multi_shot_retrieval.py, multi_shot_retrieval).
type chain struct {
	retriever Retriever
	call      caller
	question  string

	round    int
	kept     []document
	fresh    []document // of the round before
	seen     map[string]bool
	queries  []string // all that were searched
	counts   []int    // new passages of each
	feedback []string
}

// An outcome is what the chain found out.
type outcome struct {
	rounds, queries int
	sufficient      bool
	answer          string
	urls            []string // of kept passages
}

// run runs the rounds.
func (c *chain) run(ctx context.Context) (o outcome, err error) {
	c.seen = map[string]bool{}
	var last string // feedback
	for c.round = 1; ; c.round++ {
		if err := c.grade(ctx); err != nil {
			return o, err
		}
		if o.sufficient, err = c.suffices(ctx); err != nil {
			return o, err
		}
		if o.sufficient {
			if o.answer, err = c.finalAnswer(ctx); err != nil {
				return o, err
			}
			break
		}
		queries, feedback, err := c.write(ctx)
		if err != nil {
			return o, err
		}
		if text := pytext.TrimSpace(feedback); text != "" && feedback != last {
			c.feedback = append(c.feedback, text)
		}
		last = feedback
		if err := c.search(ctx, queries); err != nil {
			return o, err
		}
		if c.round == mostRounds {
			break
		}
	}
	for _, d := range c.kept[:min(len(c.kept), shownURLs)] {
		o.urls = append(o.urls, d.url)
	}
	o.rounds, o.queries = c.round, len(c.queries)
	return o, nil
}

// ask makes a call with a prompt, whose values are pairs of a name and a text.
func (c *chain) ask(ctx context.Context, component, prompt string, tokens int, about string, values ...string) (reply string, err error) {
	for i := 0; i < len(values); i += 2 {
		values[i] = "{" + values[i] + "}"
	}
	text := strings.NewReplacer(values...).Replace(prompt)
	reply, fatal, err := c.call(ctx, call{component, c.round, newPrompt(text, tokens), about})
	if fatal || ctx.Err() != nil {
		return "", fatalError{cmp.Or(err, context.Cause(ctx))}
	}
	return reply, err
}

// A fatalError ends a question.
type fatalError struct{ error }

func (e fatalError) Unwrap() error { return e.error }

func isFatal(err error) bool { return errors.As(err, new(fatalError)) }

// newPrompt is the prompt of a call.
func newPrompt(text string, tokens int) backend.Prompt {
	return backend.Prompt{Messages: []backend.Message{{Role: "user", Content: text}}, MaxTokens: tokens, Sampling: &sampling, Patience: &patience}
}

// object is the JSON object in a reply, in a fenced block or not. A reply without one has the error errNoObject, an empty one errEmpty.
func object(reply string) (map[string]any, error) {
	if reply == "" {
		return nil, errEmpty
	}
	text, ok := accuracy.ObjectInReply(reply)
	if !ok {
		return nil, errNoObject
	}
	v, err := pytext.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil // it begins with a brace
}

// The errors of replies, as the feedback of the query writer has them.
var (
	errEmpty    = replyError("LLM returned empty")
	errNoObject = replyError("No JSON in LLM response")
)

type replyError string

func (e replyError) Error() string { return string(e) }

// grade keeps the new passages that the grader calls relevant: all, if its reply is of no use.
func (c *chain) grade(ctx context.Context) error {
	fresh := c.fresh
	c.fresh = nil
	if len(fresh) == 0 {
		return nil
	}
	var texts, before strings.Builder
	for i, d := range fresh {
		fmt.Fprintf(&texts, "\n[NEW %d] %s\n", i+1, d.text)
	}
	if n := len(c.kept); n > 0 {
		fmt.Fprintf(&before, "[%d documents already kept as relevant]\n", n)
		for i, d := range c.kept[:min(n, graderKept)] {
			fmt.Fprintf(&before, "[KEPT %d] %s...\n", i+1, beginning(d.text, snippet))
		}
	} else {
		before.WriteString("None")
	}
	reply, err := c.ask(ctx, grader, relevancePrompt, graderTokens,
		fmt.Sprintf(`{"num_documents_evaluated": %d, "iteration_state": "evaluating_relevance", "kept_docs_before": %d}`, len(fresh), len(c.kept)),
		"question", c.question, "new_docs", texts.String(), "kept_docs", before.String(), "num_docs", strconv.Itoa(len(fresh)))
	if isFatal(err) {
		return err
	}
	var marks []any
	if err == nil {
		var o map[string]any
		if o, err = object(reply); err == nil {
			marks, _ = o["relevance"].([]any)
		}
	}
	for i, d := range fresh {
		if err != nil || len(marks) != len(fresh) || marks[i] == 1.0 || marks[i] == true { // 1 == True in Python
			c.kept = append(c.kept, d)
		}
	}
	return nil
}

// beginning is the first characters of a text.
func beginning(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// keptTexts are passages as prompts have them.
func keptTexts(list []document) string {
	if len(list) == 0 {
		return "None"
	}
	var b strings.Builder
	for i, d := range list {
		fmt.Fprintf(&b, "\n[DOC %d] %s\n", i+1, d.text)
	}
	return b.String()
}

// suffices asks whether the kept passages are enough. In the last round they are.
func (c *chain) suffices(ctx context.Context) (bool, error) {
	if len(c.kept) == 0 {
		return false, nil
	}
	reply, err := c.ask(ctx, sufficiency, sufficiencyPrompt, answerTokens,
		fmt.Sprintf(`{"kept_docs_count": %d, "iteration": %d, "max_iterations": %d, "iteration_state": "checking_sufficiency"}`,
			len(c.kept), c.round, mostRounds),
		"question", c.question, "kept_docs", keptTexts(c.kept), "iteration", strconv.Itoa(c.round), "max_iterations", strconv.Itoa(mostRounds))
	if isFatal(err) {
		return false, err
	}
	enough := false
	if err == nil {
		if o, err := object(reply); err == nil {
			enough = pytext.Truth(o["sufficient"])
		}
	}
	return enough || c.round == mostRounds, nil
}

// finalAnswer asks for the answer; Unknown: it did not come.
func (c *chain) finalAnswer(ctx context.Context) (string, error) {
	reply, err := c.ask(ctx, answerer, answerPrompt, answerTokens,
		fmt.Sprintf(`{"num_documents_used": %d, "iteration_state": "generating_final_answer", "retrieval_complete": true}`, len(c.kept)),
		"question", c.question, "kept_docs", keptTexts(c.kept))
	if isFatal(err) {
		return "", err
	}
	if reply = pytext.TrimSpace(reply); err != nil || reply == "" {
		return "Unknown", nil
	}
	return reply, nil
}

// write asks for queries. Without a useful reply the question is the query.
func (c *chain) write(ctx context.Context) (queries []string, feedback string, err error) {
	kept := c.kept[max(0, len(c.kept)-writerKept):]
	history, before := "No queries yet", firstFeedback
	if len(c.queries) > 0 {
		var b strings.Builder
		for i, q := range c.queries {
			fmt.Fprintf(&b, "- Query: '%s' → %d docs\n", q, c.counts[i])
		}
		history = b.String()
	}
	if len(c.feedback) > 0 {
		before = strings.Join(c.feedback, "\n")
	}
	reply, err := c.ask(ctx, queryWriter, queriesPrompt, answerTokens,
		fmt.Sprintf(`{"kept_docs_count": %d, "iteration_state": "generating_queries", "query_history_length": %d}`, len(kept), len(c.queries)),
		"question", c.question, "kept_docs", keptTexts(kept), "history", history, "feedback_history", before, "max_queries", strconv.Itoa(mostQueries))
	if isFatal(err) {
		return nil, "", err
	}
	var o map[string]any
	if err == nil {
		o, err = object(reply)
	}
	if err != nil {
		if feedback = err.Error(); err != errEmpty && err != errNoObject {
			feedback = "Error: " + feedback
		}
		return []string{c.question}, feedback, nil
	}
	feedback, _ = o["feedback"].(string)
	if _, there := o["feedback"]; !there {
		feedback = "Generating queries"
	}
	list, _ := o["queries"].([]any)
	for _, v := range list {
		if q, ok := v.(string); ok { // the reference fails with others
			queries = append(queries, q)
		}
	}
	if len(queries) == 0 {
		queries = []string{c.question}
	}
	return queries, feedback, nil
}

// search finds new passages, one of each page.
func (c *chain) search(ctx context.Context, queries []string) error {
	most := max(fewestKept, found/len(queries))
	for _, q := range queries {
		list, err := c.retriever.Lookup(ctx, q, found)
		if err == nil && len(list) > most {
			list, err = c.retriever.Rerank(ctx, q, list)
			list = list[:min(most, len(list))]
		}
		if err != nil {
			return fmt.Errorf("searching %q: %w", q, err)
		}
		c.queries, c.counts = append(c.queries, q), append(c.counts, c.add(list))
	}
	return nil
}

// add adds the passages of pages that are new, and returns their number.
func (c *chain) add(list []retrieval.Passage) (n int) {
	for _, p := range list {
		if p.URL != "" && !c.seen[p.URL] {
			c.seen[p.URL] = true
			c.fresh = append(c.fresh, document{p.URL, p.Text})
			n++
		}
	}
	return n
}
