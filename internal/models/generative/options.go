package generative

import (
	"fmt"
	"math"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The options of the family.
const (
	cacheOption   = "cache"
	portsOption   = "port-names"
	contextOption = "context"
	chunkOption   = "prefill-chunk"

	samplingOption = "sampling"

	tokenizerOption = "tokenizer"
	dtypeOption     = "dtype"
	executeOption   = "execute-code"
	liveOption      = "livecodebench"
)

func decoderOptions() []workload.Option {
	return []workload.Option{
		{Name: cacheOption, Choices: []string{string(decode.SharedCache), string(decode.GrowingCache)},
			Help: "whether the model writes its cache where it reads it, or takes it in and gives it out longer (default: inferred)"},
		{Name: portsOption, Help: "names of a decoder's ports that are not the usual ones, as usual=own, separated by commas: " +
			"input_ids=tokens,past_key_values.%d.key=cache.%d.k (default: those of genai_config.json)"},
		{Name: contextOption, Kind: workload.Integer, Help: "tokens of prompt and answer together that there is room for (default: as many as the longest prompt needs)"},
		{Name: chunkOption, Kind: workload.Integer, Help: "tokens of a prompt that are read at once, between two tokens of other answers (default 128)"},
		{Name: samplingOption, Help: "how tokens are chosen: greedy, the likeliest as the benchmark wants it; model, as genai_config.json says; " +
			"or temperature=T,top_k=K,top_p=P,seed=S (default greedy)"},
		tokenizerChoice(),
	}
}

func tokenizerChoice() workload.Option {
	return workload.Option{Name: tokenizerOption, Kind: workload.Path, Help: "the model's tokenizer.json (default: the one beside the data, or else the model)"}
}

func textScoreOptions() []workload.Option {
	return []workload.Option{
		{Name: dtypeOption, Choices: []string{"int32", "int64"}, Help: "type of the numbers in the log (default: the official script's)"},
		tokenizerChoice(),
	}
}

// codeScoreOptions are those of benchmarks with programs among the answers.
func codeScoreOptions() []workload.Option {
	return append(textScoreOptions(), executionChoice())
}

func executionChoice() workload.Option {
	return workload.Option{Name: executeOption, Kind: workload.Bool, Scoring: true,
		Help: "for the score, run the programs that the model wrote, on this machine, with bounds on time and memory; they can read and write what you can (default: they get no score)"}
}

// reasoningScoreOptions are those of benchmarks with programs for LiveCodeBench among the answers.
func reasoningScoreOptions() []workload.Option {
	return append(codeScoreOptions(), testsChoice())
}

func testsChoice() workload.Option {
	return workload.Option{Name: liveOption, Kind: workload.Path, Scoring: true,
		Help: "folder with the tests of LiveCodeBench, test.jsonl to test6.jsonl, for the programs that are run (default: livecodebench in the data set, or beside it)"}
}

// defaultChunk is the number of tokens in a chunk of prefill: enough to use each weight that is read from memory often, and
// few enough that other answers hardly wait.
const defaultChunk = 128

// runOptions are the parsed options of a run.
type runOptions struct {
	names          map[string]string // own names, by the usual ones
	cache          decode.Cache
	context, chunk int // 0: default
	sampling       string
}

func parseRunOptions(v workload.Values) (s runOptions, err error) {
	s.cache = decode.Cache(strings.ToLower(v[cacheOption]))
	s.sampling = v[samplingOption]
	if s.names, err = parseNames(v[portsOption]); err != nil {
		return s, userinput.Wrap(portsOption, err)
	}
	for _, o := range []struct {
		name  string
		value *int
	}{{contextOption, &s.context}, {chunkOption, &s.chunk}} {
		n, err := v.Integer(o.name)
		if err != nil {
			return s, err
		}
		if n != nil && (*n < 1 || *n > math.MaxInt32) {
			return s, userinput.Invalid(o.name, *n, fmt.Sprintf("1 to %d tokens", math.MaxInt32))
		}
		if n != nil {
			*o.value = *n
		}
	}
	return s, nil
}
