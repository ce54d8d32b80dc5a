package generative

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
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

	tokenizerOption = workload.TokenizerOption
	dtypeOption     = "dtype"
	executeOption   = "execute-code"
	unsafely        = "unsafe" // value of executeOption
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
		workload.ChooseTokenizer(),
	}
}

func textScoreOptions() []workload.Option {
	return []workload.Option{
		{Name: dtypeOption, Choices: []string{"int32", "int64"}, Help: "type of the numbers in the log (default: the official script's)"},
		workload.ChooseTokenizer(),
	}
}

func executionChoice() workload.Option {
	return workload.Option{Name: executeOption, Kind: workload.Bool, Choices: []string{unsafely}, Scoring: true,
		Help: "for the score, run the programs that the model wrote, on this machine, with bounds on time and memory; they can read and " +
			"write what you can; " +
			"the superuser's run as another user, read-only, and where that is impossible only with =unsafe (default: they get no score)"}
}

// reasoningScoreOptions are those of benchmarks with programs for LiveCodeBench among the answers.
func reasoningScoreOptions() []workload.Option {
	return append(textScoreOptions(), executionChoice(), testsChoice())
}

func testsChoice() workload.Option {
	return workload.Option{Name: liveOption, Kind: workload.Path, Scoring: true,
		Help: "folder with the tests of LiveCodeBench, test.jsonl to test6.jsonl, for the programs that are run (default: livecodebench in " +
			"the data set, or beside it)"}
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

// fields are the names of ports, by the usual ones.
func fields(n *decode.Names) map[string]*string {
	list := map[string]*string{}
	for _, f := range []*string{
		&n.Tokens, &n.Mask, &n.Positions, &n.PastKey, &n.PastValue, &n.LastRows, &n.Lengths, &n.Total,
		&n.Next, &n.Logits, &n.PresentKey, &n.PresentValue,
	} {
		list[*f] = f
	}
	return list
}

// parseNames reads usual=own, separated by commas.
func parseNames(text string) (map[string]string, error) {
	usual := decode.UsualNames()
	return decode.ParseNames(text, slices.Collect(maps.Keys(fields(&usual))))
}

// named puts own names in the place of usual ones.
func named(own ...map[string]string) decode.Names {
	names := decode.UsualNames()
	list := fields(&names)
	for _, m := range own {
		for usual, name := range m {
			*list[usual] = name
		}
	}
	return names
}

// chooseSampling is how tokens are chosen: by default the likeliest, as in the benchmarks.
func (s runOptions) chooseSampling(card modelCard, beams int) (own decode.Sampling, err error) {
	switch s.sampling {
	case "", "greedy":
	case "model":
		if own = card.sampling; own == (decode.Sampling{}) {
			err = errors.New("is model, but no genai_config.json beside the model asks for sampling (search.do_sample)")
		}
	default:
		own, err = parseSampling(s.sampling)
	}
	if err == nil && own.Draws() && beams > 1 {
		err = fmt.Errorf("beam search with %d beams does not sample", beams)
	}
	return own, userinput.Wrap(samplingOption, err)
}

// parseSampling reads temperature=T,top_k=K,top_p=P,seed=S, any of them optional.
func parseSampling(text string) (decode.Sampling, error) {
	s := decode.Sampling{Temperature: 1}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch key {
		case "temperature":
			s.Temperature, err = strconv.ParseFloat(value, 64)
		case "top_k":
			s.TopK, err = strconv.Atoi(value)
		case "top_p":
			s.TopP, err = strconv.ParseFloat(value, 64)
		case "seed":
			s.Seed, err = strconv.ParseUint(value, 10, 64)
		default:
			return s, fmt.Errorf("%q is none of greedy, model, temperature=T, top_k=K, top_p=P, seed=S", part)
		}
		if err != nil {
			return s, fmt.Errorf("%q: not a number: %w", part, err)
		}
	}
	return s, s.Check()
}
