package vision

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The reference's pre-processing: of models with a fixed input, and of those that take any multiple of 32 pixels.
const (
	yoloSquare = "yolo_640"
	yoloRect   = "yolo_640_rect"
	yoloPrefix = "yolo_" // of those for other sizes
)

// yolo is YOLO11l on the part of COCO whose licences allow it (rules since v6.0).
func yolo() workload.Model {
	d := detector{readTruth: dataset.ReadSafeCOCO, readFile: dataset.ReadSafeAnnotations}
	return workload.Model{
		Name:    "yolo-95",
		Title:   "YOLO11l, 95 % of the accuracy",
		Task:    "object detection, COCO's 1525 images of free licences, 640×640",
		Dataset: "coco",
		BuiltIn: BuiltIn{Network: arch.YOLO11l(), Samples: 24, Least: 0.25},
		Source:  "https://docs.ultralytics.com/models/yolo11 (an ONNX export of yolo11l.pt, AGPL-3.0)",

		Rules: config.Model{
			Name:    "yolo",
			Aliases: []string{"yolo-95", "yolo11l", "yolo-v11", "yolov11"},
		},
		PerformanceSampleCount: 64,
		DatasetSamples:         1525,
		Quality:                workload.Quality{Metric: "mAP", Fraction: 0.95},
		Open: opening(func(s setup) (*workload.Workload, error) {
			data, err := dataset.OpenSafeCOCO(s.datasetDir, s.data())
			if err != nil {
				return nil, err
			}
			return openYOLO(s, data)
		}),
		Score: d.score,

		Options:       imageOptions(),
		ScoreOptions:  boxScoreOptions(),
		ReaderOptions: readerOptions(),
		NewReader:     imageReader([]string{yoloSquare}),
	}
}

// yoloHighAccuracy is the same benchmark with a stricter target.
func yoloHighAccuracy() workload.Model {
	m := yolo()
	m.Name, m.Title = "yolo-99", "YOLO11l, 99 % of the accuracy"
	m.Rules.Aliases[0] = "yolo-99"
	m.Quality.Fraction = 0.99
	return m
}

// A yoloHead is a model of Ultralytics' YOLO from version 8 on with its data: an output with the boxes of all places, centre and size
// in pixels of the input, and scores of the classes.
type yoloHead struct {
	data     *dataset.Detection
	pipeline preprocess.Pipeline
	output   backend.Port
}

// IsYOLO reports whether a port is the output of such a model for COCO's classes: [batch, 84, places].
func IsYOLO(p backend.Port) bool {
	return p.Other == "" && singlepass.IsFloat(p.Type) && len(p.Shape) == 3 && p.Shape[1] == yoloRows
}

const yoloRows, yoloClasses = 4 + yoloClasses, 80

// OpenYOLO is the Open of a model file of a user on all images of COCO. A fixed input may have any size.
func OpenYOLO(s workload.Setup) (*workload.Workload, error) {
	return opening(func(s setup) (*workload.Workload, error) {
		data, err := dataset.OpenCOCO(s.datasetDir, s.data())
		if err != nil {
			return nil, err
		}
		if side := yoloSide(s); side > 0 && s.binding.pipeline == "" {
			s.binding.pipeline = fmt.Sprintf("%s%d", yoloPrefix, side)
		}
		return openYOLO(s, data)
	})(s)
}

// yoloSide is the side of a fixed square input; 0: the input is none.
func yoloSide(s setup) int64 {
	if len(s.inputs) != 1 || len(s.inputs[0].Shape) != 4 {
		return 0
	}
	shape := s.inputs[0].Shape
	if a, b := shape[2], shape[1]; a == shape[3] || a == b {
		return a
	}
	return 0
}

// ScoreCOCO scores a log of boxes on all images of COCO.
func ScoreCOCO(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	return detector{readTruth: dataset.ReadCOCO}.score(ctx, log, workload.Scoring{DatasetDir: s.DatasetDir, Samples: s.Samples})
}

// openYOLO joins a data set and a model.
func openYOLO(s setup, data *dataset.Detection) (*workload.Workload, error) {
	y := &yoloHead{data: data}
	i := slices.IndexFunc(s.outputs, func(p backend.Port) bool { return IsYOLO(p) && s.binding.allows(p) })
	if i < 0 {
		return nil, userinput.Errorf(outputOption, "the model has no output of boxes and scores, float32[N %d places], of an export without NMS; it has %s",
			yoloRows, workload.DescribePorts(s.outputs))
	}
	y.output = s.outputs[i]
	pipeline := yoloSquare
	if len(s.inputs) == 1 && len(s.inputs[0].Shape) == 4 && slices.Min(s.inputs[0].Shape[1:]) < 0 {
		pipeline = yoloRect
	}
	samples, err := newImageSamples("detection", data, s, pipeline)
	if err != nil {
		return nil, err
	}
	y.pipeline, samples.size = samples.pipeline, y.size
	w := samples.workload([]string{y.output.Name}, nil,
		fmt.Sprintf("boxes: %s (cxcywh, pixels of the input, NMS at %v per class, the best %d); label = COCO's id of its class", y.output.Name,
			yoloIoU, yoloMost))
	if y.pipeline.Stride > 0 {
		w.Row = func(i int) []workload.Slot {
			return []workload.Slot{{Type: samples.input.dtype, Shape: y.pipeline.ShapeOf(y.size(i))}}
		}
		w.Batch = 1 // images differ in shape
		w.Exchange.Decode = nil
		w.Exchange.Inputs = []workload.Input{{Name: s.inputs[0].Name, Slot: workload.Slot{Type: samples.input.dtype, Shape: y.anyShape()}}}
		w.Exchange.Complete = func(sent []tensor.Shape) ([]workload.Slot, error) {
			return []workload.Slot{{Type: samples.input.dtype, Shape: sent[0]}}, nil
		}
	}
	w.Exchange.NeedsDataset = "how large each image is"
	w.NewPredictor = func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
		b := &yoloBoxes{yoloHead: y}
		return singlepass.New(sessions[workload.Only], samples.row, maxBatch, b.respond)
	}
	return w, nil
}

// size is that of an image of the data set.
func (y *yoloHead) size(i int) preprocess.Size {
	image := y.data.Image(i)
	return preprocess.Size{Width: image.Width, Height: image.Height}
}

func (y *yoloHead) anyShape() tensor.Shape {
	if y.pipeline.Layout == preprocess.NHWC {
		return tensor.Shape{-1, -1, 3}
	}
	return tensor.Shape{3, -1, -1}
}

// The reference's post-processing: predict of Ultralytics with conf=0.001 (yolo/yolo_loadgen.py) and its defaults.
const (
	yoloThreshold = float32(0.001)
	yoloIoU       = float32(0.7)
	yoloMost      = 300
	// yoloApart moves the boxes of different classes so far apart that none touch. Sums are rounded to float32, as the reference does.
	yoloApart      = 7680
	yoloCandidates = 30000
)

// yoloBoxes turns outputs into responses on behalf of one predictor.
type yoloBoxes struct {
	*yoloHead
	scores  []float32 // of the best class of each place
	classes []uint8
	found   []yoloBox
	kept    [yoloClasses][]preprocess.Box // by class, moved
}

// A yoloBox is a box in the pixels of the input.
type yoloBox struct {
	preprocess.Box
	score float32
	class uint8
}

// respond appends the boxes of the k-th image: seven float32 each, as yolo_loadgen.py packs them.
func (b *yoloBoxes) respond(dst []byte, outputs []tensor.Tensor, k int, item workload.Item) ([]byte, error) {
	t := outputs[0]
	if len(t.Shape) != 3 || t.Shape[1] != yoloRows || k >= int(t.Shape[0]) {
		return dst, fmt.Errorf("the model's output %s is %v: must be %d numbers for each place of %d images", b.output.Name, t, yoloRows, k+1)
	}
	n := int(t.Shape[2])
	boxes, err := b.suppress(tensor.Data[float32](t)[k*yoloRows*n:][:yoloRows*n], n)
	if err != nil {
		return dst, err
	}
	size := b.size(item.Index)
	width, height := float32(size.Width), float32(size.Height)
	for _, f := range boxes {
		box := preprocess.Unframed(f.Box, b.pipeline.Output(size), size)
		label, _ := accuracy.COCO80To91(int(f.class) + 1)
		for _, v := range [...]float32{float32(item.Index), box.Y0 / height, box.X0 / width, box.Y1 / height, box.X1 / width, f.score, float32(label)} {
			dst = appendFloat(dst, v)
		}
	}
	return dst, nil
}

// suppress returns the best boxes of an output of n places, those with the highest scores first, without those that overlap a better
// one of their class.
func (b *yoloBoxes) suppress(values []float32, n int) ([]yoloBox, error) {
	b.scores, b.classes = tensor.Grown(b.scores, n), tensor.Grown(b.classes, n)
	clear(b.scores)
	for class := range yoloClasses {
		for i, v := range values[(4+class)*n:][:n] {
			if v > b.scores[i] {
				b.scores[i], b.classes[i] = v, uint8(class)
			} else if v != v {
				return nil, fmt.Errorf("the model's score of class %d at place %d is not a number", class, i)
			}
		}
	}
	b.found = b.found[:0]
	for i, score := range b.scores {
		if score <= yoloThreshold {
			continue
		}
		x, y, w, h := values[i], values[n+i], values[2*n+i]/2, values[3*n+i]/2
		box := preprocess.Box{X0: x - w, Y0: y - h, X1: x + w, Y1: y + h}
		if sum := box.X0 + box.Y0 + box.X1 + box.Y1; sum-sum != 0 {
			return nil, fmt.Errorf("the model's box at place %d is %v: must be numbers", i, box)
		}
		b.found = append(b.found, yoloBox{box, score, b.classes[i]})
	}
	slices.SortStableFunc(b.found, func(a, b yoloBox) int { return cmp.Compare(b.score, a.score) })
	for class := range b.kept {
		b.kept[class] = b.kept[class][:0]
	}
	kept := b.found[:0]
	for _, f := range b.found[:min(len(b.found), yoloCandidates)] {
		by := float32(f.class) * yoloApart
		moved := preprocess.Box{X0: f.X0 + by, Y0: f.Y0 + by, X1: f.X1 + by, Y1: f.Y1 + by}
		if slices.ContainsFunc(b.kept[f.class], func(better preprocess.Box) bool { return overlap(better, moved) > yoloIoU }) {
			continue
		}
		b.kept[f.class] = append(b.kept[f.class], moved)
		if kept = append(kept, f); len(kept) == yoloMost {
			break
		}
	}
	return kept, nil
}

// overlap is the intersection over union of two boxes, each step rounded to float32 as torchvision's nms does.
func overlap(a, b preprocess.Box) float32 {
	area := func(b preprocess.Box) float32 { return float32((b.X1 - b.X0) * (b.Y1 - b.Y0)) }
	w := max(0, min(a.X1, b.X1)-max(a.X0, b.X0))
	h := max(0, min(a.Y1, b.Y1)-max(a.Y0, b.Y0))
	both := float32(w * h)
	return both / (area(a) + area(b) - both)
}
