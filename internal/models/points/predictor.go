package points

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/waymo"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A predictor answers samples one by one.
type predictor struct {
	segmentation, detection backend.Session
	store                   *workload.Store

	picture  []float32
	canvas   canvas
	pillars  *pillarSet
	response []byte
}

func newPredictor(sessions workload.Sessions) *predictor {
	return &predictor{segmentation: sessions[segmentation], detection: sessions[detection], pillars: newPillarSet()}
}

// Use implements workload.Predictor.
func (p *predictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Close implements workload.Predictor.
func (p *predictor) Close() error { return nil }

// Predict implements workload.Predictor.
func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if p.store == nil && len(items) > 0 {
		return errors.New("no samples are loaded")
	}
	for k, item := range items {
		if err := p.answer(ctx, p.store.Row(item.Row)); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		reply.Done(k, p.response, 0)
	}
	return nil
}

func (p *predictor) answer(ctx context.Context, row []tensor.Tensor) error {
	var calibration waymo.Calibration
	matrices := tensor.Data[float32](row[calibrationSlot])
	matrix := func(i int) waymo.Matrix { return waymo.Matrix(matrices[16*i:]) }
	calibration.Rectify = matrix(waymo.Cameras)
	for i := range waymo.Cameras {
		calibration.Project[i], calibration.ToCamera[i] = matrix(i), matrix(waymo.Cameras+1+i)
	}
	frame := tensor.Data[int64](row[frameSlot])
	p.canvas.begin(tensor.Data[float32](row[pointsSlot])[:frame[1]*waymo.Features])
	for camera, picture := range row[:waymo.Cameras] {
		if err := p.paint(ctx, camera, picture, &calibration); err != nil {
			return err
		}
	}
	p.pillars.fill(p.canvas.finish())
	var boxes []box
	if len(p.pillars.counts) > 0 {
		candidates, done, err := run(ctx, p.detection, p.pillars.tensors()...)
		if err != nil {
			return err
		}
		if shape := candidates.Shape; len(shape) != 2 || shape[1] != candidateRow {
			err = fmt.Errorf("the %s gave %v, must be float32[boxes %d]", detection, candidates, candidateRow)
		} else if boxes, err = suppress(tensor.Data[float32](candidates)); err != nil {
			err = fmt.Errorf("the %s: %w", detection, err)
		}
		if err := errors.Join(err, done()); err != nil {
			return err
		}
	}
	last := row[waymo.Cameras-1].Shape
	p.response = respond(p.response[:0], boxes, &calibration, frame[0], waymo.Size{Height: int(last[0]), Width: int(last[1])})
	return nil
}

// paint runs the segmentation of a picture, and paints the points that its camera sees.
func (p *predictor) paint(ctx context.Context, camera int, picture tensor.Tensor, calibration *waymo.Calibration) error {
	size := waymo.Size{Height: int(picture.Shape[0]), Width: int(picture.Shape[1])}
	p.picture = tensor.Grown(p.picture, picture.Len())
	normalise(p.picture, picture.Bytes())
	scores, done, err := run(ctx, p.segmentation, tensor.Of(p.picture, pictureShape(size)...))
	if err != nil {
		return err
	}
	want := pictureShape(size)
	if want[1] = classes; !slices.Equal(scores.Shape, want) {
		err = fmt.Errorf("the %s gave %v of picture %d, must be float32%v", segmentation, scores, camera, want)
	} else {
		err = p.canvas.paint(camera, calibration, tensor.Data[float32](scores), size)
	}
	return errors.Join(err, done())
}

// run runs a file of one output, whose memory is there until done.
func run(ctx context.Context, session backend.Session, tensors ...tensor.Tensor) (output tensor.Tensor, done func() error, err error) {
	inputs, err := backend.BindAll(session, tensors)
	if err != nil {
		return output, nil, err
	}
	outputs := make([]backend.Value, 1)
	done = func() error { return backend.CloseAll(inputs, outputs) }
	if err := session.Run(ctx, inputs, outputs); err != nil {
		return output, nil, errors.Join(err, done())
	}
	return outputs[0].Tensor(), done, nil
}
