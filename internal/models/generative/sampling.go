package generative

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// chooseSampling is how tokens are chosen: by default the likeliest, as in the benchmarks.
func (s runOptions) chooseSampling(card modelCard, beams int) (decode.Sampling, error) {
	own, err := s.chosen(card)
	if err == nil && own.Draws() && beams > 1 {
		err = fmt.Errorf("beam search with %d beams does not sample", beams)
	}
	return own, userinput.Wrap(samplingOption, err)
}

// chosen parses the option.
func (s runOptions) chosen(card modelCard) (decode.Sampling, error) {
	switch s.sampling {
	case "", "greedy":
		return decode.Sampling{}, nil
	case "model":
		if card.sampling == (decode.Sampling{}) {
			return card.sampling, errors.New("is model, but no genai_config.json beside the model asks for sampling (search.do_sample)")
		}
		return card.sampling, nil
	}
	return parseSampling(s.sampling)
}

// parseSampling reads temperature=T,top_k=K,top_p=P,seed=S, each of which may be missing.
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
