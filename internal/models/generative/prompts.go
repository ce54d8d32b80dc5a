package generative

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// prompts are a data set: what is asked, as tokens, and what somebody answered.
type prompts struct {
	tokens  [][]int32
	targets []string
}

// maxPrompts bounds a file of prompts.
const maxPrompts = 1 << 30

// summaryFiles are the names of the articles of CNN/DailyMail: all, and those of the edge.
var summaryFiles = []string{"cnn_eval.json", "sample_cnn_eval_5000.json"}

// readSummaries reads articles as the reference's download_cnndm.py writes them.
func readSummaries(dir string) (*prompts, error) {
	var text []byte
	var err error
	name := ""
	for _, file := range summaryFiles {
		name = filepath.Join(dir, file)
		if text, err = regular.ReadFile(name, maxPrompts); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the articles: want %s: %w", filepath.Join(dir, summaryFiles[0]), err)
	}
	var list []struct {
		Tokens []int32 `json:"tok_input"`
		Output string  `json:"output"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &prompts{}
	for i, row := range list {
		if len(row.Tokens) == 0 {
			return nil, fmt.Errorf("%s: article %d has no tok_input", name, i)
		}
		p.tokens, p.targets = append(p.tokens, row.Tokens), append(p.targets, row.Output)
	}
	if len(p.tokens) == 0 {
		return nil, fmt.Errorf("%s: there is no article", name)
	}
	return p, nil
}
