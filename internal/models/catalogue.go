package models

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/models/diffusion"
	"github.com/mlperf-go/mlperf/internal/models/generative"
	"github.com/mlperf-go/mlperf/internal/models/recsys"
	"github.com/mlperf-go/mlperf/internal/models/speech"
	"github.com/mlperf-go/mlperf/internal/models/text"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// All returns the catalogue, in the order in which it is shown. To add a family, add a row.
func All() []workload.Model {
	return slices.Concat(
		vision.Models(),
		text.Models(),
		speech.Models(),
		recsys.Models(),
		generative.Models(),
		diffusion.Models(),
	)
}

// RemoteModels are the benchmarks that only servers of text can answer.
func RemoteModels() []workload.Model { return generative.RemoteModels() }
