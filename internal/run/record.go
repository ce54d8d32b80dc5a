package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/endpoints"
	"github.com/mlperf-go/mlperf/internal/run/engine"
)

// A recorder makes the records of the tests of one call of the harness, and writes them beside the logs.
type recorder struct {
	*Prepared
	config  harness.Config
	before  machine.Conditions
	plugged bool // external power was a limitation before the tests
	several []oneRun
}

// A oneRun is one of several runs that make a result.
type oneRun struct {
	dir     string
	results *report.Results
}

// measure has the harness run a configuration, and writes the record of what it measured. The meter reads already; nil: none.
func (p *Prepared) measure(ctx context.Context, cfg harness.Config, energy meter) (*report.Results, error) {
	rec := &recorder{Prepared: p, config: cfg, before: machine.CurrentConditions()}
	rec.plugged = rec.onExternalPower()
	rec.config.Keep = rec.keep
	t, err := harness.Run(ctx, rec.config)
	measured := func(*report.Results) error { return nil }
	if energy != nil {
		record, problem := energy.Stop()
		measured = func(r *report.Results) error { return addEnergy(r, energy.String(), record, problem, cfg.OutputDir) }
	}
	if t == nil {
		return nil, err
	}
	results, problem := rec.finish(t, measured)
	return results, errors.Join(err, problem)
}

// keep writes the record of a test that others follow, or that is under way.
func (rec *recorder) keep(t *harness.Test) error {
	r := rec.record(t)
	switch {
	case t.UnderWay:
		return r.Write(t.Dir)
	case t.Peak != nil:
		rec.addConditions(r)
		return rec.write(r, t)
	}
	rec.several = append(rec.several, oneRun{t.Dir, r})
	return errors.Join(rec.addSummary(r, t), rec.write(r, t), rec.writeArtifacts(r, t))
}

// finish makes and writes the record of all, of which t is the last test. The function measured adds the energy.
func (rec *recorder) finish(t *harness.Test, measured func(*report.Results) error) (*report.Results, error) {
	if r := t.Earlier; r != nil {
		if t.Kept {
			return r, nil
		}
		t.FillPeak(r)
		return r, writeRecord(r, t.Dir)
	}
	var r *report.Results
	var charted string // folder of the charts
	if len(rec.several) > 0 {
		r, charted = rec.lowest(t)
	} else {
		r = rec.record(t)
	}
	rec.addConditions(r)
	err := measured(r)
	switch {
	case len(rec.several) > 0:
		return r, errors.Join(err, writeRecord(r, rec.config.OutputDir), copyCharts(charted, rec.config.OutputDir))
	case t.Kept:
		return r, err
	}
	return r, errors.Join(err, rec.addSummary(r, t), rec.write(r, t), rec.writeArtifacts(r, t))
}

// record is the record of a test.
func (rec *recorder) record(t *harness.Test) *report.Results {
	q, c := &rec.Request, &rec.config
	r := &report.Results{
		Schema: report.Schema, Program: q.Program, Host: rec.host, Command: q.Command, System: rec.system,
		Model: c.Model.Name, Rules: rec.Rules.Version, Interactive: rec.interactive, Fingerprint: c.Fingerprint,
		Limitations: slices.Concat(rec.known, t.Servers.Limitations), Problems: []string{}, Warnings: append([]string{}, rec.Warnings...),
	}
	if s := q.Engine.Remote.Speculation; s.Algorithm != "" {
		r.Speculation = &s
	}
	t.Fill(r)
	if r.Operations != nil && !r.Backend.Simulated {
		r.Operations.Ceiling = rec.ceiling
		r.Operations.Measured(r.Performance)
	}
	rec.judgeTest(r, t)
	if t.UnderWay {
		return r
	}
	in := t.Input
	r.Input = report.Input{
		ModelPath: c.Backend.ModelPath, ModelSHA256: in.ModelSHA256, ModelBytes: in.ModelBytes,
		Precision: c.Precision, Conversion: rec.conversion, BuiltIn: rec.ownWeights,
		DatasetPath: c.DatasetDir, BuiltInData: c.BuiltInData, Samples: in.Samples, Part: c.Count > 0, Reference: c.Reference,
		Binding: in.Binding, RunSamples: in.RunSamples, EndTokens: in.EndTokens,
	}
	if err := r.Cut(q.WarmUp, q.CoolDown, t.Cancelled, t.Traffic.Performance); err != nil {
		r.Incomplete("the figures", err)
	}
	if r.Steady != nil {
		r.Limitations = append(r.Limitations, limitation.Limitation{ID: limitation.CutFigures, Value: r.Steady.Window()})
	}
	r.JudgeObjectives(q.SLO, t.Traffic.Performance)
	return r
}

// judgeTest adds the limitations by settings that are easier than the rules', and by models and data that are not the official ones.
func (rec *recorder) judgeTest(r *report.Results, t *harness.Test) {
	limitations, notes := rec.judge(t.Settings, t.Made)
	r.Limitations, r.Notes = append(r.Limitations, limitations...), append(r.Notes, notes...)
	if in := t.Input; !rec.config.BuiltInData && rec.config.Count == 0 {
		r.Limitations = append(r.Limitations, rec.judgeData(in.InMemory, in.Samples, in.Seen, in.Distinct)...)
	}
	r.Limitations = append(r.Limitations, t.Limitations...)
	limit := func(on bool, l limitation.Limitation) {
		if on {
			r.Limitations = append(r.Limitations, l)
		}
	}
	limit(len(rec.beside) > 0, besideOthers(rec.beside))
	limit(rec.ownWeights, limitation.Limitation{ID: limitation.BuiltInModel})
	limit(rec.config.BuiltInData, limitation.Limitation{ID: limitation.BuiltInData})
	limit(rec.config.Count > 0, limitation.Limitation{ID: limitation.PartOfData, Value: strconv.Itoa(rec.config.Count)})
	limit(true, limitation.Limitation{ID: limitation.Unofficial})
}

// besideOthers is the limitation of a run with others at the same time.
func besideOthers(others []string) limitation.Limitation {
	return limitation.Limitation{ID: limitation.AtSameTime, Value: strings.Join(others, " and ")}
}

// addConditions adds what this machine was like during the tests.
func (rec *recorder) addConditions(r *report.Results) {
	after := machine.CurrentConditions()
	for _, text := range rec.before.Settings() {
		r.Notes = append(r.Notes, "this machine: "+text)
	}
	r.Warnings = append(r.Warnings, rec.before.During(after)...)
	switch jump := rec.before.ClockJump(after); {
	case jump > 0:
		r.Limitations = append(r.Limitations, limitation.Limitation{ID: limitation.TimeLost, Value: jump.String()})
	case jump < 0:
		r.Limitations = append(r.Limitations, limitation.Limitation{ID: limitation.ClockSetBack, Value: (-jump).String()})
	}
	if rec.plugged || rec.onExternalPower() {
		r.Limitations = append(r.Limitations, limitation.Limitation{ID: limitation.ExternalPower})
	}
}

// onExternalPower reports whether this machine has external power, where the request wants it to have none.
func (rec *recorder) onExternalPower() bool {
	if !rec.Request.Unplugged {
		return false
	}
	s := machine.PowerSupply()
	return s != nil && s.External
}

// lowest is the record of several runs, of which last is the last: that of the run with the lowest result, from whose folder the
// charts are.
func (rec *recorder) lowest(last *harness.Test) (all *report.Results, charted string) {
	lowest := rec.several[0]
	var outcomes []report.RunOutcome
	files := map[string]string{}
	for _, run := range rec.several {
		folder := filepath.Base(run.dir)
		for name, sum := range run.results.Files {
			files[folder+"/"+name] = sum
		}
		outcomes = append(outcomes, report.RunOutcome{Folder: folder, Result: run.results.Result, Metric: run.results.Metric})
		if lower(run.results, lowest.results) {
			lowest = run
		}
	}
	if sum := lowest.results.Files[charts.FileName]; sum != "" {
		files[charts.FileName] = sum
	}
	r := *lowest.results
	r.Runs, r.Phases, r.Files = outcomes, last.Phases, files
	if n := len(outcomes); n < rec.config.Runs && r.Result == report.Valid {
		r.Result = report.Invalid
		r.Problems = append(r.Problems, fmt.Sprintf("only %d of %d runs were made", n, rec.config.Runs))
	}
	return &r, lowest.dir
}

// lower reports whether a is worse than b: not valid, or slower.
func lower(a, b *report.Results) bool {
	if a.Valid() != b.Valid() {
		return b.Valid()
	}
	return a.Metric != nil && b.Metric != nil && a.Metric.Value < b.Metric.Value
}

// write writes the record of a test, and then what it can do without: the charts and the trace.
func (rec *recorder) write(r *report.Results, t *harness.Test) error {
	if err := writeRecord(r, t.Dir); err != nil {
		return err
	}
	var err error
	if t.Charts != nil {
		err = t.Charts.Write(t.Dir)
	}
	if rec.Request.Trace && t.Logged != nil {
		err = errors.Join(err, mlperflog.WriteTraceFile(t.Dir, t.Logged, mlperflog.ThisProgram(rec.Request.Program)))
	}
	return err
}

// writeRecord writes a record. If that fails, or if a file that it names is not there, it is INVALID.
func writeRecord(r *report.Results, dir string) error {
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		if report.IsPicture(name) { // which is written after the record
			continue
		}
		_, err := fileio.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		r.Incomplete("a file of the run is not there at its end", err)
	}
	err := r.Write(dir)
	r.Incomplete("the results were not written", err)
	return err
}

// copyCharts copies the charts of one folder to another, if there are any.
func copyCharts(from, to string) error {
	data, err := fileio.ReadFile(filepath.Join(from, charts.FileName), charts.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = fileio.WriteFileIn(to, charts.FileName, data)
	}
	if err != nil {
		return fmt.Errorf("copying the charts: %w", err)
	}
	return nil
}

// writeArtifacts also writes a test as mlcommons/endpoints does, if the request asks for it.
func (rec *recorder) writeArtifacts(r *report.Results, t *harness.Test) error {
	if dir := rec.Request.Prompts.Artifacts; dir != "" {
		return endpoints.Write(dir, rec.endpointRun(r, t))
	}
	return nil
}

// endpointRun is a test as mlcommons/endpoints describes it.
func (rec *recorder) endpointRun(r *report.Results, t *harness.Test) endpoints.Run {
	q, videos := &rec.Request, r.Generation != nil && r.Generation.Videos > 0
	return endpoints.Run{
		Program: q.Program, Benchmark: rec.benchmark(), Model: r.ServedModel(), Data: rec.config.DatasetDir, Endpoints: q.Engine.Remote.Endpoints,
		Streams: rec.streams() && !videos, Test: t.Traffic, Results: r, Prompt: t.Prompt, Order: t.Order,
	}
}

// benchmark is the round's name of the model; empty: the round does not have it.
func (r *Resolved) benchmark() string {
	round, err := rounds.Find(r.Rules.Version)
	if err != nil {
		return ""
	}
	return round.Benchmark(append([]string{r.model.Name}, r.model.Rules.Listed()...)...)
}

// addSummary writes the summary of a test of performance of a benchmark that the round also takes without LoadGen's logs, and adds the
// files to those of the run: a submission needs figures of single requests, which the record does not have.
func (rec *recorder) addSummary(r *report.Results, t *harness.Test) error {
	if rec.Request.Engine.Name != engine.OpenAI || t.Traffic.Performance == nil || r.Files == nil {
		return nil
	}
	if m, ok := rounds.ModelOf(rec.Rules.Version, rec.benchmark()); !ok || !m.Endpoints {
		return nil
	}
	folder := filepath.Join(t.Dir, endpoints.Folder)
	names, err := endpoints.WriteSummary(folder, rec.endpointRun(r, t))
	for _, name := range names {
		sum, _, errSum := fileio.SHA256(context.Background(), filepath.Join(folder, filepath.FromSlash(name)))
		err = errors.Join(err, errSum)
		r.Files[endpoints.Folder+"/"+name] = sum
	}
	return err
}
