package output

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

// The parts of SARIF 2.1.0 that a judgement needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID          string    `json:"id"`
		Description sarifText `json:"shortDescription"`
		Help        sarifText `json:"help"`
		HelpURI     string    `json:"helpUri"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// SARIF writes the findings of a report in the format that code review tools read
// (SARIF 2.1.0).
func SARIF(w io.Writer, r *checker.Report) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "mlperf submission check"}}, Results: []sarifResult{}}
	for _, rule := range checker.Rules() {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule.ID, sarifText{rule.Title}, sarifText{rule.Fix}, rule.Link})
	}
	for _, f := range findings(r) {
		run.Results = append(run.Results, sarifOf(f))
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func sarifOf(f checker.Finding) sarifResult {
	text := f.Message
	if f.Found != "" {
		text += "; found " + f.Found
	}
	if f.Wanted != "" {
		text += "; wanted " + f.Wanted
	}
	parts := strings.Split(f.Path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	at := sarifPhysical{Artifact: sarifArtifact{strings.Join(parts, "/")}}
	if f.Line > 0 {
		at.Region = &sarifRegion{f.Line}
	}
	return sarifResult{f.Rule, string(f.Level), sarifText{text}, []sarifLocation{{at}}}
}
