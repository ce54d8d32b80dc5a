package recsys

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A requestInput is an input of a model for requests.
type requestInput int

const (
	itemIDs       requestInput = iota // int64[sequence]: the history, the oldest first, and the candidates
	categoryIDs                       // int64[sequence]
	userID                            // int64[1]
	actionWeights                     // int64[history]
	longest                           // int64[1]: 1 + the largest sequence of the batch
)

var requestInputs = []string{"item_ids", "category_ids", "user_id", "action_weights", "max_seq_len"}

// bindRequest finds the inputs of a model by their names, and its output.
func bindRequest(p workload.Ports) (inputs []requestInput, output string, err error) {
	for _, port := range p.Inputs {
		in := slices.Index(requestInputs, port.Name)
		if in < 0 {
			return nil, "", fmt.Errorf(
				"input %s of the model is unknown: a model of DLRMv3 has item_ids, category_ids, user_id, action_weights and max_seq_len "+
					"(docs/newest.md)", port.Name)
		}
		// free axes have to take any extent
		extent := map[requestInput]int64{itemIDs: 7, categoryIDs: 7, userID: 1, actionWeights: 5, longest: 1}[requestInput(in)]
		if !port.Fits(tensor.Int64, []int64{extent}) {
			return nil, "", fmt.Errorf("input %s of the model is %v%v, which must be int64 of one axis, free where requests differ", port.Name,
				port.Type, port.Shape)
		}
		inputs = append(inputs, requestInput(in))
	}
	for _, needed := range []requestInput{itemIDs, actionWeights} {
		if !slices.Contains(inputs, needed) {
			return nil, "", fmt.Errorf("the model has no input %s", requestInputs[needed])
		}
	}
	output, err = bindPrediction(p.Outputs)
	return inputs, output, err
}

// A requestPredictor answers requests one by one: they differ in length. Like the reference it divides attention by the longest of those
// that come together at one time stamp.
type requestPredictor struct {
	w       *requestWorkload
	session backend.Session
	store   *workload.Store

	items, categories, actions []int64
	predictions                []float32
	scratch                    []byte
}

// Use implements workload.Predictor.
func (p *requestPredictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Predict implements workload.Predictor.
func (p *requestPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if len(items) > 0 && p.store == nil {
		return errors.New("no samples are loaded")
	}
	most := map[int]int64{} // tokens by time stamp
	for _, item := range items {
		t := p.time(item)
		most[t] = max(most[t], int64(1+p.store.Row(item.Row)[rowItems].Len()))
	}
	for k, item := range items {
		row := p.store.Row(item.Row)
		if err := p.run(ctx, row, most[p.time(item)]); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		p.scratch = p.w.recommendation(item.Index, p.predictions, tensor.Data[uint8](row[rowLabels])).Append(p.scratch[:0])
		reply.Done(k, p.scratch, 0)
	}
	return nil
}

// time is the time stamp of a sample; those of other machines come at any.
func (p *requestPredictor) time(item workload.Item) int {
	if item.Index < len(p.w.data.List) {
		return p.w.data.List[item.Index].Time
	}
	return -1
}

// run makes the predictions for a row.
func (p *requestPredictor) run(ctx context.Context, row []tensor.Tensor, most int64) (err error) {
	candidates := row[rowLabels].Len()
	p.predictions = tensor.Grown(p.predictions, candidates)
	var tensors []tensor.Tensor
	list := func(v []int64) { tensors = append(tensors, tensor.Of(v, int64(len(v)))) }
	for _, in := range p.w.inputs {
		switch in {
		case itemIDs:
			p.items = widened(p.items, tensor.Data[int32](row[rowItems]))
			list(p.items)
		case categoryIDs:
			p.categories = widened(p.categories, tensor.Data[uint8](row[rowCategories]))
			list(p.categories)
		case userID:
			list(tensor.Data[int64](row[rowUser]))
		case actionWeights:
			p.actions = widened(p.actions, tensor.Data[uint8](row[rowActions]))
			list(p.actions)
		default:
			list([]int64{most})
		}
	}
	shape := []int64{int64(candidates), 1}
	if len(p.session.Info().Outputs[0].Shape) == 1 {
		shape = shape[:1]
	}
	values, err := backend.BindAll(p.session, append(tensors, tensor.Of(p.predictions, shape...)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.CloseAll(values)) }()
	if err := p.session.Run(ctx, values[:len(tensors)], values[len(tensors):]); err != nil {
		return err
	}
	for i, v := range p.predictions {
		if v != v {
			return fmt.Errorf("the model's prediction for candidate %d is not a number", i)
		}
	}
	return nil
}

// widened copies numbers to dst, which grows as needed.
func widened[T int32 | uint8](dst []int64, list []T) []int64 {
	dst = tensor.Grown(dst, len(list))
	for i, v := range list {
		dst[i] = int64(v)
	}
	return dst
}

// Close implements workload.Predictor.
func (p *requestPredictor) Close() error { return nil }
