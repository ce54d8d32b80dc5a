package run

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/prompts"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// unnamed is the name of a model that only its server knows.
const unnamed = "endpoint"

// freeModel is the benchmark of prompts that belong to none.
func (q *Request) freeModel() workload.Model {
	name := prompts.NameOf(q.Engine.Remote.Model)
	if name == "" {
		name = unnamed
	}
	p := q.Prompts
	return prompts.Model(prompts.Config{Name: name, Synthetic: p.Synthetic, Words: p.Words, Answer: p.Answer, Exact: q.exact()})
}

// originFree is the origin of settings for prompts that belong to no benchmark.
const originFree = "prompts without a benchmark"

// Bounds of tokens where nobody gave any: those of llama2-70b, Server and Interactive
// (mlperf.conf since v4.1 and v5.0).
var freeBounds = map[bool][2]string{
	false: {"2000ms", "200ms"},
	true:  {"450ms", "40ms"},
}

// freeSettings are the settings for prompts that belong to no benchmark, under those of the user.
func (q *Request) freeSettings(s loadgen.Scenario, interactive bool) []config.Override {
	set := func(key, value string) config.Override {
		return config.Override{Key: key, Value: value, Origin: originFree}
	}
	if !q.streams(s) && s != loadgen.Offline {
		return nil
	}
	list := []config.Override{set("use_token_latencies", "true"), set("sample_concatenate_permutation", "true")}
	if s == loadgen.Server {
		// As many as the 99th percentile needs; the rules' number is that of images.
		list = append(list, set("ttft_latency", freeBounds[interactive][0]), set("tpot_latency", freeBounds[interactive][1]),
			set("min_query_count", fmt.Sprint(loadgen.NeededQueries(1, 0.99))))
	}
	return list
}
