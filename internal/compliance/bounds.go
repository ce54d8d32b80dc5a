package compliance

import (
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// bounds are what TEST07 and TEST09 want of a model; 0: it does not have the test.
type bounds struct {
	leastScore              float64 // of TEST07
	leastTokens, mostTokens float64 // of TEST09, on average
}

const gptOSS = "gpt-oss-120b"

// boundsByModel are those of the audit.config files in compliance/TEST07 and TEST09, by the
// rules' names.
var boundsByModel = map[string]bounds{
	gptOSS:        {60.698, 1150.38, 1406.02},
	"e2e-rag-qna": {0, 246.43, 301.19},
}

// boundsOf returns the bounds of the model whose logs these are; of logs that do not say it,
// those of gpt-oss-120b, as the reference's scripts.
func boundsOf(l Logs, o Options) (bounds, error) {
	name, err := modelOf(l, o)
	if err != nil {
		return bounds{}, err
	}
	if name == "" || name == report.NotKnown {
		name = gptOSS
	}
	if m, err := models.Lookup(name); err == nil {
		return boundsByModel[m.Rules.Name], nil
	}
	m, known := models.Rules(name)
	if !known {
		return bounds{}, userinput.Errorf("model", "unknown model %q, want the name of a benchmark in the rules", name)
	}
	return boundsByModel[m.Name], nil
}

// modelOf returns the name that was given, or that of the test's run; "": neither says it.
func modelOf(l Logs, o Options) (string, error) {
	if o.Model != "" {
		return o.Model, nil
	}
	results, err := resultsIn(l.Audit)
	if results == nil {
		return "", err
	}
	return results.Model, err
}

// resultsIn reads what this program knows of a run; nil: it did not make it.
func resultsIn(folder string) (*report.Results, error) {
	if _, err := os.Stat(filepath.Join(folder, report.FileName)); err != nil {
		return nil, nil
	}
	return report.Read(folder)
}
