package bfcl

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/accuracy/bfcl"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Question is one of BFCL as servers receive it, with what its answer is judged by.
type Question struct {
	Judge    bfcl.Question
	Messages []Message
	Tools    jsontext.Value // a list
}

// A Message is a part of a chat.
type Message struct{ Role, Content string }

// A subset is a file of questions, and the share of it that the benchmark asks, in percent (online_edge_full_run.yaml).
type subset struct {
	name  string
	share int
	truth bool // it has possible answers
}

// subsets are those of the benchmark in the order of its questions, which is that of their names.
var subsets = []subset{
	{"irrelevance", hallucination, false},
	{"live_irrelevance", hallucination, false},
	{"live_multiple", live, true},
	{"live_parallel", live, true},
	{"live_parallel_multiple", live, true},
	{"live_simple", live, true},
	{"multiple", nonLive, true},
	{"parallel", nonLive, true},
	{"parallel_multiple", nonLive, true},
	{"simple_java", nonLive, true},
	{"simple_javascript", nonLive, true},
	{"simple_python", nonLive, true},
}

// The shares of the categories, and the size up to which a subset is asked whole (category_sample_pct, subset_floor).
const (
	nonLive, live, hallucination = 62, 10, 10
	wholeSubset                  = 25
)

// chosen is how many of so many questions the benchmark asks.
func (s subset) chosen(of int) int {
	if of <= wholeSubset {
		return of
	}
	return max(1, of*s.share/100)
}

// FileName is the name of the file of a subset; possible answers have the same in the folder AnswerFolder.
func FileName(subset string) string { return "BFCL_v4_" + subset + ".json" }

// AnswerFolder has the possible answers.
const AnswerFolder = "possible_answer"

// Folders are where the files may lie below the folder of the data set: as the program unpacks them, or as the wheel has them.
var folders = []string{".", "bfcl_eval/data", "data"}

// find is the folder of the questions.
func find(dir string) (string, error) {
	name := FileName(subsets[0].name)
	for _, f := range folders {
		path := filepath.Join(dir, f)
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("opening the questions: %s has no %s", dir, name)
}

// maxFile bounds a file in bytes; the largest has 4 MB.
const maxFile = 256 << 20

// lines are the lines of a file that are not empty, with their numbers.
func lines(path string) (list [][]byte, numbers []int, err error) {
	data, err := fileio.ReadFile(path, maxFile)
	if err != nil {
		return nil, nil, err
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSpace(line); len(line) > 0 {
			list, numbers = append(list, line), append(numbers, number)
		}
	}
	return list, numbers, nil
}

// lenient are the options of JSON that Python's module accepts as well.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Read reads the questions that the benchmark asks of a folder, in its order: the first ones of each subset.
func Read(dir string) (list []Question, err error) {
	folder, err := find(dir)
	if err != nil {
		return nil, err
	}
	for _, s := range subsets {
		questions, err := s.read(folder)
		if err != nil {
			return nil, err
		}
		list = append(list, questions...)
	}
	return list, nil
}

// read reads the questions of a subset that are asked.
func (s subset) read(folder string) (list []Question, err error) {
	path := filepath.Join(folder, FileName(s.name))
	rows, numbers, err := lines(path)
	if err != nil {
		return nil, fmt.Errorf("opening the questions: %w", err)
	}
	var truths map[string]jsontext.Value
	if s.truth {
		if truths, err = readTruths(filepath.Join(folder, AnswerFolder, FileName(s.name))); err != nil {
			return nil, err
		}
	}
	for i, row := range rows[:s.chosen(len(rows))] {
		q, err := s.question(row, truths)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, numbers[i], err)
		}
		list = append(list, q)
	}
	return list, nil
}

// question reads a row.
func (s subset) question(text []byte, truths map[string]jsontext.Value) (q Question, err error) {
	var row struct {
		ID       string `json:"id"`
		Question [][]struct {
			Role    string  `json:"role"`
			Content *string `json:"content"`
		} `json:"question"`
		Functions jsontext.Value `json:"function"`
	}
	if err := json.Unmarshal(text, &row, lenient); err != nil {
		return q, err
	}
	if row.ID == "" {
		return q, fmt.Errorf("the question has no id")
	}
	for _, turn := range row.Question {
		for _, m := range turn {
			if m.Role == "" {
				return q, fmt.Errorf("%s: question: a message has no role", row.ID)
			}
			content := ""
			if m.Content != nil {
				content = *m.Content
			}
			q.Messages = append(q.Messages, Message{m.Role, content})
		}
	}
	if q.Messages == nil {
		return q, fmt.Errorf("%s: question: must be a list of turns with messages", row.ID)
	}
	truth, ok := truths[row.ID]
	if s.truth && !ok {
		return q, fmt.Errorf("%s: %s/%s has no answer to it", row.ID, AnswerFolder, FileName(s.name))
	}
	if q.Judge, err = bfcl.NewQuestion(row.ID, s.name, row.Functions, truth); err == nil {
		q.Tools, err = Tools(row.Functions)
	}
	if err != nil {
		return q, fmt.Errorf("%s: %w", row.ID, err)
	}
	return q, nil
}

// readTruths reads the possible answers of a file by the ids of their questions.
func readTruths(path string) (map[string]jsontext.Value, error) {
	rows, numbers, err := lines(path)
	if err != nil {
		return nil, fmt.Errorf("opening the possible answers: %w", err)
	}
	list := map[string]jsontext.Value{}
	for i, text := range rows {
		var row struct {
			ID    string         `json:"id"`
			Truth jsontext.Value `json:"ground_truth"`
		}
		if err := json.Unmarshal(text, &row, lenient); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, numbers[i], err)
		}
		list[row.ID] = slices.Clone(row.Truth)
	}
	return list, nil
}
