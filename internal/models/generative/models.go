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

// Asked returns the benchmarks that are too large to be run here, so that servers of text are asked.
// Models of the family that can be run here can be asked for, too.
func Asked() []workload.Model {
	return []workload.Model{llama405B(), deepSeekR1(), gptOSS()}
}
