package graph

import (
	"context"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/igbh"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A graphWorkload is R-GAT with its data set.
type graphWorkload struct {
	data    *igbh.Data
	graph   igbh.Graph
	seed    uint64
	fanOuts []int
	inputs  []input
	classes int // of the model's output; not above 0: only runs tell
}

func open(s workload.Setup) (*workload.Workload, error) {
	w := &graphWorkload{fanOuts: fanOuts()}
	seed, err := s.Options.Integer(seedOption)
	if err != nil {
		return nil, err
	}
	if seed != nil {
		w.seed = uint64(*seed)
	}
	if w.data, err = igbh.Open(s.DatasetDir, s.Options[sizeOption]); err != nil {
		return nil, err
	}
	if s.Count > len(w.data.Papers) {
		return nil, fmt.Errorf("opening IGBH: expected %d samples, %s has %d", s.Count, s.DatasetDir, len(w.data.Papers))
	}
	if s.Count > 0 {
		w.data.Papers = w.data.Papers[:s.Count]
	}
	var output backend.Port
	if w.inputs, output, err = bind(s.Ports[workload.Only], len(w.fanOuts), w.data.Width()); err != nil {
		return nil, err
	}
	if w.graph, err = w.data.Graph(); err != nil {
		return nil, err
	}
	w.classes = int(output.Shape[1])
	return w.workload(output.Name), nil
}

func (w *graphWorkload) workload(output string) *workload.Workload {
	node := workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{1}}
	made := &workload.Workload{
		Samples: len(w.data.Papers),
		Row:     func(int) []workload.Slot { return []workload.Slot{node} },
		Prepare: func(index int, row []tensor.Tensor) error {
			tensor.Data[int64](row[0])[0] = w.data.Papers[index]
			return nil
		},
		NewPredictor: func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
			return w.predictor(sessions[workload.Only])
		},
		Outputs:      func(string) []string { return []string{output} },
		ScoreOptions: workload.Values{dtypeOption: string(accuracy.Int64)},
		Notes: []string{fmt.Sprintf("%d papers are samples; of each relation %s edges into a node are drawn, hop by hop, by seed %d",
			len(w.data.Papers), strings.Trim(strings.ReplaceAll(fmt.Sprint(w.fanOuts), " ", ", "), "[]"), w.seed)},
		Exchange: &workload.Exchange{
			Inputs:   []workload.Input{{Name: "node", Slot: node}},
			Complete: func([]tensor.Shape) ([]workload.Slot, error) { return []workload.Slot{node}, nil },
			Check: func(row []tensor.Tensor) error {
				if paper, papers := tensor.Data[int64](row[0])[0], w.data.Nodes(igbh.Paper); paper < 0 || paper >= papers {
					return fmt.Errorf("node: paper %d, there are %d", paper, papers)
				}
				return nil
			},
		},
	}
	if w.data.Drawn {
		made.Notes = append(made.Notes, igbh.ValidationFile+" is missing: the samples are drawn as split_seeds.py draws them")
	}
	return made
}

func (w *graphWorkload) predictor(session backend.Session) (workload.Predictor, error) {
	reader, err := w.data.Reader()
	if err != nil {
		return nil, err
	}
	return &predictor{w: w, session: session, reader: reader, sampler: newSampler(w.graph, w.seed, w.fanOuts),
		tables: make([][]int64, len(w.inputs))}, nil
}

// score scores a log of classes as accuracy_igbh.py does.
func score(_ context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	for _, name := range []string{memmapOption, verboseOption} { // which change nothing that is printed
		if _, err := s.Options.On(name); err != nil {
			return nil, err
		}
	}
	truth, err := igbh.OpenTruth(s.DatasetDir, s.Options[sizeOption])
	if err != nil {
		return nil, err
	}
	classes, err := truth.Labels()
	if err != nil {
		return nil, err
	}
	return accuracy.ScoreNodes(log, classes, accuracy.NodeOptions{DType: accuracy.DType(s.Options[dtypeOption])})
}
