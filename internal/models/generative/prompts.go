package generative

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/hf"
)

// A questionnaire is a data set: what is asked, as tokens, and what somebody answered.
type questionnaire struct {
	tokens  [][]int32
	targets []string
	mixed   []accuracy.MixedText // of Mixtral's
	long    []accuracy.LongText  // of Llama 3.1 405B's
	cuts    map[int][]int32      // tokens after which an answer ends

	questions []string             // prompts as what a user says, where the model's template is around that
	reasoned  []accuracy.Reasoning // of DeepSeek-R1's and gpt-oss-120b's
}

// A source is where prompts are read from.
type source struct {
	folder    string // or the file of the prompts itself
	tokenizer string // file; empty: the one beside the data, or else the model
	model     string // folder; empty: there is none
	count     int    // of the first ones; 0: all
	scored    bool   // the prompts are those of accuracy, where these are others
}

// isFile reports whether the file of the prompts itself was named.
func (s source) isFile() bool {
	info, err := os.Stat(s.folder)
	return err == nil && !info.IsDir()
}

// tokenizerPath is where the tokenizer is, if there is one.
func (s source) tokenizerPath() string {
	if s.tokenizer != "" {
		return s.tokenizer
	}
	beside := filepath.Join(s.folder, tokenizerFile)
	if s.isFile() {
		beside = filepath.Join(filepath.Dir(s.folder), tokenizerFile)
	}
	if _, err := os.Stat(beside); err == nil || s.model == "" {
		return beside
	}
	if other := filepath.Join(s.model, tokenizerFile); exists(other) {
		return other
	}
	return beside
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// openTokenizer opens the tokenizer of the prompts.
func (s source) openTokenizer() (*hf.Tokenizer, error) {
	t, err := hf.Open(s.tokenizerPath())
	if err != nil {
		return nil, fmt.Errorf("opening the tokenizer: %w", err)
	}
	return t, nil
}

// fits returns an error if there is a tokenizer, and it is not one of a model that knows so many tokens.
func (s source) fits(rows int64) error {
	if s.tokenizer == "" {
		if _, err := os.Stat(s.tokenizerPath()); err != nil {
			return nil //nolint:nilerr // prompts that are tokens need none
		}
	}
	t, err := s.openTokenizer()
	if err != nil {
		return err
	}
	return t.Fits(int(rows))
}

// read reads the table of the file that was named, or of the first that is there: of these names, or
// the only pickle.
func (s source) read(names ...string) (*prompts.Table, error) {
	if s.isFile() {
		return prompts.Read(s.folder, prompts.Options{Count: s.count})
	}
	for _, name := range names {
		path := filepath.Join(s.folder, name)
		if _, err := os.Stat(path); err == nil {
			return prompts.Read(path, prompts.Options{Count: s.count})
		}
	}
	pickles := fileio.Glob(s.folder, "*.pkl*")
	if len(pickles) != 1 {
		return nil, fmt.Errorf("opening the prompts: %s has none of %s, and %d pickles", s.folder, strings.Join(names, ", "), len(pickles))
	}
	return prompts.Read(pickles[0], prompts.Options{Count: s.count})
}

// readRows reads tokens and a text of each row, and has more taken of it, if there is more.
func (s source) readRows(wanted string, more func(q *questionnaire, t *prompts.Table, i int) error, names ...string) (*questionnaire, error) {
	t, err := s.read(names...)
	if err != nil {
		return nil, err
	}
	q, err := take(t, wanted)
	if err != nil || more == nil {
		return q, err
	}
	for i := range t.Len() {
		if err := more(q, t, i); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// take takes tokens and a text of each row.
func take(t *prompts.Table, wanted string) (*questionnaire, error) {
	q, err := takeTokens(t)
	if err != nil {
		return nil, err
	}
	for i := range t.Len() {
		text, err := t.Text(i, wanted)
		if err != nil {
			return nil, err
		}
		q.targets = append(q.targets, text)
	}
	return q, nil
}

// takeTokens takes tokens of each row.
func takeTokens(t *prompts.Table) (*questionnaire, error) {
	q := &questionnaire{}
	column := "tok_input"
	if slices.Contains(t.Columns(), "input_tokens") {
		column = "input_tokens" // as newer files have it
	}
	for i := range t.Len() {
		ids, err := t.Tokens(i, column)
		if err == nil && len(ids) == 0 {
			err = fmt.Errorf("prompt %d is empty", i)
		}
		if err != nil {
			return nil, err
		}
		q.tokens = append(q.tokens, ids)
	}
	return q, nil
}

// The files of the articles of CNN/DailyMail: all, and those of the edge, which are called otherwise
// by who publishes them than by download_cnndm.py.
var (
	articleFiles = []string{"cnn_eval.json", "sample_cnn_eval_5000.json"}
	edgeFiles    = []string{"sample_cnn_eval_5000.json", "cnn_eval_5000.json", "cnn_eval.json"}
)

// readArticles reads articles as the reference's download_cnndm.py writes them for Llama 3.1.
func readArticles(s source) (*questionnaire, error) {
	return s.readRows("output", nil, articleFiles...)
}

// readEdgeArticles reads those of the edge where there are others beside them.
func readEdgeArticles(s source) (*questionnaire, error) {
	return s.readRows("output", nil, edgeFiles...)
}

// readOrca reads the questions of OpenOrca.
func readOrca(s source) (*questionnaire, error) {
	return s.readRows("output", nil, "open_orca_gpt4_tokenized_llama.sampled_24576.pkl", "open_orca_gpt4_tokenized_llama.sampled_24576.pkl.gz", articleFiles[0])
}

// mbxpEnd are the tokens that end a program, "\n```\n" (language/mixtral-8x7b/dataset.py, mbxp_stop).
var mbxpEnd = []int32{13, 13940, 28832, 13}

// mbxpEndText are these tokens as a text.
const mbxpEndText = "\n```\n"

// readMixed reads Mixtral's prompts: of OpenOrca, GSM8K and MBXP.
func readMixed(s source) (*questionnaire, error) {
	return s.readRows("gt_output", func(q *questionnaire, t *prompts.Table, i int) error {
		set, err := t.Text(i, "dataset")
		if err != nil {
			return err
		}
		id, err := t.Text(i, "id")
		if err != nil {
			return err
		}
		switch set {
		case "OpenOrca", "GSM8K":
		case "MBXP":
			if q.cuts == nil {
				q.cuts = map[int][]int32{}
			}
			q.cuts[i] = mbxpEnd
		default:
			return fmt.Errorf("prompt %d is of %q, want OpenOrca, GSM8K or MBXP", i, set)
		}
		q.mixed = append(q.mixed, accuracy.MixedText{Dataset: set, ID: id, Wanted: q.targets[i]})
		return nil
	}, "09292024_mixtral_15k_mintoken2_v1.pkl", "mixtral.json")
}
