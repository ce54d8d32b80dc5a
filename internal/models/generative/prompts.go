package generative

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/regular"
)

// prompts are a data set: what is asked, as tokens, and what somebody answered.
type prompts struct {
	tokens  [][]int32
	targets []string
	mixed   []accuracy.MixedText // of Mixtral's
	cuts    map[int][]int32      // tokens after which an answer ends
}

// maxPrompts bounds a file of prompts.
const maxPrompts = 1 << 30

// A promptRow is a prompt in a file.
type promptRow struct {
	Dataset string  `json:"dataset"`
	ID      string  `json:"id"`
	Tokens  []int32 `json:"tok_input"`
	Output  string  `json:"output"`
	Wanted  string  `json:"gt_output"`
}

// readRows reads the first file that is there.
func readRows(dir string, names ...string) (path string, rows []promptRow, err error) {
	var text []byte
	for _, name := range names {
		path = filepath.Join(dir, name)
		if text, err = regular.ReadFile(path, maxPrompts); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return path, nil, fmt.Errorf("opening the prompts: want %s: %w", filepath.Join(dir, names[0]), err)
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return path, nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, row := range rows {
		if len(row.Tokens) == 0 {
			return path, nil, fmt.Errorf("%s: prompt %d has no tok_input", path, i)
		}
	}
	if len(rows) == 0 {
		err = fmt.Errorf("%s: there is no prompt", path)
	}
	return path, rows, err
}

// readArticles reads articles as the reference's download_cnndm.py writes them: all, or those of
// the edge.
func readArticles(dir string) (*prompts, error) {
	_, rows, err := readRows(dir, "cnn_eval.json", "sample_cnn_eval_5000.json")
	if err != nil {
		return nil, err
	}
	p := &prompts{}
	for _, row := range rows {
		p.tokens, p.targets = append(p.tokens, row.Tokens), append(p.targets, row.Output)
	}
	return p, nil
}

// mbxpEnd are the tokens that end a program, "\n```\n" (language/mixtral-8x7b/dataset.py, mbxp_stop).
var mbxpEnd = []int32{13, 13940, 28832, 13}

// readMixed reads Mixtral's prompts: of OpenOrca, GSM8K and MBXP.
func readMixed(dir string) (*prompts, error) {
	path, rows, err := readRows(dir, "mixtral.json")
	if err != nil {
		return nil, err
	}
	p := &prompts{cuts: map[int][]int32{}}
	for i, row := range rows {
		switch row.Dataset {
		case "OpenOrca", "GSM8K":
		case "MBXP":
			p.cuts[i] = mbxpEnd
		default:
			return nil, fmt.Errorf("%s: prompt %d is of %q, want OpenOrca, GSM8K or MBXP", path, i, row.Dataset)
		}
		p.tokens = append(p.tokens, row.Tokens)
		p.targets = append(p.targets, row.Wanted)
		p.mixed = append(p.mixed, accuracy.MixedText{Dataset: row.Dataset, ID: row.ID, Wanted: row.Wanted})
	}
	return p, nil
}
