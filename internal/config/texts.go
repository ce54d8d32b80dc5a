package config

import "github.com/mlperf-go/mlperf/internal/config/rounds"

// A TextNote says where a round's rules, in words, and its submission checker differ. The program does as the checker.
type TextNote struct {
	First string // round
	Model string // empty: of all
	Note  string
}

// textNotes are from inference_rules.adoc (mlcommons/inference_policies) and tools/submission/submission_checker (mlcommons/inference).
func textNotes() []TextNote {
	return []TextNote{
		{First: "v2.1", Model: "3d-unet", Note: "the rules' text has 42 volumes and a mean Dice score of 0.86330; the checker and the reference have 43 and 0.86170"},
		{First: "v4.1", Note: "the rules' text has scheduled samples per second as the result of Server; the checker takes completed samples per second, or tokens"},
	}
}

// TextNotes are those of a benchmark under the rules.
func (r *RuleSet) TextNotes(m Model) []string {
	var notes []string
	for _, n := range textNotes() {
		if !rounds.Before(r.Version, n.First) && (n.Model == "" || n.Model == m.Name) {
			notes = append(notes, n.Note)
		}
	}
	return notes
}
