package compliance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report/endpoints"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The audit of caching is TEST04 as mlcommons/endpoints (at ea332753, compliance/audit_test/output_caching_test.py) has it: two runs of
// their own, of different samples and of one sample again and again, in equal numbers. Results on servers of text have it in place of
// TEST04's logs.
const (
	CachingTest = test04
	AuditFolder = "audit" // in the folder of a result
	AuditFile   = "audit_" + cachingName + ".json"

	cachingName = "output_caching_test"
	verifyFile  = "verify_OUTPUT_CACHING_TEST.txt"

	referencePhase = "reference"
	cachingPhase   = "output_caching"
)

// cachingSamples are the requests of each phase (examples/09_Wan22_VideoGen_Example), where the run has no number of its own.
var cachingSamples = map[loadgen.Scenario]int{loadgen.Offline: 144, loadgen.SingleStream: 20}

// cachingThreshold is by how much one sample may be faster, and how much of a phase may be missing: streams are slow, and vary more.
func cachingThreshold(s loadgen.Scenario) float64 {
	if s == loadgen.SingleStream {
		return 0.20
	}
	return 0.10
}

// asksServers reports whether TEST04 is the audit of caching: of a benchmark on servers of text whose results the round takes without
// LoadGen's logs.
func (r *runner) asksServers() bool {
	m, ok := rounds.ModelOf(r.version, modelNames(r.version, r.model)...)
	return r.Test == test04 && r.Engine.Name == engine.OpenAI && ok && m.Endpoints
}

// audit makes both phases of the audit of caching, and judges them.
func (r *runner) audit(ctx context.Context) (*Verdict, error) {
	s := r.scenario
	samples, ok := cachingSamples[s]
	if !ok {
		return nil, userinput.Errorf("scenario", "TEST04 on servers is of Offline and SingleStream: in %v the rate is that of the requests, "+
			"which hides faster answers", s)
	}
	for _, o := range r.Settings {
		if n, err := strconv.Atoi(o.Value); err == nil && o.Key == "min_query_count" {
			samples = n
		}
	}
	if samples <= sampleIndex {
		return nil, userinput.Invalid("min_query_count", samples, fmt.Sprintf("at least %d: TEST04 repeats sample %d", sampleIndex+1, sampleIndex))
	}
	phases := [...]struct{ name, folder, setting string }{
		{referencePhase, r.folder(referencePhase), "performance_issue_unique = 1"},
		{cachingPhase, r.folder(test04), fmt.Sprintf("performance_issue_same = 1\n*.*.performance_issue_same_index = %d", sampleIndex)},
	}
	files, kept := map[string]string{}, true // of the folder, by the file they are copied from
	for _, p := range phases {
		run := func() error { return r.run(ctx, r.countDriven(), p.folder, cachingConf(r.model, p.setting, samples)) }
		err := run()
		if few := (*loadgen.FewSamplesError)(nil); errors.As(err, &few) { // more would come twice, and might be remembered
			r.observer.Note(fmt.Sprintf("%s has %d samples each, as many as are loaded", r.Test, few.Loaded))
			samples = few.Loaded
			err = run()
		}
		if err != nil {
			return nil, err
		}
		kept = kept && r.kept
		summary, err := endpoints.ReadSummary(endpoints.PathOf(p.folder, endpoints.SummaryFile))
		if err != nil {
			return nil, err
		}
		if summary.Complete && summary.Issued < samples { // the data set has no more
			r.observer.Note(fmt.Sprintf("%s has %d samples each, as many as the data set", r.Test, summary.Issued))
			samples = summary.Issued
		}
		for _, name := range []string{endpoints.ConfigFile, endpoints.SummaryFile} {
			files[p.name+"/"+name] = endpoints.PathOf(p.folder, name)
		}
	}
	r.kept = kept
	v, err := VerifyCaching(endpoints.PathOf(phases[0].folder, endpoints.SummaryFile), endpoints.PathOf(phases[1].folder, endpoints.SummaryFile),
		samples, cachingThreshold(s))
	if err != nil {
		return nil, err
	}
	l := &verification{Verdict: v, Logs: Logs{Performance: phases[0].folder, Audit: phases[1].folder, Accuracy: phases[1].folder}}
	if err := l.addLimitations(); err != nil {
		return nil, err
	}
	for to, from := range files {
		if err := copyFile(r.Output, AuditFolder+"/"+to, from); err != nil {
			return nil, err
		}
	}
	return v, v.WriteAudit(r.Output)
}

// cachingConf is the audit.config of a phase: so many samples, of as many that are loaded.
func cachingConf(model, setting string, samples int) string {
	return confText(test04, model, setting, fmt.Sprintf("performance_sample_count_override = %d", samples), fmt.Sprintf("min_query_count = %d", samples), fmt.Sprintf("max_query_count = %d", samples),
		"min_duration = 0", "sample_concatenate_permutation = 0")
}

// countDriven is the request without settings that the phases have of their own.
func (r *runner) countDriven() run.Request {
	q := r.Request.Request
	q.Settings = nil
	for _, o := range r.Settings {
		if o.Key != "min_query_count" && o.Key != "min_duration" {
			q.Settings = append(q.Settings, o)
		}
	}
	return q
}

// VerifyCaching judges the summaries of both phases of the audit of caching, of this program or of mlcommons/endpoints. Each phase was to
// have a number of requests.
func VerifyCaching(reference, caching string, requested int, threshold float64) (*Verdict, error) {
	o := cachingOutcome{Test: cachingName, Threshold: threshold, RefRequested: requested, AuditRequested: requested}
	for _, phase := range []struct {
		path string
		qps  *float64
		n    *int
	}{{reference, &o.RefQPS, &o.RefCompleted}, {caching, &o.AuditQPS, &o.AuditCompleted}} {
		s, err := endpoints.ReadSummary(phase.path)
		switch {
		case err != nil:
			return nil, err
		case !s.Complete:
			return nil, fmt.Errorf("%s: the phase did not end: state is %q, complete is false", phase.path, s.State)
		case s.QPS == nil || *s.QPS <= 0:
			return nil, fmt.Errorf("%s: qps is missing or 0: the phase answered nothing", phase.path)
		}
		*phase.qps, *phase.n = *s.QPS, s.Completed
	}
	o.judge()
	v := &Verdict{Test: test04, Passed: true, Findings: []string{}, texts: map[string]string{}}
	v.Facts = []string{fmt.Sprintf("different samples: %s requests/s, %d of %d answered; one sample: %s requests/s, %d of %d answered (%s; less than %.0f %% faster passes)",
		number(o.RefQPS), o.RefCompleted, requested, number(o.AuditQPS), o.AuditCompleted, requested, percent(o.RefQPS, o.AuditQPS), 100*threshold)}
	if !o.Passed {
		v.fail(o.Reason, keptResponses, busyMachine)
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(o); err != nil {
		return nil, err
	}
	v.texts[AuditFile] = text.String()
	word := "False"
	if o.Passed {
		word = "True"
	}
	v.texts[verifyFile] = "Performance check pass: " + word + "\n"
	return v, nil
}

// A cachingOutcome is audit_output_caching_test.json.
type cachingOutcome struct {
	Test           string  `json:"test"`
	Passed         bool    `json:"passed"`
	RefQPS         float64 `json:"ref_qps"`
	AuditQPS       float64 `json:"audit_qps"`
	Threshold      float64 `json:"threshold"`
	RefCompleted   int     `json:"ref_completed"`
	RefRequested   int     `json:"ref_requested"`
	AuditCompleted int     `json:"audit_completed"`
	AuditRequested int     `json:"audit_requested"`
	Reason         string  `json:"reason"`
}

// judge passes phases that have enough answers, if one sample is not faster than the threshold allows (verify_output_caching).
func (o *cachingOutcome) judge() {
	least := 1 - o.Threshold
	if float64(o.RefCompleted) < float64(o.RefRequested)*least || float64(o.AuditCompleted) < float64(o.AuditRequested)*least {
		o.Reason = fmt.Sprintf("Phase incomplete: reference %d/%d, audit %d/%d (threshold %.0f%%)",
			o.RefCompleted, o.RefRequested, o.AuditCompleted, o.AuditRequested, 100*o.Threshold)
		return
	}
	limit := o.RefQPS * (1 + o.Threshold)
	sign := ">="
	if o.Passed = o.AuditQPS < limit; o.Passed {
		sign = "<"
	}
	o.Reason = fmt.Sprintf("audit_qps=%.4f %s ref_qps * (1 + %.0f%%) = %.4f", o.AuditQPS, sign, 100*o.Threshold, limit)
}

// WriteAudit writes the outcome of the audit of caching into the folder of a result.
func (v *Verdict) WriteAudit(dir string) error {
	v.Folder = filepath.Join(dir, AuditFolder)
	var err error
	for _, name := range []string{AuditFile, verifyFile} { // the record first: a verdict without it says nothing
		err = errors.Join(err, fileio.CopyIn(dir, AuditFolder+"/"+name, strings.NewReader(v.texts[name])))
	}
	return err
}
