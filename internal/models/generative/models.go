package generative

import "github.com/mlperf-go/mlperf/internal/models/workload"

// Models returns the benchmarks of the family, in the order in which they are shown. To
// add one, add a file and a row.
func Models() []workload.Model {
	return []workload.Model{
		llama8B(),
		llama8BEdge(),
		llama70B(),
		llama70BHighAccuracy(),
		mixtral(),
		gptJ(),
		gptJHighAccuracy(),
	}
}

// RemoteModels returns the benchmarks that only servers of text can answer: their models are too large for a run here.
func RemoteModels() []workload.Model {
	return []workload.Model{llama405B(), deepSeekR1(), gptOSS(), qwen3VL(), qwen36()}
}
