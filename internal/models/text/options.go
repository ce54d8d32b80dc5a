package text

import (
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The options of the family.
const (
	outputOption = workload.OutputOption
	padOption    = "pad"

	dtypeOption      = "dtype"
	transposedOption = "output-transposed"
	maxOption        = "max-examples"

	sacreOption  = "sacrebleu"
	smoothOption = "sacrebleu-smooth"
	lowerOption  = "sacrebleu-lowercase"
)

// The lengths that windows are padded to.
const (
	padFull    = "full"    // the model's own
	padLongest = "longest" // the longest of a batch
)

func translationScoreOptions() []workload.Option {
	return []workload.Option{
		{Name: sacreOption, Choices: []string{"13a", "intl", "zh", "char", "none"}, Help: "also compute sacreBLEU, with this tokenizer"},
		{Name: smoothOption, Choices: []string{"exp", "floor", "add-k", "none"}, Help: "smoothing of sacreBLEU (default exp)"},
		{Name: lowerOption, Kind: workload.Bool, Help: "sacreBLEU without regard to case"},
	}
}

// parseTranslationScoring returns nil without sacreBLEU.
func parseTranslationScoring(v workload.Values) (*accuracy.SacreOptions, error) {
	tokenize, smooth := strings.ToLower(v[sacreOption]), strings.ToLower(v[smoothOption])
	lower, err := v.On(lowerOption)
	switch {
	case err != nil:
		return nil, err
	case tokenize != "":
		return &accuracy.SacreOptions{Tokenize: tokenize, Smooth: smooth, Lowercase: lower}, nil
	case smooth != "" || lower:
		return nil, userinput.Errorf(sacreOption, "is missing: sacreBLEU needs a tokenizer")
	}
	return nil, nil
}

func squadOptions() []workload.Option {
	return []workload.Option{
		workload.ChooseOutput(),
		{Name: padOption, Choices: []string{padFull, padLongest}, Help: "pad windows to the model's full length, as the reference does, or to the longest of a batch (default full)"},
	}
}

func squadScoreOptions() []workload.Option {
	return []workload.Option{
		{Name: dtypeOption, Aliases: []string{"output_dtype"}, Help: "type of the numbers in the log (default: the official script's)",
			Choices: []string{"float32", "int8", "int16", "int32", "int64", "float16", "float64"}},
		{Name: transposedOption, Aliases: []string{"output_transposed"}, Kind: workload.Bool, Help: "responses have all starts before all ends"},
		{Name: maxOption, Aliases: []string{"max_examples"}, Kind: workload.Integer, Help: "score only the first N questions"},
	}
}

// squadScoring has the options of the official script.
type squadScoring struct {
	accuracy.SpanOptions
	questions int // 0: all
}

func parseSquadScoring(v workload.Values) (s squadScoring, err error) {
	s.DType = accuracy.DType(strings.ToLower(v[dtypeOption]))
	if s.Transposed, err = v.On(transposedOption); err != nil {
		return s, err
	}
	n, err := v.Integer(maxOption)
	if err != nil || n == nil {
		return s, err
	}
	if s.questions = *n; s.questions < 0 {
		return s, userinput.Invalid(maxOption, *n, "a number of questions, or 0 for all")
	}
	return s, nil
}
