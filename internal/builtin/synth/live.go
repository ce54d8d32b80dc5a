package synth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/accuracy/livecode"
)

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
		if err := os.WriteFile(filepath.Join(folder, liveFolder, livecode.FileName(i)), lines[i].Bytes(), 0o644); err != nil {
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
