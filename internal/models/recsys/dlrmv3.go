package recsys

import (
	"context"
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// dlrmV3 is DLRMv3 on streaming synthetic data (rules since v6.0).
func dlrmV3() workload.Model {
	return workload.Model{
		Name:    "dlrm-v3",
		Title:   "DLRMv3, streaming synthetic data",
		Task:    "recommendation: the chance that a user likes each of 2048 candidates, after about 6,500 items that the user saw before",
		Dataset: requestSet,
		BuiltIn: workload.Recipe{Parts: []workload.Part{{
			Role: workload.Only, Network: arch.DLRMv3(), Rows: 25_000, Beside: true,
			Extents: map[string]int64{"history": usualHistory, "candidates": usualCandidates, "sequence": usualHistory + usualCandidates},
		}}, Samples: 100},
		Source: "https://inference.mlcommons-storage.org/metadata/dlrm-v3-checkpoint.uri (a checkpoint of PyTorch, 1 TB)",
		Notes: []string{"a request of the official data, with about 6,500 items before and 2,048 candidates, takes 922 GFLOP with the " +
			"reference's whole attention, " +
			"and 742 GFLOP in the built-in network, which leaves out the pairs of candidates that are masked; built-in requests take 5.9 GFLOP",
			"samples follow each other by time stamp, in the random order of the reference, whichever LoadGen draws; all of them are in memory"},
		Papers: []string{"Zhai et al., Actions Speak Louder than Words: Trillion-Parameter Sequential Transducers for Generative " +
			"Recommendations, ICML 2024, arXiv:2402.17152"},

		Rules: config.Model{
			Name:    "dlrm-v3",
			Aliases: []string{"dlrmv3"},
			Sample:  &config.SampleSize{InBytes: (2 + 6*1 + 6*2048) * 8}, // as printed: 98368
		},
		PerformanceSampleCount: officialRequests,
		Quality:                workload.Quality{Metric: accuracy.NormalizedEntropy, Fraction: 0.999, LowerIsBetter: true},
		Attends:                true,
		Open:                   openRequests,
		Score:                  scoreRequests,
		ScoresLogAlone:         true,

		Options:      []workload.Option{requestShare()},
		ScoreOptions: []workload.Option{requestShare()},
	}
}

const (
	requestSet       = "streaming-100b"
	officialRequests = 349823
	shareOption      = "dataset-percentage"
	// What a request of the official data has on average (streaming_synthetic_data.py: 100 items at 65 time stamps), and its candidates.
	usualHistory, usualCandidates = 6500, 2048
)

func requestShare() workload.Option {
	return workload.Option{Name: shareOption,
		Help: "share of the requests of each time stamp, as a fraction, as the reference counts it (default: all in the files)"}
}

// share is the value of the option; 0: all requests in the files.
func share(options workload.Values) (float64, error) {
	text, given := options[shareOption]
	if !given {
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v <= 1) {
		return 0, userinput.Errorf(shareOption, "%q must be a fraction above 0, at most 1", text)
	}
	return v, nil
}

// A requestWorkload is DLRMv3 with its data set.
type requestWorkload struct {
	data     *dataset.Requests
	inputs   []requestInput
	labelled bool // responses are those of accuracy mode
}

func openRequests(s workload.Setup) (*workload.Workload, error) {
	part, err := share(s.Options)
	if err != nil {
		return nil, err
	}
	w := &requestWorkload{labelled: s.Scored}
	var output string
	if w.inputs, output, err = bindRequest(s.Ports[workload.Only]); err != nil {
		return nil, err
	}
	if w.data, err = dataset.OpenRequests(s.DatasetDir, dataset.OfficialRequests(), part, s.Count); err != nil {
		return nil, err
	}
	return w.workload(output), nil
}

func (w *requestWorkload) workload(output string) *workload.Workload {
	history, candidates := 0, 0
	for _, r := range w.data.List {
		history, candidates = history+r.History, candidates+r.Candidates
	}
	n := len(w.data.List)
	return &workload.Workload{
		Samples: n,
		Row: func(index int) []workload.Slot {
			return requestRow(w.data.List[index].History, w.data.List[index].Candidates)
		},
		Prepare: w.prepare,
		Order:   w.data.At,
		NewPredictor: func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
			return &requestPredictor{w: w, session: sessions[workload.Only]}, nil
		},
		Outputs: func(string) []string { return []string{output} },
		Batch:   1, // a prediction depends on the longest request of its batch
		Notes: []string{fmt.Sprintf(
			"%d requests of %d time stamps, in their order, with %d items before and %d candidates on average; a prediction is read from output %s",
			n, len(w.data.Counts), history/n, candidates/n, output)},
		Exchange: &workload.Exchange{
			Inputs: []workload.Input{ // labels are not sent
				{Name: "items", Slot: workload.Slot{Type: tensor.Int32, Shape: tensor.Shape{-1}}},
				{Name: "categories", Slot: workload.Slot{Type: tensor.Uint8, Shape: tensor.Shape{-1}}},
				{Name: "actions", Slot: workload.Slot{Type: tensor.Uint8, Shape: tensor.Shape{-1}}},
				{Name: "user", Slot: workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{1}}},
			},
			Complete: completeRequest, Check: checkRequest, Stamp: w.stamp,
		},
	}
}

// The tensors of a request.
const (
	rowItems      = iota // of the history, and of the candidates
	rowCategories        // of these
	rowActions           // of the history
	rowUser
	rowLabels // of the candidates
)

func requestRow(history, candidates int) []workload.Slot {
	h, c := int64(history), int64(candidates)
	return []workload.Slot{
		{Type: tensor.Int32, Shape: tensor.Shape{h + c}}, {Type: tensor.Uint8, Shape: tensor.Shape{h + c}}, {Type: tensor.Uint8, Shape: tensor.Shape{h}},
		{Type: tensor.Int64, Shape: tensor.Shape{1}}, {Type: tensor.Uint8, Shape: tensor.Shape{c}},
	}
}

func (w *requestWorkload) prepare(index int, row []tensor.Tensor) error {
	tensor.Data[int64](row[rowUser])[0] = w.data.List[index].User
	return w.data.Read(index, dataset.RequestRow{
		Items: tensor.Data[int32](row[rowItems]), Categories: tensor.Data[uint8](row[rowCategories]),
		Actions: tensor.Data[uint8](row[rowActions]), Labels: tensor.Data[uint8](row[rowLabels]),
	})
}

// completeRequest returns the row of a request that was sent.
func completeRequest(sent []tensor.Shape) ([]workload.Slot, error) {
	layout := dataset.OfficialRequests()
	items, categories, history := sent[rowItems][0], sent[rowCategories][0], sent[rowActions][0]
	if items != categories || history < 0 || history > int64(layout.History) || items <= history || items-history > int64(layout.Candidates) {
		return nil, fmt.Errorf(
			"%d items, %d categories and %d actions: there must be as many categories as items, at most %d actions, and 1 to %d items more than actions",
			items, categories, history, layout.History, layout.Candidates)
	}
	return requestRow(int(history), int(items-history)), nil
}

// checkRequest checks the values of a row.
func checkRequest(row []tensor.Tensor) error {
	for i, v := range tensor.Data[int32](row[rowItems]) {
		if v < 0 || v > dataset.RequestItems {
			return fmt.Errorf("items: value %d is %d, which must be from 0 to %d", i, v, dataset.RequestItems)
		}
	}
	for i, v := range tensor.Data[uint8](row[rowCategories]) {
		if v >= dataset.RequestCategories {
			return fmt.Errorf("categories: value %d is %d, which must be below %d", i, v, dataset.RequestCategories)
		}
	}
	if user := tensor.Data[int64](row[rowUser])[0]; user < 0 {
		return fmt.Errorf("user: %d is below 0", user)
	}
	return nil
}

// recommendation is the answer to a request: with labels and weights, which are all 1, in accuracy mode.
func (w *requestWorkload) recommendation(index int, predictions []float32, labels []uint8) accuracy.Recommendation {
	r := accuracy.Recommendation{Predictions: predictions}
	if index < len(w.data.List) {
		r.Time, r.Query = w.data.List[index].Time, w.data.List[index].Query
	}
	if w.labelled {
		for _, v := range labels {
			r.Labels, r.Weights = append(r.Labels, float32(v)), append(r.Weights, 1)
		}
	}
	return r
}

// stamp writes what only the data set knows: which request it is, and the labels.
func (w *requestWorkload) stamp(response []byte, index int, row []tensor.Tensor) {
	labels := tensor.Data[uint8](row[rowLabels])
	r, err := accuracy.ParseRecommendation(response, w.labelled)
	if err == nil && (!w.labelled || len(labels) == len(r.Predictions)) { // else the response says of itself what is wrong with it
		copy(response, w.recommendation(index, r.Predictions, labels).Append(nil))
	}
}

// scoreRequests scores a log of recommendations as accuracy.py does.
func scoreRequests(_ context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	part, err := share(s.Options)
	if err != nil {
		return nil, err
	}
	samples := officialRequests
	if s.DatasetDir != "" {
		if samples, err = dataset.CountRequests(s.DatasetDir, dataset.OfficialRequests(), part); err != nil {
			return nil, err
		}
	}
	score, err := accuracy.ScoreRequests(log, samples)
	if err == nil && s.DatasetDir == "" {
		score.Warnings = append(score.Warnings, labelsOfTheLog)
	}
	return score, err
}
