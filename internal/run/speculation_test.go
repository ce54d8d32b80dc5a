package run

import (
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// speculating asks a server of text that decodes speculatively.
func speculating(scenario, division string, s rounds.Speculation) Request {
	return Request{Model: "gpt-oss-120b", Scenario: scenario, Division: division, Engine: engine.Config{
		Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"http://h:1"}, Speculation: s},
	}}
}

// Speculative decoding that the closed division does not allow limits a run, and the open division leaves it free.
func TestSpeculativeDecodingIsJudged(t *testing.T) {
	allowed := rounds.Speculation{Algorithm: "EAGLE3", Head: "nvidia/gpt-oss-120b-Eagle3-long-context", Steps: 3, TopK: 1}
	for name, c := range map[string]struct {
		scenario, division string
		given              rounds.Speculation
		limited            bool
		want               string
	}{
		"as the rules have it":    {"interactive", "closed", allowed, false, ""},
		"in another scenario":     {"server", "closed", allowed, true, ""},
		"with another head":       {"interactive", "closed", rounds.Speculation{Algorithm: "EAGLE3", Head: "mine", Steps: 3, TopK: 1}, true, allowed.String()},
		"in the network division": {"offline", "network", rounds.Speculation{Algorithm: "NGRAM"}, true, ""},
		"in the open division":    {"offline", "open", rounds.Speculation{Algorithm: "NGRAM"}, false, ""},
		"none":                    {"server", "closed", rounds.Speculation{}, false, ""},
	} {
		r, err := Resolve(speculating(c.scenario, c.division, c.given))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		list := r.limitations()
		i := slices.IndexFunc(list, func(l limitation.Limitation) bool { return l.ID == limitation.Speculation })
		if (i >= 0) != c.limited || i >= 0 && list[i].Want != c.want {
			t.Errorf("%s: %v", name, list)
		}
	}
}

func TestWrongSpeculativeDecoding(t *testing.T) {
	for want, s := range map[string]rounds.Speculation{
		"speculative_num_steps … speculative_algorithm": {Steps: 3},
		"speculative_num_steps … -1":                    {Algorithm: "EAGLE", Steps: -1},
		"speculative_eagle_topk … -2":                   {Algorithm: "EAGLE", TopK: -2},
		"speculative_acceptance … 0.5":                  {Algorithm: "EAGLE", AcceptLength: 0.5},
	} {
		if _, err := Resolve(speculating("server", "", s)); !testenv.Names(err, want) {
			t.Errorf("%+v: %v, want %s", s, err, want)
		}
	}
	q := speculating("server", "", rounds.Speculation{Algorithm: "EAGLE"})
	q.Engine.Name, q.Model = engine.OIP, "resnet50"
	if _, err := Resolve(q); !testenv.Names(err, "speculative_algorithm … oip … openai") {
		t.Errorf("servers of tensors: %v", err)
	}
}
