package generative

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/pytext"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// The values of the scores of texts, in the order in which the scripts print them.
const (
	rougeOne  = "rouge1"
	rougeTwo  = "rouge2"
	rougeL    = "rougeL"
	rougeLSum = "rougeLsum"
	genLen    = "gen_len"
	perSample = "tokens_per_sample"
)

// A textScore gathers what is known of the answers of a log.
type textScore struct {
	accuracy.Score
	sums       [4]float64 // of ROUGE-1, 2, L and Lsum
	characters int
	texts      int
	tokens     int
	records    int
}

// score scores a log of tokens as the evaluation scripts do: what is in it counts, each sample once.
func (w writer) score(log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	data, err := readSummaries(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	path := s.Options[tokenizerOption]
	if path == "" {
		path = filepath.Join(s.DatasetDir, tokenizerFile)
	}
	words, err := readSpeller(path)
	if err != nil {
		return nil, err
	}
	t := &textScore{}
	t.Coverage.Samples = len(data.targets)
	scorer := accuracy.NewROUGEScorer(true)
	dtype := dtypeOf(s.Options, w.dtype())
	for rec, err := range accuracy.FirstRecords(log, &t.Coverage) {
		if err != nil {
			return nil, err
		}
		tokens, err := readTokens(rec.Data, dtype)
		if err != nil {
			return nil, fmt.Errorf("%s: sample %d: %w", log.Name(), rec.QSLIndex, err)
		}
		text, err := words.text(tokens)
		if err != nil {
			return nil, fmt.Errorf("%s: sample %d: %w", log.Name(), rec.QSLIndex, err)
		}
		t.add(scorer, text, data.targets[rec.QSLIndex], len(tokens))
	}
	if t.texts == 0 {
		return nil, fmt.Errorf("%s has no answers", log.Name())
	}
	t.records = t.texts + t.Coverage.Repeated
	w.report(t)
	return &t.Score, nil
}

// dtype is the type of the numbers in the logs that the benchmark writes.
func (w writer) dtype() accuracy.DType {
	if w.rules.Width == 8 {
		return accuracy.Int64
	}
	return accuracy.Int32
}

func readTokens(data []byte, t accuracy.DType) ([]int32, error) {
	size := 4
	if t == accuracy.Int64 {
		size = 8
	}
	if len(data)%size != 0 {
		return nil, fmt.Errorf("%d bytes are no whole number of tokens of %d bytes (%s)", len(data), size, t)
	}
	tokens := make([]int32, len(data)/size)
	for i := range tokens {
		if size == 4 {
			tokens[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
			continue
		}
		wide := int64(binary.LittleEndian.Uint64(data[8*i:]))
		if wide < 0 || wide > math.MaxInt32 {
			return nil, fmt.Errorf("token %d is %d: are the numbers of %d bytes?", i, wide, size)
		}
		tokens[i] = int32(wide)
	}
	return tokens, nil
}

// add compares a text with what was wanted.
func (t *textScore) add(scorer *accuracy.ROUGEScorer, said, wanted string, tokens int) {
	said, wanted = inLines(said), inLines(wanted)
	r := scorer.Score(said, wanted)
	for i, part := range []accuracy.ROUGE{r.One, r.Two, r.L, r.LSum} {
		t.sums[i] += part.F1
	}
	t.characters += utf8.RuneCountInString(said)
	t.texts++
	t.tokens += tokens
}

// inLines is a text with a sentence per line.
func inLines(text string) string { return strings.TrimSpace(text) }

// rouge are the four means in percent, as the scripts round them.
func (t *textScore) rouge() [4]float64 {
	var means [4]float64
	for i, sum := range t.sums {
		means[i] = math.RoundToEven(100*sum/float64(t.texts)*1e4) / 1e4
	}
	return means
}

// describe puts the means among the values, and returns them as the entries of a dict.
func (t *textScore) describe(quote string) []string {
	var entries []string
	for i, mean := range t.rouge() {
		name := []string{rougeOne, rougeTwo, rougeL, rougeLSum}[i]
		t.Values = append(t.Values, accuracy.Value{Name: name, Value: mean})
		entries = append(entries, fmt.Sprintf("'%s': %s%s%s", name, quote, pytext.Float(mean), quote))
	}
	t.Values = append(t.Values, accuracy.Value{Name: genLen, Value: float64(t.characters)})
	return entries
}

// summaryReport is what the scripts of GPT-J and Llama 3.1 8B print.
func summaryReport(t *textScore) {
	entries := append(t.describe("'"), fmt.Sprintf("'gen_len': %d", t.characters), fmt.Sprintf("'gen_num': %d", t.texts))
	t.Lines = []string{"", "Results", "", "{" + strings.Join(entries, ", ") + "}"}
}
