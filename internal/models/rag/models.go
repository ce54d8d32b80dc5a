package rag

import "github.com/mlperf-go/mlperf/internal/models/workload"

// Models returns the benchmarks of the family that run here, in the order in which they are shown. To add one, add a file and a row.
func Models() []workload.Model { return []workload.Model{e2eRAGDB()} }

// RemoteModels returns the benchmarks whose language models only servers of text run.
func RemoteModels() []workload.Model { return []workload.Model{qna()} }
