package builtin

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// frameSet is the data set of streets. Its objects are what the model finds in FP32 on the CPU, disturbed: it is then about half right, and
// the less precisely it computes the less.
func (m Maker) frameSet(model workload.Model, r workload.Recipe) (set, error) {
	spec := synth.WaymoSpec{Seed: synth.Seed, Frames: m.judged(r.Samples), Full: m.FullSize}
	truth, err := m.truthOfParts(r)
	if err != nil {
		return set{}, err
	}
	if truth != "" {
		spec.Truth = fmt.Sprintf("%s-boxes%d", truth, boxesVersion)
	}
	return set{spec.Key(), spec.Frames, func(ctx context.Context, dir string) error {
		judge := judgeBy(truth, func(folder string) (map[string]float64, error) { return m.markFrames(ctx, model, spec, folder) })
		return synth.WriteWaymo(ctx, dir, spec, judge, m.Observer.Items)
	}}, nil
}

// boxesVersion must be raised when the same boxes come to make other objects.
const boxesVersion = 1

// markFrames writes the objects, and scores the model's answers by them.
func (m Maker) markFrames(ctx context.Context, model workload.Model, spec synth.WaymoSpec, folder string) (map[string]float64, error) {
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	objects := make([][]accuracy.WaymoObject, len(responses))
	for i, response := range responses {
		objects[i] = disturbedBoxes(newChance("disturbed frames", spec.Seed, uint64(i)), response)
	}
	if err := spec.WriteObjects(folder, objects); err != nil {
		return nil, err
	}
	return m.scores(ctx, model, folder, responses)
}

// disturbedBoxes makes objects of the boxes of a response, much as disturbedObjects does it of those in images.
func disturbedBoxes(c *chance, response []byte) (objects []accuracy.WaymoObject) {
	const (
		sureFrom  = 0.15 // boxes with a lower score are no objects
		hard      = 0.05 // objects need not be found
		aside     = 3.0  // metres, of invented objects
		smallMove = 0.02 // of the size of the box
		largeMove = 0.08
	)
	classes := accuracy.WaymoClasses()
	for ; len(response) >= 4*accuracy.WaymoRow; response = response[4*accuracy.WaymoRow:] {
		var row [accuracy.WaymoRow]float32
		for k := range row {
			row[k] = math.Float32frombits(binary.LittleEndian.Uint32(response[4*k:]))
		}
		if row[0] <= 0 || row[12] < sureFrom || c.happens(missing) {
			continue
		}
		o := accuracy.WaymoObject{Name: classes[int(row[11])], WaymoBox: accuracy.WaymoBox{Dimensions: [3]float32(row[:3]),
			Location: [3]float32(row[3:6]), Rotation: row[6]}}
		if c.happens(misnamed) {
			o.Name = classes[c.below(len(classes))]
		}
		by := 0.0
		switch u := c.uniform(); {
		case u < nearby:
			by = smallMove
		case u < nearby+distant:
			by = largeMove
		}
		for axis := range 3 {
			o.Location[axis] += float32(float64(c.bell()*by) * float64(o.Dimensions[axis]))
			o.Dimensions[axis] *= 1 + float32(c.bell()*by)
		}
		if c.happens(hard) {
			o.Difficulty = 1
		}
		objects = append(objects, o)
		if c.happens(invented) {
			o.Location[0] += float32(aside * c.bell())
			o.Location[2] += float32(aside * c.bell())
			objects = append(objects, o)
		}
	}
	return objects
}
