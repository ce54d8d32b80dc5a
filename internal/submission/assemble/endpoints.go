package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/endpoints"
)

// Results of some benchmarks may have the files of mlcommons/endpoints in place of LoadGen's logs (v6.1, submission_checker/parsers/
// endpoints_parser.py): config.yaml, performance/result_summary.json, accuracy/accuracy_results.json and audit/.

// chooseFiles decides which files a result has.
func (b *builder) chooseFiles(r *result) error {
	path := endpoints.PathOf(r.performance.folder, endpoints.SummaryFile)
	switch {
	case b.Logs == LoadGen, r.performance.results == nil, r.accuracy.results == nil, r.accuracy.results.Accuracy == nil:
		return nil
	case !b.round.Model(r.benchmark).Endpoints || b.round.EndpointsMetric == nil:
		return nil
	}
	summary, err := endpoints.ReadSummary(path)
	if errors.Is(err, fs.ErrNotExist) && b.Logs == "" {
		return nil // another version of the program made the run
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.name(), err)
	}
	r.summary = summary
	return nil
}

// endpointValue is the result as the official checker reports it, and its unit: of Offline samples/s also where tokens count.
func (r *result) endpointValue(unit string) (float64, string) {
	s := r.summary
	rate := func(v *float64) float64 {
		if v == nil {
			return 0
		}
		return *v
	}
	switch {
	case r.scenario == "SingleStream" && s.Latency.Spread != nil && unit == "Latency (s)":
		return s.Latency.Avg / 1e9, unit
	case r.scenario == "SingleStream" && s.Latency.Spread != nil:
		return s.Latency.Avg / 1e6, unit
	case r.scenario == "Offline" && s.Duration != nil && *s.Duration > 0:
		return float64(s.Issued) / time.Duration(*s.Duration).Seconds(), "Samples/s"
	case unit == "Tokens/s":
		return rate(s.TPS), unit
	}
	return rate(s.QPS), unit
}

// placeEndpoints copies the files of a result that has no logs of LoadGen.
func (b *builder) placeEndpoints(ctx context.Context, r *result, to string) error {
	var scores bytes.Buffer
	var replay *report.Replay
	if g := r.performance.results.Generation; g != nil {
		replay = g.Replay
	}
	errs := []error{
		b.copy(ctx, endpoints.PathOf(r.performance.folder, endpoints.ConfigFile), to+"/"+endpoints.ConfigFile),
		b.copy(ctx, endpoints.PathOf(r.performance.folder, endpoints.SummaryFile), to+"/"+endpoints.SummaryFile),
		endpoints.WriteScores(&scores, r.benchmark, r.accuracy.results, replay, nil),
		b.write(to+"/"+endpoints.ScoresFile, scores.Bytes()),
	}
	if replay != nil {
		errs = append(errs, b.copy(ctx, filepath.Join(r.performance.folder, report.ReplayFile), to+"/"+report.ReplayFile))
	}
	return errors.Join(errs...)
}

// copyAudit copies the files of the audit of caching: the outcome, and the configuration and the summary of both phases.
func (b *builder) copyAudit(ctx context.Context, test *run, to string) error {
	found, err := fileio.Files(ctx, test.folder)
	for _, f := range found {
		err = errors.Join(err, b.copy(ctx, filepath.Join(test.folder, filepath.FromSlash(f.Name)), to+"/"+f.Name))
	}
	return err
}
