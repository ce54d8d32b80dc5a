package recsys

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A pairSet are user-item pairs of a folder.
type pairSet interface {
	accuracy.ClickTruth
	Read(sample int, c dataset.Click) error
}

// openCriteo opens the pairs of DLRM: each table has one category of a pair.
func openCriteo(dir string) (*clickWorkload, error) {
	data, err := dataset.OpenCriteo(dir)
	if err != nil {
		return nil, err
	}
	return newClickWorkload(data, data.Runs, slices.Repeat([]int{1}, dataset.CriteoCategories)), nil
}

// openMultiHot opens those of DLRM-v2.
func openMultiHot(dir string) (*clickWorkload, error) {
	data, err := dataset.OpenMultiHot(dir)
	if err != nil {
		return nil, err
	}
	return newClickWorkload(data, data.Runs, data.Hot), nil
}

// opening returns the Open of a benchmark.
func opening(open func(dir string) (*clickWorkload, error)) func(workload.Setup) (*workload.Workload, error) {
	return func(s workload.Setup) (*workload.Workload, error) {
		w, err := open(s.DatasetDir)
		if err != nil {
			return nil, err
		}
		if s.Count > len(w.runs) {
			return nil, fmt.Errorf("opening Criteo: expected %d samples, %s has %d", s.Count, s.DatasetDir, len(w.runs))
		}
		if s.Count > 0 {
			w.runs = w.runs[:s.Count]
		}
		ports := s.Ports[workload.Only]
		if w.inputs, err = bindPairs(ports.Inputs, w.hot); err != nil {
			return nil, err
		}
		if w.output, err = bindPrediction(ports.Outputs); err != nil {
			return nil, err
		}
		return w.workload(), nil
	}
}

func (w *clickWorkload) workload() *workload.Workload {
	pairs := 0
	for _, r := range w.runs {
		pairs += r.Count
	}
	return &workload.Workload{
		Samples: len(w.runs), Row: func(index int) []workload.Slot { return w.row(int64(w.runs[index].Count)) }, Prepare: w.prepare,
		NewPredictor: func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
			return &predictor{w: w, session: sessions[workload.Only]}, nil
		},
		Outputs: func(string) []string { return []string{w.output} },
		Notes:   []string{fmt.Sprintf("%d samples are runs of %d pairs; a prediction is read from output %s", len(w.runs), pairs, w.output)},
		Exchange: &workload.Exchange{
			Inputs: []workload.Input{ // labels are not sent
				{Name: "numbers", Slot: workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{-1, dataset.CriteoNumbers}}},
				{Name: "categories", Slot: workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{-1}}},
			},
			Complete: w.complete, Check: checkPairs, Stamp: stampLabels,
		},
	}
}

// A clickWorkload is DLRM with its data set.
type clickWorkload struct {
	data   pairSet
	runs   []dataset.Run
	hot    []int // categories of each table
	starts []int // categories of the tables before each, and at the end of all
	inputs []pairInput
	output string
}

func newClickWorkload(data pairSet, runs []dataset.Run, hot []int) *clickWorkload {
	w := &clickWorkload{data: data, runs: runs, hot: hot, starts: make([]int, len(hot)+1)}
	for i, n := range hot {
		w.starts[i+1] = w.starts[i] + n
	}
	return w
}

// row has the numbers, the categories, table by table, and the labels of n pairs.
func (w *clickWorkload) row(n int64) []workload.Slot {
	return []workload.Slot{
		{Type: tensor.Float32, Shape: tensor.Shape{n, dataset.CriteoNumbers}},
		{Type: tensor.Int64, Shape: tensor.Shape{n * int64(w.starts[len(w.hot)])}},
		{Type: tensor.Float32, Shape: tensor.Shape{n}},
	}
}

// stampLabels writes the label of each pair beside its prediction.
func stampLabels(response []byte, _ int, row []tensor.Tensor) {
	for i, label := range tensor.Data[float32](row[2]) {
		if pair := 8 * i; pair+8 <= len(response) {
			binary.LittleEndian.PutUint32(response[pair+4:], math.Float32bits(label))
		}
	}
}

// maxPairs bounds the pairs of a sample from another LoadGen; samples of the data set have up to 700.
const maxPairs = 1 << 16

func (w *clickWorkload) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	n, each := sent[0][0], int64(w.starts[len(w.hot)])
	if n < 1 || n > maxPairs || sent[1][0] != n*each {
		return nil, fmt.Errorf("%d pairs with %d categories, expected 1 to %d pairs with %d each", n, sent[1][0], maxPairs, each)
	}
	return w.row(n), nil
}

// checkPairs checks the values of a row. Only the model knows how many categories a table has.
func checkPairs(row []tensor.Tensor) error {
	for i, v := range tensor.Data[float32](row[0]) {
		if v-v != 0 {
			return fmt.Errorf("numbers: value %d is %v", i, v)
		}
	}
	for i, c := range tensor.Data[int64](row[1]) {
		if c < 0 {
			return fmt.Errorf("categories: value %d is %d: must be 0 or more", i, c)
		}
	}
	return nil
}

func (w *clickWorkload) prepare(index int, row []tensor.Tensor) error {
	return w.data.Read(index, dataset.Click{
		Numbers: tensor.Data[float32](row[0]), Categories: tensor.Data[int64](row[1]), Labels: tensor.Data[float32](row[2]),
	})
}

// labelsOfTheLog is what a score without a data set is warned of.
const labelsOfTheLog = "the labels are those that the log itself has: no data set confirms them"

// scoring returns what scores a log of predictions as accuracy-dlrm.py does.
func scoring(open func(dir string) (*clickWorkload, error)) func(context.Context, accuracy.Input, workload.Scoring) (*accuracy.Score, error) {
	return func(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
		o := accuracy.ClickOptions{DType: accuracy.DType(strings.ToLower(s.Options[dtypeOption]))}
		var err error
		if o.Verbose, err = s.Options.On(verboseOption); err != nil {
			return nil, err
		}
		bare, err := s.Options.On(predictionsOption)
		if err != nil {
			return nil, err
		}
		day, trace := s.Options[dayOption], s.Options[traceOption]
		switch {
		case day != "" && trace != "":
			labels, err := dataset.ReadClicks(day, trace)
			if err != nil {
				return nil, err
			}
			o.Truth = labels
			return accuracy.ScoreClicks(log, len(labels), o)
		case day != "":
			return nil, userinput.Errorf(traceOption, "missing: it says which lines of %s are a sample", day)
		case trace != "":
			return nil, userinput.Errorf(dayOption, "missing: %s says which of its lines are a sample", trace)
		case s.DatasetDir == "" && bare:
			return nil, userinput.Errorf(predictionsOption, "the labels are missing: give a data set, or %s and %s", dayOption, traceOption)
		case s.DatasetDir == "":
			score, err := accuracy.ScoreClicks(log, officialSamples, o)
			if err == nil {
				score.Warnings = append(score.Warnings, labelsOfTheLog)
			}
			return score, err
		}
		w, err := open(s.DatasetDir)
		if err != nil {
			return nil, err
		}
		if bare {
			o.Truth = w.data
		}
		return accuracy.ScoreClicks(log, len(w.runs), o)
	}
}
