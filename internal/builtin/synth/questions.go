package synth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/accuracy/livecode"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
	"github.com/parquet-go/parquet-go"
)

// A QuestionSpec says everything about a built-in data set of questions for servers of text, in the form in
// which a benchmark publishes its own. Equal specs make equal files.
//
// A question is plain words of the server of tokens, the mark behind which answers are hidden, and its answer:
// so that server answers as many of them right as it is told to, and any other server reads them.
type QuestionSpec struct {
	Seed      uint64 `json:"seed"`
	Questions int    `json:"questions"`
	Form      string `json:"form"` // deepSeekQuestions, ossQuestions, longQuestions or callQuestions
}

// The forms: those of deepseek-r1, gpt-oss-120b and llama3.1-405b.
const (
	deepSeekQuestions = "deepseek-r1"
	ossQuestions      = "gpt-oss-120b"
	longQuestions     = "llama3.1-405b"
)

const (
	fewestAsked   = 20
	mostAsked     = 60
	answerWords   = 12 // of a text
	mostQuestions = 100_000
)

// A questionKind is what answers the questions of a data set.
type questionKind int

const (
	aNumber questionKind = iota
	aText
	aProgram
	toD // a letter from A
	toJ
)

// questionSets are the data sets of the forms; of llama3.1-405b the metrics.
var questionSets = map[string][]struct {
	name string
	kind questionKind
}{
	deepSeekQuestions: {{"gpqa", toD}, {"mmlu_pro", toJ}, {"math500", aNumber}, {"aime", aNumber}, {"livecodebench", aProgram}},
	ossQuestions:      {{"gpqa_diamond", toD}, {"aime25", aNumber}, {"livecodebench_v6", aProgram}},
	longQuestions:     {{"rouge", aText}, {"qa_em", aNumber}},
}

// liveFiles are how many files of LiveCodeBench's tests the questions of a form are from.
var liveFiles = map[string]int{deepSeekQuestions: 1, ossQuestions: 6}

func (s QuestionSpec) check() error {
	switch {
	case questionSets[s.Form] == nil && s.Form != callQuestions:
		return fmt.Errorf("form is %q: must be %s, %s, %s or %s", s.Form, deepSeekQuestions, ossQuestions, longQuestions, callQuestions)
	case s.Questions < 1 || s.Questions > mostQuestions:
		return fmt.Errorf("questions is %d: must be 1 to %d", s.Questions, mostQuestions)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s QuestionSpec) Key() string {
	return "questions-" + keyOf("questions and programs of whole words without pickles beside products %s seed %d questions %d", s.Form, s.Seed, s.Questions)
}

// WriteQuestions makes a data set: the file of the form, tokenizer.json and the Manifest. Folder, errors and ctx are as
// with WriteImageNet.
func WriteQuestions(ctx context.Context, dir string, spec QuestionSpec) error {
	return publish(ctx, dir, "questions", &spec, spec.fill, nil)
}

// fill writes the files.
func (s QuestionSpec) fill(folder string) error {
	if err := writeJSON(filepath.Join(folder, "tokenizer.json"), vocab.Tokenizer()); err != nil {
		return err
	}
	if s.Form == callQuestions {
		return s.fillCalls(folder)
	}
	var list []question
	for i := range s.Questions {
		list = append(list, s.draw(i))
	}
	if err := writeLive(folder, list, liveFiles[s.Form]); err != nil {
		return err
	}
	switch s.Form {
	case ossQuestions: // questions for speed, and the same with their answers
		for _, name := range []string{"perf", "acc"} {
			if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
				return err
			}
			if err := parquet.WriteFile(filepath.Join(folder, name, name+"_eval_ref.parquet"), list); err != nil {
				return err
			}
		}
		return nil
	case longQuestions:
		var rows []map[string]any
		for _, q := range list {
			rows = append(rows, map[string]any{Mark: true, "metric": q.Set, "gt_output": q.Wanted, "input": vocab.Text(q.Tokens), "tok_input": q.Tokens})
		}
		return writeJSON(filepath.Join(folder, "llama3.1_405b.json"), rows)
	}
	type row struct {
		Mark   bool    `parquet:"mlperf_built_in_data"`
		Set    string  `parquet:"dataset"`
		Wanted string  `parquet:"ground_truth"`
		Text   string  `parquet:"text_input"`
		Tokens []int32 `parquet:"tok_input,list"`
	}
	var rows []row
	for _, q := range list {
		rows = append(rows, row{true, q.Set, q.Wanted, vocab.Text(q.Tokens), q.Tokens})
	}
	return parquet.WriteFile(filepath.Join(folder, "deepseek_r1_eval.parquet"), rows)
}

// A question is a sample.
type question struct {
	Mark   bool    `parquet:"mlperf_built_in_data"`
	Set    string  `parquet:"dataset"`
	Wanted string  `parquet:"ground_truth"`
	Tokens []int32 `parquet:"input_tokens,list"`

	sum int // of LiveCodeBench: what a program has to add
}

// draw draws a question.
func (s QuestionSpec) draw(i int) question {
	r := newStream("question "+s.Form, s.Seed, uint64(i))
	set := questionSets[s.Form][i%len(questionSets[s.Form])]
	q := question{Mark: true, Set: set.name}
	for range r.between(fewestAsked, mostAsked) {
		q.Tokens = append(q.Tokens, int32(r.below(vocab.Plain)))
	}
	var answer []int32
	switch set.kind {
	case toD, toJ:
		letter := 'A' + byte(r.below(map[questionKind]int{toD: 4, toJ: 10}[set.kind]))
		answer, q.Wanted = vocab.Letter(letter), string(letter)
	case aProgram:
		q.sum = r.between(100, 999)
		answer, q.Wanted = vocab.Program(q.sum), fmt.Sprintf("sum_%d", i)
	case aText:
		for range answerWords {
			answer = append(answer, int32(r.below(vocab.Plain)))
		}
		q.Wanted = vocab.Text(answer)
	default:
		n := r.between(100, 999) // plain words have no three digits
		answer, q.Wanted = vocab.Number(n), fmt.Sprint(n)
	}
	q.Tokens = append(append(q.Tokens, vocab.Mark), answer...)
	return q
}

// liveFolder is where the tests of LiveCodeBench are in a data set.
const liveFolder = "livecodebench"

// A liveTest is an input of a program with its output.
type liveTest struct {
	Input  string `json:"input"`
	Output string `json:"output"`
	Type   string `json:"testtype"`
}

// encodeLive deals the problems that want a program out to so many files.
func encodeLive(list []question, files int) ([]bytes.Buffer, error) {
	lines := make([]bytes.Buffer, files)
	next := 0
	for _, q := range list {
		if q.sum == 0 {
			continue
		}
		if err := json.NewEncoder(&lines[next%files]).Encode(q.problem()); err != nil {
			return nil, err
		}
		next++
	}
	return lines, nil
}

// writeLive writes the tests of programs as code_generation_lite has them, spread over so many files.
func writeLive(folder string, list []question, files int) error {
	if files == 0 {
		return nil
	}
	if err := os.Mkdir(filepath.Join(folder, liveFolder), 0o755); err != nil {
		return err
	}
	lines, err := encodeLive(list, files)
	if err != nil {
		return err
	}
	for i := range lines {
		if err := fileio.WriteFile(filepath.Join(folder, liveFolder, livecode.FileName(i)), lines[i].Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// problem is a line of a file.
func (q question) problem() map[string]string {
	tests := func(inputs ...int) string {
		var list []liveTest
		for _, n := range inputs {
			list = append(list, liveTest{fmt.Sprintln(n), fmt.Sprintln(n + q.sum), "stdin"})
		}
		text, _ := json.Marshal(list) // strings have JSON
		return string(text)
	}
	return map[string]string{
		"question_id": q.Wanted, "question_title": "A sum", "question_content": fmt.Sprintf("Read a number, add %d.", q.sum),
		"public_test_cases": tests(1), "private_test_cases": tests(0, -q.sum, 1000), "metadata": "{}",
	}
}
