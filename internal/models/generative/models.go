package generative

import "github.com/mlperf-go/mlperf/internal/workload"

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
