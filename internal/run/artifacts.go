package run

import (
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/endpoints"
)

// artifacts writes the files of mlcommons/endpoints, if the request names a folder.
func (p *Prepared) artifacts() func(*loadgen.Result, *report.Results, func(int) *backend.Prompt) error {
	q := &p.Request
	if q.Prompts.Artifacts == "" {
		return nil
	}
	return func(test *loadgen.Result, results *report.Results, prompt func(int) *backend.Prompt) error {
		return endpoints.Write(q.Prompts.Artifacts, endpoints.Run{
			Program: q.Program, Model: results.Backend.Facts["endpoint_model"], Data: p.bench.DatasetDir, Endpoints: q.Engine.Remote.Endpoints,
			Streams: q.streams(test.Effective.Scenario), Test: test, Results: results, Prompt: prompt,
		})
	}
}
