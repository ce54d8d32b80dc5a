package recsys

import (
	"fmt"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// Models returns the benchmarks of the family, in the order in which they are shown. To
// add one, add a file and a row.
func Models() []workload.Model { return []workload.Model{dlrm(), dlrmHighAccuracy()} }

// dlrm is DLRM on the Criteo Terabyte data (rules v0.7 to v3.0).
func dlrm() workload.Model {
	return workload.Model{
		Name:    "dlrm",
		Title:   "DLRM, Criteo Terabyte",
		Task:    "recommendation: the chance of a click, Criteo Terabyte, 100 to 700 pairs a sample",
		Dataset: "criteo",
		BuiltIn: workload.Recipe{Parts: []workload.Part{{Role: workload.Only, Architecture: "dlrm", Rows: 40_000}}, Samples: 100},
		Source:  "https://dlrm.s3-us-west-1.amazonaws.com/models/tb00_40M.onnx.tar",

		Rules: config.Model{
			Name:      "dlrm",
			Aliases:   []string{"dlrm-99", "dlrm-99.9"},
			Scenarios: []loadgen.Scenario{loadgen.Server, loadgen.Offline},
			Minima: []config.RoundMinima{
				{First: "v0.7", Last: "v3.0", Minima: config.Minima{PerformanceSamples: 204800, OfflineSamples: 24576, ServerLatency: 30 * time.Millisecond}},
			},
			// 270 pairs on average, of 13 numbers and 26 categories of the same size.
			Sample: &config.SampleSize{InValues: 270 * (dataset.CriteoNumbers + dataset.CriteoCategories)},
		},
		PerformanceSampleCount: 204800,
		// tools/submission, constants.py: AUC 80.25 × 0.99.
		Quality: workload.Quality{Metric: "AUC", Reference: 80.25, Fraction: 0.99},
		Open:    openClicks,
		Score:   scoreClicks,

		ScoreOptions: []workload.Option{
			{Name: dtypeOption, Aliases: []string{"output_dtype"}, Choices: []string{"float32", "int32", "int64"}, Help: "type of the numbers in the log (default: the official script's)"},
			{Name: verboseOption, Kind: workload.Switch, Help: "also print every wrong sample, where the official script can"},
			{Name: predictionsOption, Kind: workload.Switch, Help: "the log has predictions only, and the labels are those of the data set"},
		},
	}
}

// dlrmHighAccuracy is the same benchmark with a stricter target.
func dlrmHighAccuracy() workload.Model {
	m := dlrm()
	m.Name = "dlrm-99.9"
	m.Title += ", 99.9 % of the accuracy"
	m.Quality.Fraction = 0.999
	return m
}

// The options of the family.
const (
	dtypeOption       = "dtype"
	verboseOption     = "verbose"
	predictionsOption = "predictions-only"
)

// openClicks joins Criteo with a model file.
func openClicks(s workload.Setup) (workload.Workload, error) {
	data, err := dataset.OpenCriteo(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if s.Count > data.Len() {
		return nil, fmt.Errorf("opening Criteo: %d samples are wanted, %s has %d", s.Count, s.DatasetDir, data.Len())
	}
	if s.Count > 0 {
		data.Runs = data.Runs[:s.Count]
	}
	ports := s.Ports[workload.Only]
	w := &clicks{data: data}
	if w.inputs, err = bindPairs(ports.Inputs); err != nil {
		return nil, err
	}
	w.output, err = bindChance(ports.Outputs)
	return w, err
}

// clicks is DLRM joined with its pairs.
type clicks struct {
	data   *dataset.Criteo
	inputs []pairInput
	output string
}

// Len implements workload.Workload.
func (w *clicks) Len() int { return w.data.Len() }

// Row implements workload.Workload: numbers, categories and labels of the pairs.
func (w *clicks) Row(index int) []workload.Slot {
	n := int64(w.data.Runs[index].Count)
	return []workload.Slot{
		{Type: tensor.Float32, Shape: tensor.Shape{n, dataset.CriteoNumbers}},
		{Type: tensor.Int64, Shape: tensor.Shape{n, dataset.CriteoCategories}},
		{Type: tensor.Float32, Shape: tensor.Shape{n}},
	}
}

// CacheKey implements workload.Workload. Rows are as quickly read as those of a cache.
func (w *clicks) CacheKey() string { return "" }

// Prepare implements workload.Workload.
func (w *clicks) Prepare(index int, row []tensor.Tensor) error {
	return w.data.Read(index, dataset.Click{
		Numbers: tensor.Data[float32](row[0]), Categories: tensor.Data[int64](row[1]), Labels: tensor.Data[float32](row[2]),
	})
}

// Outputs implements workload.Workload.
func (w *clicks) Outputs(string) []string { return []string{w.output} }

// Batch implements workload.Workload.
func (w *clicks) Batch() int { return -1 }

// NewPredictor implements workload.Workload.
func (w *clicks) NewPredictor(sessions workload.Sessions, _ int) (workload.Predictor, error) {
	return &clicker{w: w, session: sessions[workload.Only]}, nil
}

// Notes implements workload.Workload.
func (w *clicks) Notes() []string {
	pairs := 0
	for _, r := range w.data.Runs {
		pairs += r.Count
	}
	return []string{fmt.Sprintf("%d samples are runs of %d pairs; a prediction is read from output %s", w.Len(), pairs, w.output)}
}

// scoreClicks scores a log of predictions as accuracy-dlrm.py does.
func scoreClicks(log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	o := accuracy.ClickOptions{DType: accuracy.DType(strings.ToLower(s.Options[dtypeOption]))}
	var err error
	if o.Verbose, err = s.Options.On(verboseOption); err != nil {
		return nil, err
	}
	bare, err := s.Options.On(predictionsOption)
	if err != nil {
		return nil, err
	}
	data, err := dataset.OpenCriteo(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if o.Samples = data.Len(); bare {
		o.Truth = data
	}
	score, err := accuracy.ScoreClicks(log, o)
	if err != nil {
		return nil, err
	}
	return &score.Score, nil
}
