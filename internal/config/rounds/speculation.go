package rounds

import (
	"fmt"
	"strings"
)

// A Speculation is speculative decoding at servers as the submitter declares it, in SGLang's words.
type Speculation struct {
	Algorithm    string  `json:"algorithm"`               // EAGLE, EAGLE3, MTP, NGRAM, …; empty: none
	Head         string  `json:"draft_model,omitempty"`   // that proposes tokens; empty: not declared
	Steps        int     `json:"num_steps,omitempty"`     // of the head for each step of the model; 0: not declared
	TopK         int     `json:"eagle_topk,omitempty"`    // branches of a step; 0: not declared
	AcceptLength float64 `json:"accept_length,omitempty"` // mean number of tokens of a step of the model; 0: not declared
}

// String has all that is declared.
func (s Speculation) String() string {
	text := s.Algorithm
	if s.Head != "" {
		text += " with " + s.Head
	}
	if s.Steps > 0 {
		text += fmt.Sprintf(", num-steps %d", s.Steps)
	}
	if s.TopK > 0 {
		text += fmt.Sprintf(", topk %d", s.TopK)
	}
	if s.AcceptLength > 0 {
		text += fmt.Sprintf(", accept length %g", s.AcceptLength)
	}
	return text
}

// speculations are what the closed division allows (inference_policies ac93e89 of 2026-07-23, appendix on speculative decoding). Heads are
// unchanged and not quantised, on edge systems quantised as the model is. Fields without a value are free.
var speculations = []struct {
	benchmark, scenario string
	allowed             Speculation
}{
	{"deepseek-r1", "Interactive", Speculation{Algorithm: "EAGLE", Steps: 3, TopK: 1}}, // with the model's own MTP head
	{"gpt-oss-120b", "Interactive", Speculation{Algorithm: "EAGLE3", Head: "nvidia/gpt-oss-120b-Eagle3-long-context", Steps: 3, TopK: 1}},
	{"qwen3.6-27b", "SingleStream", Speculation{Algorithm: "MTP"}}, // lossless; steps are to be reported
}

// Allows reports whether a round allows speculative decoding as it is declared, for a benchmark and a scenario. Where the round allows
// another one, that is want.
func Allows(version, benchmark, scenario string, s Speculation) (ok bool, want string) {
	if Before(version, "v6.1") {
		return false, ""
	}
	for _, row := range speculations {
		if row.benchmark != benchmark || row.scenario != scenario {
			continue
		}
		a := row.allowed
		alike := strings.EqualFold(s.Algorithm, a.Algorithm) && (a.Head == "" || strings.EqualFold(s.Head, a.Head)) && (a.TopK == 0 || s.TopK == a.TopK)
		if a.Steps == 0 {
			return alike && s.Steps > 0, a.String() + ", num-steps declared"
		}
		return alike && s.Steps == a.Steps, a.String()
	}
	return false, ""
}
