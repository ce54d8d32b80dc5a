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
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
)

// A promptSet is a data set: prompts as tokens, and reference answers.
type promptSet struct {
	tokens  [][]int32
	targets []string
	mixed   []accuracy.MixedText // of Mixtral's
	long    []accuracy.LongText  // of Llama 3.1 405B's
	cuts    map[int][]int32      // tokens after which an answer ends

	questions []string             // prompts as the text of a user's message, for servers that apply the chat template
	reasoned  []accuracy.Reasoning // of DeepSeek-R1's and gpt-oss-120b's
}

// A source says where prompts are.
type source struct {
	folder    string // or the file of the prompts itself
	tokenizer string // file; empty: the one beside the data, or else the model
	model     string // folder; empty: there is none
	count     int    // the first so many; 0: all
	scored    bool   // the prompts of accuracy runs, if these have their own
}

// isFile reports whether folder is the file of the prompts itself.
func (s source) isFile() bool {
	info, err := os.Stat(s.folder)
	return err == nil && !info.IsDir()
}

// tokenizerPath is the path of the tokenizer, which may be missing.
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
	other := filepath.Join(s.model, tokenizerFile)
	if _, err := os.Stat(other); err == nil {
		return other
	}
	return beside
}

// openTokenizer opens the tokenizer of the prompts.
func (s source) openTokenizer() (*hf.Tokenizer, error) {
	t, err := hf.Open(s.tokenizerPath())
	if err != nil {
		return nil, fmt.Errorf("opening the tokenizer: %w", err)
	}
	return t, nil
}

// fits returns an error if the tokenizer exists and has more tokens than the model.
func (s source) fits(rows int64) error {
	if s.tokenizer == "" {
		if _, err := os.Stat(s.tokenizerPath()); err != nil {
			return nil //nolint:nilerr // prompts of tokens need none
		}
	}
	t, err := s.openTokenizer()
	if err != nil {
		return err
	}
	return t.Fits(int(rows))
}

// read reads the table of the source's file, of the first of names that exists, or of the only pickle.
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

// readRows reads the tokens and a text of each row; more, if any, reads other columns.
func (s source) readRows(wanted string, more func(q *promptSet, t *prompts.Table, i int) error, names ...string) (*promptSet, error) {
	t, err := s.read(names...)
	if err != nil {
		return nil, err
	}
	q, err := readTokensAndText(t, wanted)
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

// readTokensAndText reads the tokens and a text of each row.
func readTokensAndText(t *prompts.Table, wanted string) (*promptSet, error) {
	q, err := readTokens(t)
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

// readTokens reads the tokens of each row.
func readTokens(t *prompts.Table) (*promptSet, error) {
	q := &promptSet{}
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

// The files of CNN/DailyMail: all articles, and the 5,000 of the edge, which have other names in the published data than
// from download_cnndm.py.
var (
	articleFiles = []string{"cnn_eval.json", "sample_cnn_eval_5000.json"}
	edgeFiles    = []string{"sample_cnn_eval_5000.json", "cnn_eval_5000.json", "cnn_eval.json"}
)

// readArticles reads articles as the reference's download_cnndm.py writes them for Llama 3.1.
func readArticles(s source) (*promptSet, error) {
	return s.readRows("output", nil, articleFiles...)
}

// readEdgeArticles prefers the articles of the edge.
func readEdgeArticles(s source) (*promptSet, error) {
	return s.readRows("output", nil, edgeFiles...)
}

// readOrca reads the questions of OpenOrca.
func readOrca(s source) (*promptSet, error) {
	return s.readRows("output", nil, "open_orca_gpt4_tokenized_llama.sampled_24576.pkl", "open_orca_gpt4_tokenized_llama.sampled_24576.pkl.gz",
		articleFiles[0])
}

// mbxpEnd are the tokens that end a program, "\n```\n" (language/mixtral-8x7b/dataset.py, mbxp_stop).
var mbxpEnd = []int32{13, 13940, 28832, 13}

// mbxpEndText are these tokens as a text.
const mbxpEndText = "\n```\n"

// readMixed reads Mixtral's prompts: of OpenOrca, GSM8K and MBXP.
func readMixed(s source) (*promptSet, error) {
	return s.readRows("gt_output", func(q *promptSet, t *prompts.Table, i int) error {
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
			return fmt.Errorf("prompt %d is of %q: must be OpenOrca, GSM8K or MBXP", i, set)
		}
		q.mixed = append(q.mixed, accuracy.MixedText{Dataset: set, ID: id, Wanted: q.targets[i]})
		return nil
	}, "09292024_mixtral_15k_mintoken2_v1.pkl", "mixtral.json")
}

// GPT-J's prompts (language/gpt-j/dataset.py): the template of Alpaca, cut off after alpacaTokens tokens.
const (
	alpaca = "Below is an instruction that describes a task, paired with an input that provides further context. " +
		"Write a response that appropriately completes the request.\n\n### Instruction:\n%s\n\n### Input:\n%s\n\n### Response:"
	alpacaTokens = 1919
)

// readInstructions reads articles with instructions, and tokenizes them unless the file has tokens.
func readInstructions(s source) (*promptSet, error) {
	t, err := s.read(articleFiles...)
	if err != nil {
		return nil, err
	}
	if slices.Contains(t.Columns(), "tok_input") {
		return readTokensAndText(t, "output")
	}
	tokenizer, err := s.openTokenizer()
	if err != nil {
		return nil, err
	}
	q := &promptSet{}
	for i := range t.Len() {
		var parts [3]string
		for k, column := range []string{"instruction", "input", "output"} {
			if parts[k], err = t.Text(i, column); err != nil {
				return nil, err
			}
		}
		ids, err := tokenizer.Append(nil, fmt.Sprintf(alpaca, parts[0], parts[1]), hf.AddSpecial)
		if err != nil {
			return nil, fmt.Errorf("prompt %d: %w", i, err)
		}
		q.tokens, q.targets = append(q.tokens, ids[:min(len(ids), alpacaTokens)]), append(q.targets, parts[2])
	}
	return q, nil
}
